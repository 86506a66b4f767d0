import CKVCloneLMDB
import Glibc

/// The few file operations that the package needs, so that no other module imports the C library.
package enum FileSystem {
  /// What a path names. Symbolic links are not followed.
  package enum Kind: Sendable, Equatable {
    case regularFile, directory, symlink, other
  }

  /// One file's identity on this machine.
  package struct Identity: Sendable, Hashable {
    package let device: UInt64
    package let inode: UInt64
  }

  /// What `lstat` says.
  struct Facts: Sendable, Equatable {
    let kind: Kind
    let identity: Identity
    let owner: UInt32
    /// The nine permission bits, and set-id and sticky.
    let mode: UInt32
    let links: Int
    let byteCount: Int
  }

  /// Whether something is at `path`, a dangling link included.
  ///
  /// - Throws: `io` where the system does not answer: no error is taken for an absence.
  package static func exists(_ path: String) throws(LMDBError) -> Bool {
    try facts(path) != nil
  }

  /// What is at `path`, or nil if nothing is there.
  ///
  /// - Throws: `io` where the system does not answer.
  package static func kind(_ path: String) throws(LMDBError) -> Kind? {
    try facts(path)?.kind
  }

  /// Whether nothing is at `path` for certain; false where the system does not answer. For decisions to remove or to retry,
  /// which an unknown state must not lead to.
  static func isAbsent(_ path: String) -> Bool {
    do throws(LMDBError) { return try facts(path) == nil } catch { return false }
  }

  /// The path of an open file as the kernel knows it; nil where /proc does not tell.
  static func path(ofDescriptor descriptor: Int32) -> String? {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink("/proc/self/fd/\(descriptor)", &bytes, bytes.count)
    guard count > 0, count < bytes.count else { return nil }
    return String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Appends the next bytes of an open file, at most `limit`; false at the end. Waits for some bytes of a pipe, but for no more
  /// than there are.
  ///
  /// - Throws: `io`.
  package static func read(
    _ descriptor: Int32, into buffer: inout [UInt8], upTo limit: Int
  ) throws(LMDBError) -> Bool {
    let start = buffer.count
    buffer.append(contentsOf: repeatElement(0, count: limit))
    var got = 0
    var code: Int32 = 0
    repeat {
      got = unsafe buffer.withUnsafeMutableBytes { bytes -> Int in
        guard let place = bytes.baseAddress else { return 0 }
        return unsafe Glibc.read(descriptor, place + start, limit)
      }
      code = errno
    } while got < 0 && code == EINTR
    buffer.removeLast(limit - max(0, got))
    if got < 0 { throw LMDBError(code: code, operation: "read") }
    return got > 0
  }

  /// What an open descriptor leads to.
  package static func kind(descriptor: Int32) throws(LMDBError) -> Kind {
    try facts(descriptor: descriptor).kind
  }

  /// What `lstat` says of `path`, or nil if nothing is there.
  static func facts(_ path: String) throws(LMDBError) -> Facts? {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else {
      let code = errno
      if code == ENOENT || code == ENOTDIR { return nil }
      throw .io(errno: code, operation: "lstat of \(path)")
    }
    return Facts(status)
  }

  /// The same for a name in a directory that is open.
  static func facts(_ name: String, in directory: Int32) throws(LMDBError) -> Facts? {
    var status = stat()
    guard unsafe fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      let code = errno
      if code == ENOENT { return nil }
      throw .io(errno: code, operation: "fstatat")
    }
    return Facts(status)
  }

  /// What `fstat` says of an open file.
  static func facts(descriptor: Int32) throws(LMDBError) -> Facts {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw .io(errno: errno, operation: "fstat") }
    return Facts(status)
  }

  /// Makes one directory that only its owner may enter (0700). Its parent must exist.
  package static func createDirectory(_ path: String) throws(LMDBError) {
    guard unsafe mkdir(path, 0o700) == 0 else { throw LMDBError(code: errno, operation: "mkdir") }
  }

  /// Makes the names in a directory durable.
  package static func fsyncDirectory(_ path: String) throws(LMDBError) {
    try sync(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  }

  /// Makes a file's bytes durable. Never for a file of an open environment: closing it would drop LMDB's locks.
  package static func fsyncFile(_ path: String) throws(LMDBError) {
    try sync(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
  }

  /// What is left on a file system, in bytes.
  struct FreeSpace: Sendable, Equatable {
    /// All bytes of the file system.
    let size: Int
    /// What nobody can write more than, and only root may write all of.
    let largest: Int
    /// What this user may write, as far as the user's name tells.
    let usable: Int
  }

  /// What is left where an open file is; nil where that is unknown. A file system without a size says zero of zero blocks
  /// (tmpfs with `size=0`, ramfs), and one that compresses may take more than it says.
  static func freeSpace(descriptor: Int32) -> FreeSpace? {
    var facts = statfs()
    guard unsafe fstatfs(descriptor, &facts) == 0, facts.f_blocks > 0 else { return nil }
    if compressing.contains(UInt32(truncatingIfNeeded: facts.f_type)) { return nil }
    let unit = Int(facts.f_frsize > 0 ? facts.f_frsize : facts.f_bsize)
    func bytes(_ blocks: UInt) -> Int {
      let (bytes, overflow) = Int(clamping: blocks).multipliedReportingOverflow(by: unit)
      return overflow ? .max : max(0, bytes)
    }
    let largest = bytes(facts.f_bfree)
    return FreeSpace(
      size: bytes(facts.f_blocks), largest: largest, usable: geteuid() == 0 ? largest : bytes(facts.f_bavail))
  }

  /// Whether a directory is on btrfs; false where nobody says.
  static func isBtrfs(_ path: String) -> Bool {
    var code: Int32 = 0
    return unsafe kvclone_file_system_type(path, &code) == 0x9123_683E && code == 0
  }

  /// btrfs, bcachefs, ZFS, F2FS.
  private static let compressing: Set<UInt32> = [0x9123_683E, 0xCA45_1A4E, 0x2FC1_2FC1, 0xF2F5_2010]

  /// Renames a file or directory; `storeExists` if `to` is there.
  package static func renameWithoutReplacing(_ from: String, to: String) throws(LMDBError) {
    var code = unsafe kvclone_rename_without_replacing(from, to)
    if code == EINVAL || code == ENOSYS {
      // A file system without RENAME_NOREPLACE. Directories are still safe: rename(2) replaces no directory that has
      // something in it.
      if try exists(to) { throw .storeExists(path: to) }
      code = unsafe rename(from, to) == 0 ? 0 : errno
    }
    if code == EEXIST || code == ENOTEMPTY { throw .storeExists(path: to) }
    if code != 0 { throw LMDBError(code: code, operation: "renameat2") }
  }

  /// Removes a file; nothing happens if there is none.
  package static func removeFile(_ path: String) {
    _ = unsafe unlink(path)
  }

  /// Removes an empty directory.
  package static func removeEmptyDirectory(_ path: String) {
    _ = unsafe rmdir(path)
  }

  /// A new directory (0700) whose name begins with `prefix` and ends in six random characters.
  static func makeTemporaryDirectory(prefix: String) throws(LMDBError) -> String {
    var template = Array((prefix + "XXXXXX").utf8CString)
    guard unsafe mkdtemp(&template) != nil else { throw LMDBError(code: errno, operation: "mkdtemp") }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The names in a directory, without "." and ".."; none if it cannot be read.
  static func names(inDirectory path: String) -> [String] {
    guard let directory = unsafe opendir(path) else { return [] }
    return unsafe names(directory)
  }

  /// The same, with an error where the directory cannot be read.
  static func knownNames(inDirectory path: String) throws(LMDBError) -> [String] {
    guard let directory = unsafe opendir(path) else { throw .io(errno: errno, operation: "opendir") }
    return unsafe names(directory)
  }

  /// The names in an open directory.
  static func names(inDirectory descriptor: Int32) -> [String] {
    // What reads the directory has a descriptor, and a place in it, of its own.
    let own = unsafe kvclone_open_at(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    guard own >= 0 else { return [] }
    guard let directory = unsafe fdopendir(own) else {
      close(own)
      return []
    }
    return unsafe names(directory)
  }

  private static func names(_ directory: OpaquePointer) -> [String] {
    defer { unsafe closedir(directory) }
    var names: [String] = []
    // An entry is only as long as its name: a copy of all that `d_name` could hold would read beyond it.
    let offset = MemoryLayout<dirent>.offset(of: \.d_name)!
    while let entry = unsafe readdir(directory) {
      let name = unsafe String(cString: (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self))
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// The text of a file of /proc, which has no size and is short: at most 1 MiB is read. Nil if it cannot be read.
  static func smallTextFile(_ path: String) -> String? {
    let file = unsafe kvclone_open(path, O_RDONLY | O_CLOEXEC, 0)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16 << 10)
    while bytes.count < 1 << 20 {
      let count = unsafe Glibc.read(file, &chunk, chunk.count)
      if count <= 0 { break }
      bytes.append(contentsOf: chunk[..<count])
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func sync(_ path: String, _ flags: Int32) throws(LMDBError) {
    let file = unsafe kvclone_open(path, flags, 0)
    guard file >= 0 else { throw LMDBError(code: -file, operation: "open") }
    defer { close(file) }
    guard fsync(file) == 0 else { throw LMDBError(code: errno, operation: "fsync") }
  }
}

extension FileSystem.Facts {
  init(_ status: stat) {
    switch status.st_mode & S_IFMT {
    case S_IFREG: kind = .regularFile
    case S_IFDIR: kind = .directory
    case S_IFLNK: kind = .symlink
    default: kind = .other
    }
    identity = FileSystem.Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    owner = status.st_uid
    mode = status.st_mode & 0o7777
    links = Int(status.st_nlink)
    byteCount = Int(status.st_size)
  }
}
