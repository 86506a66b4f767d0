import CKVCloneLMDB
import Glibc

/// The file operations that the package needs, so that no other module imports the C library.
package enum FileSystem {
  /// The type of a path. Symbolic links are not followed.
  package enum Kind: Sendable, Equatable {
    case regularFile, directory, symlink, other
  }

  /// The identity of a file on this machine.
  package struct Identity: Sendable, Hashable {
    package let device: UInt64
    package let inode: UInt64
  }

  /// The result of `lstat`.
  struct Facts: Sendable, Equatable {
    let kind: Kind
    let identity: Identity
    let owner: UInt32
    /// The nine permission bits, set-id and sticky.
    let mode: UInt32
    let links: Int
    let byteCount: Int
  }

  /// Whether `path` exists; a dangling link does.
  ///
  /// - Throws: `io` if the system call fails: an error never counts as absence.
  package static func exists(_ path: String) throws(LMDBError) -> Bool {
    try facts(path) != nil
  }

  /// The type of `path`, or nil if it does not exist.
  ///
  /// - Throws: `io` if the system call fails.
  package static func kind(_ path: String) throws(LMDBError) -> Kind? {
    try facts(path)?.kind
  }

  /// Whether `path` certainly does not exist; false if the system call fails. For decisions to remove or to retry,
  /// which an unknown state must not lead to.
  static func isAbsent(_ path: String) -> Bool {
    do throws(LMDBError) { return try facts(path) == nil } catch { return false }
  }

  /// The path of an open file as the kernel knows it; nil without /proc.
  static func path(ofDescriptor descriptor: Int32) -> String? {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink("/proc/self/fd/\(descriptor)", &bytes, bytes.count)
    guard count > 0, count < bytes.count else { return nil }
    return String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Appends the next bytes of an open file, at most `limit`; returns false at the end. Waits for the first bytes of a
  /// pipe, but not for more.
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

  /// The type of an open file.
  package static func kind(descriptor: Int32) throws(LMDBError) -> Kind {
    try facts(descriptor: descriptor).kind
  }

  /// The result of `lstat` for `path`, or nil if it does not exist.
  static func facts(_ path: String) throws(LMDBError) -> Facts? {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else {
      let code = errno
      if code == ENOENT || code == ENOTDIR { return nil }
      throw .io(errno: code, operation: "lstat of \(path)")
    }
    return Facts(status)
  }

  /// The result of `lstat` for a name in an open directory.
  static func facts(_ name: String, in directory: Int32) throws(LMDBError) -> Facts? {
    var status = stat()
    guard unsafe fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      let code = errno
      if code == ENOENT { return nil }
      throw .io(errno: code, operation: "fstatat")
    }
    return Facts(status)
  }

  /// The result of `fstat` for an open file.
  static func facts(descriptor: Int32) throws(LMDBError) -> Facts {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw .io(errno: errno, operation: "fstat") }
    return Facts(status)
  }

  /// The size of an open file. Unlike `facts`, it makes no later sync slower (`kvclone_file_extent`).
  static func byteCount(descriptor: Int32) throws(LMDBError) -> Int {
    var (size, blocks): (Int64, Int64) = (0, 0)
    let code = unsafe kvclone_file_extent(descriptor, &size, &blocks)
    if code != 0 { throw .io(errno: code, operation: "statx") }
    return Int(size)
  }

  /// Creates a directory that only its owner may enter (0700). Its parent must exist.
  package static func createDirectory(_ path: String) throws(LMDBError) {
    guard unsafe mkdir(path, 0o700) == 0 else { throw LMDBError(code: errno, operation: "mkdir") }
  }

  /// Syncs the names in a directory.
  package static func fsyncDirectory(_ path: String) throws(LMDBError) {
    try sync(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  }

  /// Syncs a file's bytes. Never for a file of an open environment: closing it would drop LMDB's locks.
  package static func fsyncFile(_ path: String) throws(LMDBError) {
    try sync(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
  }

  /// The free space of a file system, in bytes.
  struct FreeSpace: Sendable, Equatable {
    /// The size of the file system.
    let size: Int
    /// The free space including what is reserved for root.
    let largest: Int
    /// The free space for this user, as far as the user id tells.
    let usable: Int
  }

  /// Returns the free space for an open file; nil if it is unknown. A file system without a size reports zero of zero
  /// blocks (tmpfs with `size=0`, ramfs), and one that compresses may take more than it reports.
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

  /// Whether a directory is on btrfs; false if unknown.
  static func isBtrfs(_ path: String) -> Bool {
    var code: Int32 = 0
    return unsafe kvclone_file_system_type(path, &code) == 0x9123_683E && code == 0
  }

  /// btrfs, bcachefs, ZFS, F2FS.
  private static let compressing: Set<UInt32> = [0x9123_683E, 0xCA45_1A4E, 0x2FC1_2FC1, 0xF2F5_2010]

  /// Renames a file or directory; throws `storeExists` if `to` exists.
  package static func renameWithoutReplacing(_ from: String, to: String) throws(LMDBError) {
    var code = unsafe kvclone_rename_without_replacing(from, to)
    if code == EINVAL || code == ENOSYS {
      // The file system lacks RENAME_NOREPLACE. Directories are still safe: rename(2) does not replace a directory that
      // is not empty.
      if try exists(to) { throw .storeExists(path: to) }
      code = unsafe rename(from, to) == 0 ? 0 : errno
    }
    if code == EEXIST || code == ENOTEMPTY { throw .storeExists(path: to) }
    if code != 0 { throw LMDBError(code: code, operation: "renameat2") }
  }

  /// Removes a file, if it exists.
  package static func removeFile(_ path: String) {
    _ = unsafe unlink(path)
  }

  /// Removes an empty directory.
  package static func removeEmptyDirectory(_ path: String) {
    _ = unsafe rmdir(path)
  }

  /// Creates a directory (0700) with a name of `prefix` and six random characters.
  static func makeTemporaryDirectory(prefix: String) throws(LMDBError) -> String {
    var template = Array((prefix + "XXXXXX").utf8CString)
    guard unsafe mkdtemp(&template) != nil else { throw LMDBError(code: errno, operation: "mkdtemp") }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The names in a directory, without "." and ".."; empty if it cannot be read.
  static func names(inDirectory path: String) -> [String] {
    guard let directory = unsafe opendir(path) else { return [] }
    return unsafe names(directory)
  }

  /// The names in a directory; throws if it cannot be read.
  static func knownNames(inDirectory path: String) throws(LMDBError) -> [String] {
    guard let directory = unsafe opendir(path) else { throw .io(errno: errno, operation: "opendir") }
    return unsafe names(directory)
  }

  /// The names in an open directory.
  static func names(inDirectory descriptor: Int32) -> [String] {
    // Reading a directory needs a descriptor, and a position, of its own.
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
    // An entry is only as long as its name: copying all of `d_name` would read beyond it.
    let offset = MemoryLayout<dirent>.offset(of: \.d_name)!
    while let entry = unsafe readdir(directory) {
      let name = unsafe String(cString: (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self))
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// Reads a file of /proc, which has no size and is short: at most 1 MiB. Nil if it cannot be read.
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
