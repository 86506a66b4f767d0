import Foundation
import Testing

@testable import KVCloneLMDB

/// No error of the system is treated as a missing file.
@Suite struct FileSystemTests {
  private let store: TemporaryStore

  init() throws {
    store = try TemporaryStore()
  }

  /// Paths that the system cannot look up, with the error for each.
  private func unknownPaths() throws -> [(path: String, errno: Int32)] {
    try FileManager.default.createSymbolicLink(atPath: store.root + "/circle", withDestinationPath: "circle")
    return [
      (store.root + "/circle/x", ELOOP), (store.root + "/" + String(repeating: "n", count: 256), ENAMETOOLONG),
    ]
  }

  /// The size alone is read by another call than the rest.
  @Test func theSizeOfAnOpenFileIsThatOfItsFacts() throws {
    let file = open(store.root + "/file", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(file) }
    for length in [0, 1, 4096, 1 << 33] {
      try #require(ftruncate(file, length) == 0)
      #expect(try FileSystem.byteCount(descriptor: file) == length)
      #expect(try FileSystem.facts(descriptor: file).byteCount == length)
    }
    #expect(throws: LMDBError.io(errno: EBADF, operation: "statx")) { try FileSystem.byteCount(descriptor: -1) }
  }

  @Test func anErrorIsNoAbsence() throws {
    try Data().write(to: URL(fileURLWithPath: store.root + "/file"))
    for absent in ["/none", "/none/x", "/file/x"] {
      #expect(try !FileSystem.exists(store.root + absent) && FileSystem.kind(store.root + absent) == nil)
      #expect(FileSystem.isAbsent(store.root + absent))
      #expect(try !NamedFile.belongsToStore(store.root + absent))
    }
    for (path, code) in try unknownPaths() {
      let error = LMDBError.io(errno: code, operation: "lstat of \(path)")
      #expect(throws: error) { try FileSystem.exists(path) }
      #expect(throws: error) { try FileSystem.kind(path) }
      #expect(!FileSystem.isAbsent(path))
      #expect(throws: NamedFile.Refusal.system(errno: code)) { try NamedFile.belongsToStore(path) }
      #expect(throws: NamedFile.Refusal.system(errno: code)) { try NamedFile.openToRead(path) }
    }
    // A link without a target exists; its target does not.
    #expect(try FileSystem.kind(store.root + "/circle") == .symlink)
  }

  @Test func adviceFitsTheError() throws {
    for (code, word) in [
      (EACCES, "owner and the mode"), (ELOOP, "path"), (ENAMETOOLONG, "path"), (EIO, "kernel's log"),
    ] {
      let message = LMDBError.io(errno: code, operation: "lstat of /x").message
      #expect(message.hasPrefix("lstat of /x failed with error \(code) ") && message.contains(word), "\(message)")
    }
  }

  /// A file is removed and created again only if its owner is known.
  @Test func aFileThatCannotBeLookedUpIsNotReplaced() throws {
    _ = try unknownPaths()
    let circle = store.root + "/circle"
    #expect(throws: NamedFile.Refusal.system(errno: ELOOP)) { try NamedFile.create(circle) }
    #expect(try FileSystem.kind(circle) == .symlink)
  }

  @Test func storesAndFoldersBeginOnlyWherePlacesAreKnown() throws {
    for (path, code) in try unknownPaths() {
      let error = LMDBError.io(errno: code, operation: "lstat of \(path)")
      #expect(throws: error) { _ = try LMDBEnvironment.create(at: path, tables: ["a"]) }
      #expect(throws: error) { _ = try StoreCopy(to: path) }
      #expect(throws: error) { _ = try UnfinishedFolder(for: path) }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: store.root) == ["circle"])
  }

  @Test(.enabled(if: Peer.isRoot, "root only: root itself is held by no mode, so another user is tried"))
  func aDirectoryThatMayNotBeSearchedIsAnError() throws {
    try FileSystem.createDirectory(store.root + "/closed")
    try store.setMode(0o711, store.root)
    let peer = try Peer(store.root + "/closed/store", ["user=65534", "create"])
    #expect(peer.finish() == ["ok", "error io \(EACCES)"])
  }

  /// A creation is in progress as long as its lock is held. Here the path of the lock is too long for the system, and
  /// that of `data.mdb` is not: whether a lock exists is unknown, so the directory is not swept.
  @Test func aCreationWhoseLockCannotBeLookedUpIsNotSwept() throws {
    var parent = store.root
    var folder = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    try #require(folder >= 0)
    defer { close(folder) }
    let name = ".store.creating-abcdef"
    // 4,095 bytes are the longest path: "/data.mdb" has 9, "/writer.lock" 12.
    let wanted = Int(PATH_MAX) - 1 - "/\(name)".utf8.count - 10
    while parent.utf8.count < wanted {
      let left = wanted - parent.utf8.count - 1
      // The rest is never a single slash.
      let component = String(repeating: "d", count: left > 255 ? min(200, left - 2) : left)
      try #require(mkdirat(folder, component, 0o700) == 0)
      let inner = openat(folder, component, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      try #require(inner >= 0)
      close(folder)
      folder = inner
      parent += "/" + component
    }
    // Foundation does not remove paths of that length.
    defer { #expect(Peer.succeeds("/bin/rm", ["-rf", store.root])) }
    try #require(mkdirat(folder, name, 0o700) == 0)
    for file in ["/data.mdb", "/writer.lock"] {
      let made = openat(folder, name + file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      try #require(made >= 0)
      close(made)
    }
    let paths = StorePaths("\(parent)/\(name)")
    #expect(try FileSystem.exists(paths.data))
    #expect(throws: LMDBError.io(errno: ENAMETOOLONG, operation: "lstat of \(paths.writerLock)")) {
      try FileSystem.exists(paths.writerLock)
    }
    CreationDirectory.sweep(for: StorePaths(parent + "/store"))
    #expect(try FileSystem.exists(paths.data))
  }
}
