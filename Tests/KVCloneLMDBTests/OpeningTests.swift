import Foundation
import Testing

@testable import KVCloneLMDB

/// Rules 3, 5, 6 and 12 of storage: opening, rejecting and creating stores.
@Suite struct OpeningTests {
  let store: TemporaryStore

  init() throws {
    store = try TemporaryStore()
  }

  @Test func createsPrivateFilesAndNothingElse() throws {
    let environment = try store.create()
    let manager = FileManager.default
    #expect(try manager.contentsOfDirectory(atPath: store.root) == ["store"])
    #expect(try Set(manager.contentsOfDirectory(atPath: store.path)) == ["data.mdb", "lock.mdb", "writer.lock"])
    #expect(try FileSystem.facts(store.path)?.mode == 0o700)
    for name in ["data.mdb", "lock.mdb", "writer.lock"] {
      #expect(try FileSystem.facts(store.path + "/" + name)?.mode == 0o600)
    }
    #expect(try environment.tableNames() == ["a"])
    #expect(try environment.auditPages().isConsistent)
  }

  @Test func initialisesInCreation() throws {
    let environment = try LMDBEnvironment.create(at: store.path, tables: ["a", "b"]) { transaction in
      let table = try transaction.environment.table(named: "b")
      try transaction.put(table, "format", "1")
    }
    let transaction = try environment.beginRead()
    #expect(try transaction.text(environment.table(named: "b"), "format") == "1")
  }

  @Test func failedCreationLeavesNothing() throws {
    struct Refused: Error {}
    #expect(throws: Refused.self) {
      try LMDBEnvironment.create(at: store.path, tables: ["a"]) { _ in throw Refused() }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: store.root).isEmpty)
  }

  @Test func refusesToCreateOverSomething() throws {
    try FileSystem.createDirectory(store.path)
    try FileSystem.createDirectory(store.path + "/something")
    #expect(throws: LMDBError.storeExists(path: store.path)) { _ = try store.create() }
    #expect(throws: LMDBError.storeExists(path: store.path)) {
      try FileSystem.createDirectory(store.root + "/other")
      try FileSystem.renameWithoutReplacing(store.root + "/other", to: store.path)
    }
  }

  @Test func reopensWhatWasCommitted() throws {
    try store.prepare()
    let environment = try store.open()
    let table = try environment.openTables(["a"], create: false)[0]
    #expect(try environment.beginRead().text(table, "key") == "value")
    #expect(!environment.isShorterThanLastPage)
    #expect(throws: LMDBError.noTable(name: "z")) { try environment.openTables(["z"], create: false) }
    let added = try environment.openTables(["z"], create: true)[0]
    #expect(try environment.table(named: "z") == added)
  }

  @Test func refusesASecondEnvironmentOfTheFile() throws {
    let first = try store.create()
    #expect(throws: LMDBError.alreadyOpen(path: store.data)) { _ = try store.open() }
    #expect(throws: LMDBError.alreadyOpen(path: store.root + "/./store/data.mdb")) {
      _ = try LMDBEnvironment.open(at: store.root + "/./store/")
    }
    first.close()
    let second = try store.open()
    #expect(throws: LMDBError.closed) { _ = try first.beginRead() }
    _ = try second.beginRead()
  }

  @Test func closesWithTheLastTransaction() throws {
    let environment = try store.create()
    do {
      let reader = try environment.beginRead()
      environment.close()
      #expect(throws: LMDBError.alreadyOpen(path: store.data)) { _ = try store.open() }
      #expect(try reader.keys(environment.table(named: "a")).isEmpty)
    }
    _ = try store.open()
  }

  @Test func refusesWhatIsMissing() throws {
    #expect(throws: LMDBError.storeNotFound(path: store.path)) { _ = try store.open() }
    try FileSystem.createDirectory(store.path)
    #expect(throws: LMDBError.storeNotFound(path: store.path)) { _ = try store.open() }
    #expect(try FileManager.default.contentsOfDirectory(atPath: store.path).isEmpty)
  }

  @Test func refusesLinks() throws {
    try store.prepare()
    let manager = FileManager.default
    let link = store.root + "/link"
    try manager.createSymbolicLink(atPath: link, withDestinationPath: store.path)
    #expect(throws: LMDBError.symlink(path: link)) { _ = try LMDBEnvironment.open(at: link + "/") }

    try manager.linkItem(atPath: store.data, toPath: store.root + "/second")
    #expect(throws: LMDBError.hardLinked(path: store.data, links: 2)) { _ = try store.open() }
    try manager.removeItem(atPath: store.data)
    try manager.createSymbolicLink(atPath: store.data, withDestinationPath: store.root + "/second")
    #expect(throws: LMDBError.symlink(path: store.data)) { _ = try store.open() }
    try manager.removeItem(atPath: store.data)
    try manager.moveItem(atPath: store.root + "/second", toPath: store.data)

    for name in ["lock.mdb", "writer.lock"] {
      let path = store.path + "/" + name
      try manager.removeItem(atPath: path)
      try manager.createSymbolicLink(atPath: path, withDestinationPath: store.root + "/victim")
      #expect(throws: LMDBError.symlink(path: path)) { _ = try store.open() }
      #expect(try !FileSystem.exists(store.root + "/victim"))
      try manager.removeItem(atPath: path)
    }
    _ = try store.open()
  }

  @Test func refusesWrongModesAndKinds() throws {
    try store.prepare()
    try store.setMode(0o644, store.data)
    #expect(throws: LMDBError.wrongMode(path: store.data, mode: 0o644)) { _ = try store.open() }
    try store.setMode(0o400, store.data)
    #expect(throws: LMDBError.wrongMode(path: store.data, mode: 0o400)) { _ = try store.open() }
    try store.setMode(0o600, store.data)
    try store.setMode(0o750, store.path)
    #expect(throws: LMDBError.wrongMode(path: store.path, mode: 0o750)) { _ = try store.open() }
    try store.setMode(0o700, store.path)
    #expect(throws: LMDBError.notRegularFile(path: store.data)) { _ = try LMDBEnvironment.open(at: store.data) }
    try FileManager.default.removeItem(atPath: store.data)
    try FileSystem.createDirectory(store.data)
    #expect(throws: LMDBError.notRegularFile(path: store.data)) { _ = try store.open() }
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
  func refusesAnotherUsersFile() throws {
    try store.prepare()
    try FileManager.default.setAttributes([.ownerAccountID: 1], ofItemAtPath: store.data)
    #expect(throws: LMDBError.wrongOwner(path: store.data, owner: 1)) { _ = try store.open() }
  }

  @Test func refusesAnEmptyFile() throws {
    try store.prepare()
    try store.truncate(to: 0)
    #expect(throws: LMDBError.emptyFile(path: store.data)) { _ = try store.open() }
    #expect(try FileSystem.facts(store.data)?.byteCount == 0)
  }

  /// Offset, bytes: each would make LMDB crash, misread or overwrite the file.
  static let damages: [(UInt64, [UInt8])] = [
    (16, [0]), (20, [2]), (0, [1]), (4096, [7]), (10, [0]), (44, [1]), (136, [0, 0, 0, 0, 0, 0, 0, 0]),
    (136, [UInt8](repeating: 0xFF, count: 8)), (128, [0xFF, 0xFF, 0xFF, 0x7F, 0, 0, 0, 0]),
    (4096 + 16, [0xAA]), (94, [0xFF, 0]), (92, [4]),
  ]

  @Test(arguments: damages) func refusesDamagedMetaPages(offset: UInt64, bytes: [UInt8]) throws {
    try store.prepare()
    try store.patch(at: offset, bytes)
    #expect { _ = try store.open() } throws: { error in
      if case .invalidStore(store.data, _) = error as? LMDBError { return true }
      return false
    }
  }

  /// LMDB leaves an older page like this after it could not write a newer one, and never reads it again.
  @Test func anOlderMetaPageMayNameRootsBeyondItsEnd() throws {
    try store.prepare()
    try store.patch(at: 4096 + 128, [0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0])
    let environment = try store.open()
    let table = try environment.openTables(["a"], create: false)[0]
    #expect(try environment.beginRead().keys(table) == ["key"])
  }

  @Test func refusesAnotherPageSize() throws {
    try store.prepare()
    try store.patch(at: 40, [0, 0x40, 0, 0])
    #expect(throws: LMDBError.unsupportedPageSize(16384)) { _ = try store.open() }
  }

  @Test(arguments: [1, 4095, 4096, 8191] as [UInt64]) func refusesATruncatedMetaPage(length: UInt64) throws {
    try store.prepare()
    try store.truncate(to: length)
    #expect { _ = try store.open() } throws: { error in
      if case .invalidStore = error as? LMDBError { return true }
      return false
    }
  }

  @Test func notesAFileShorterThanItsLastPage() throws {
    try store.prepare()
    try store.truncate(to: 3 * 4096)
    #expect(try store.open().isShorterThanLastPage)
  }

  @Test func fallsBackToLessAddressSpace() throws {
    var options = LMDBOptions()
    options.mapSize = 1 << 50
    let environment = try store.create(["a"], options)
    #expect(try environment.info().mapSize < 1 << 50)
    #expect(try environment.info().mapSize >= 1 << 30)
  }

  @Test func opensReadOnly() throws {
    try store.prepare()
    var options = LMDBOptions()
    options.isReadOnly = true
    let environment = try store.open(options)
    let table = try environment.openTables(["a"], create: false)[0]
    #expect(try environment.beginRead().text(table, "key") == "value")
    #expect(throws: LMDBError.readOnly) { _ = try environment.beginWrite() }
  }

  @Test func descriptorsCloseOnExec() throws {
    let environment = try store.create()
    var seen = 0
    for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
      guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name),
        target.contains(store.root.split(separator: "/").last ?? "?")
      else { continue }
      let info = try #require(FileSystem.smallTextFile("/proc/self/fdinfo/" + name))
      let flags = try #require(info.split(separator: "\n").first { $0.hasPrefix("flags:") })
      let value = try #require(Int(flags.dropFirst(6).filter(\.isNumber), radix: 8))
      #expect(value & 0o2000000 != 0, "\(target) survives exec")
      seen += 1
    }
    #expect(seen >= 3)
    environment.close()
  }

  @Test func refusesNetworkFileSystems() {
    let refusal = NetworkFileSystems.refusal
    #expect(refusal(0x6969, nil, []) == "NFS")
    #expect(refusal(0xFF53_4D42, nil, []) == "CIFS")
    #expect(refusal(0x0102_1997, nil, []) == "9p")
    #expect(refusal(0x6573_5546, "fuse.sshfs", []) == "fuse.sshfs")
    #expect(refusal(0x6573_5546, "fuseblk", ["fuseblk"]) == nil)
    #expect(refusal(0xEF53, nil, []) == nil)
    let mounts = "36 35 8:1 / /a rw shared:1 - ext4 /dev/sda1 rw\n40 35 0:52 / /b rw - fuse.sshfs host:/ rw\n"
    #expect(NetworkFileSystems.kind(ofDevice: "0:52", mounts) == "fuse.sshfs")
    #expect(NetworkFileSystems.kind(ofDevice: "9:9", mounts) == nil)
  }
}
