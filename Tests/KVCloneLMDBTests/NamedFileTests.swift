import Foundation
import Testing

@testable import KVCloneLMDB

/// Rule 3 of storage: opening a file by an external name never opens a file of an open store.
@Suite struct NamedFileTests {
  let store: TemporaryStore
  private static let names = ["data.mdb", "lock.mdb", "writer.lock", "stagers.lock"]

  init() throws {
    store = try TemporaryStore()
  }

  /// The number of POSIX locks on the file, of all processes; nil if the kernel does not report them. The kernel
  /// returns its list a page at a time: while other tests lock and unlock, a read may miss a lock or list one twice.
  private func posixLockCount(_ path: String) throws -> Int? {
    let inode = try #require(try FileSystem.facts(path)).identity.inode
    var greatest: Int?
    for _ in 0..<20 {
      guard let text = FileSystem.smallTextFile("/proc/locks") else { return nil }
      let locks = text.split(separator: "\n").filter { $0.contains("POSIX") && $0.contains(":\(inode) ") }
      // Without the number in the list.
      let count = Set(locks.map { $0.drop { $0 != " " } }).count
      greatest = max(greatest ?? 0, count)
    }
    return greatest
  }

  private func refusal(_ path: String) -> NamedFile.Refusal? {
    do throws(NamedFile.Refusal) {
      _ = try NamedFile.openToRead(path)
      return nil
    } catch {
      return error
    }
  }

  @Test func refusesTheFilesOfOpenStoresByWhateverName() throws {
    let environment = try store.create()
    let stagers = try StagerLockFile(directory: store.path)
    let lock = store.path + "/lock.mdb"
    let locks = try posixLockCount(lock)
    for (index, name) in Self.names.enumerated() {
      let (file, hard, soft) = ("\(store.path)/\(name)", "\(store.root)/hard\(index)", "\(store.root)/soft\(index)")
      try FileManager.default.linkItem(atPath: file, toPath: hard)
      try FileManager.default.createSymbolicLink(atPath: soft, withDestinationPath: file)
      for path in [file, hard, soft] {
        #expect(refusal(path) == .belongsToStore, "\(path)")
        #expect(throws: NamedFile.Refusal.belongsToStore) { try NamedFile.create(path) }
        #expect(try FileSystem.exists(path))
        #expect(try NamedFile.belongsToStore(path))
      }
    }
    #expect(try posixLockCount(lock) == locks)
    // Files of a closed store, and of one that was never open here, are ordinary files.
    environment.close()
    withExtendedLifetime(stagers) {}
    #expect(try !NamedFile.belongsToStore(store.data))
    #expect(try !NamedFile.belongsToStore(lock))
  }

  @Test func opensOtherFiles() throws {
    let environment = try store.create()
    defer { environment.close() }
    // Names alone prove nothing.
    let path = store.root + "/lock.mdb"
    try Data("text".utf8).write(to: URL(fileURLWithPath: path))
    let handle = FileHandle(fileDescriptor: try NamedFile.openToRead(path), closeOnDealloc: true)
    #expect(try handle.readToEnd() == Data("text".utf8))
    #expect(refusal(store.root + "/none") == .system(errno: ENOENT))
    let hard = store.root + "/hard"
    try FileManager.default.linkItem(atPath: path, toPath: hard)
    try handle.close()
    let new = FileHandle(fileDescriptor: try NamedFile.create(path), closeOnDealloc: true)
    try new.write(contentsOf: Data("new".utf8))
    #expect(try FileSystem.facts(path)?.mode == 0o600)
    #expect(try String(contentsOfFile: hard, encoding: .utf8) == "text")
    #expect(throws: NamedFile.Refusal.system(errno: ENOENT)) { try NamedFile.create(store.root + "/none/x") }
  }

  private func refusal(
    _ path: [String], afterCheck: () -> Void = {}
  ) -> NamedFile.Refusal? {
    do throws(NamedFile.Refusal) {
      close(try NamedFile.openToRead(path, below: store.root, afterCheck: afterCheck).descriptor)
      return nil
    } catch {
      return error
    }
  }

  /// A path from data leads to a regular file below its directory, or is rejected.
  @Test func followsNoLinkBelowADirectory() throws {
    let manager = FileManager.default
    let root = store.root
    try manager.createDirectory(atPath: root + "/a/b", withIntermediateDirectories: true)
    try Data("text".utf8).write(to: URL(fileURLWithPath: root + "/a/b/file"))
    try Data("secret".utf8).write(to: URL(fileURLWithPath: root + "/secret"))
    try manager.createSymbolicLink(atPath: root + "/a/link", withDestinationPath: root + "/secret")
    try manager.createSymbolicLink(atPath: root + "/a/folder", withDestinationPath: root + "/a/b")
    let file = try NamedFile.openToRead(["a", "b", "file"], below: root)
    #expect(file.byteCount == 4)
    close(file.descriptor)
    // The directory itself may be given by a link.
    #expect(throws: Never.self) { close(try NamedFile.openToRead(["file"], below: root + "/a/folder").descriptor) }
    #expect(refusal(["a", "link"]) == .notPlain)
    #expect(refusal(["a", "folder", "file"]) == .notPlain)
    #expect(refusal(["a", "b"]) == .notPlain)
    #expect(refusal(["a", "b", "file", "x"]) == .notPlain)
    #expect(refusal([]) == .notPlain)
    #expect(refusal(["a", "none"]) == .system(errno: ENOENT))
    #expect(refusal(["none", "file"]) == .system(errno: ENOENT))
    #expect(mkfifo(root + "/a/pipe", 0o600) == 0)
    #expect(refusal(["a", "pipe"]) == .notPlain)
  }

  /// A process with write access to the folder replaces checked entries: the file, or a folder on the way to it.
  @Test func staysBelowADirectoryThatIsReplacedConcurrently() throws {
    let manager = FileManager.default
    let root = store.root
    try Data("secret".utf8).write(to: URL(fileURLWithPath: root + "/secret"))
    func replace(_ path: String, _ body: () throws -> Void) {
      try? manager.removeItem(atPath: path)
      do { try body() } catch { Issue.record("\(error)") }
    }
    func prepare() throws {
      try? manager.removeItem(atPath: root + "/a")
      try manager.createDirectory(atPath: root + "/a/b", withIntermediateDirectories: true)
      try Data("text".utf8).write(to: URL(fileURLWithPath: root + "/a/b/file"))
    }
    let path = root + "/a/b/file"
    try prepare()
    let linked = refusal(["a", "b", "file"]) {
      replace(path) { try manager.createSymbolicLink(atPath: path, withDestinationPath: root + "/secret") }
    }
    #expect(linked == .notPlain)
    try prepare()
    let piped = refusal(["a", "b", "file"]) { replace(path) { _ = mkfifo(path, 0o600) } }
    #expect(piped == .notPlain)
    // The open descriptor still refers to the original folder.
    try prepare()
    try manager.createDirectory(atPath: root + "/other", withIntermediateDirectories: true)
    try Data("secret".utf8).write(to: URL(fileURLWithPath: root + "/other/file"))
    let moved = try NamedFile.openToRead(["a", "b", "file"], below: root) {
      try? manager.moveItem(atPath: root + "/a/b", toPath: root + "/a/c")
      try? manager.createSymbolicLink(atPath: root + "/a/b", withDestinationPath: root + "/other")
    }
    let handle = FileHandle(fileDescriptor: moved.descriptor, closeOnDealloc: true)
    #expect(try handle.readToEnd() == Data("text".utf8))
  }

  @Test func refusesAStoresFilesBelowADirectory() throws {
    let environment = try store.create()
    defer { environment.close() }
    let lock = store.path + "/lock.mdb"
    let locks = try posixLockCount(lock)
    let path = store.root + "/x"
    try Data("x".utf8).write(to: URL(fileURLWithPath: path))
    let exchanged = refusal(["x"]) {
      FileSystem.removeFile(path)
      try? FileManager.default.linkItem(atPath: lock, toPath: path)
    }
    #expect(exchanged == .belongsToStore)
    #expect(refusal(["x"]) == .belongsToStore)
    #expect(try posixLockCount(lock) == locks)
  }

  @Test func keepsTheLocksWhenTheFileIsExchangedAfterTheCheck() throws {
    let environment = try store.create()
    defer { environment.close() }
    let lock = store.path + "/lock.mdb"
    let path = store.root + "/x"
    try Data("x".utf8).write(to: URL(fileURLWithPath: path))
    let locks = try posixLockCount(lock)
    #expect(throws: NamedFile.Refusal.belongsToStore) {
      try NamedFile.openToRead(path) {
        FileSystem.removeFile(path)
        try? FileManager.default.linkItem(atPath: lock, toPath: path)
      }
    }
    #expect(try posixLockCount(lock) == locks)
    #expect(locks == nil || locks != 0)
  }
}
