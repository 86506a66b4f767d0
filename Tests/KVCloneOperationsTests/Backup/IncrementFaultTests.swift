import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// Faults of an incremental backup or the disk.
@Suite("Increments that are damaged, and full disks")
struct IncrementFaultTests {
  @Test("whatever byte of an increment is another one, no wrong store is made of it")
  func damagedIncrement() throws {
    let fixture = try IncrementFixture()
    try fixture.change()
    try fixture.increment("i", since: "a")
    let expected = try Increments.entries(fixture.store)
    let file = URL(fileURLWithPath: fixture.path("i") + "/data.mdb")
    let sound = try Data(contentsOf: file)
    let names = try fixture.fixture.names()
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    var refused = 0
    for round in 0..<24 {
      var bytes = sound
      if round % 10 == 0 {
        bytes.removeLast(1 + random.below(bytes.count / 2))
      } else {
        bytes[random.below(bytes.count)] ^= UInt8(1 + random.below(255))
      }
      // In place, to keep the mode.
      let handle = try FileHandle(forWritingTo: file)
      try handle.truncate(atOffset: 0)
      try handle.write(contentsOf: bytes)
      try handle.close()
      let path = fixture.path("r")
      do {
        try ObjectStore.restore(from: [fixture.path("full"), fixture.path("i")], to: path)
        // The changed byte is unused.
        let found = try BackupFixture.look(path) { try Increments.entries($0) }
        let difference = Increments.difference(expected, found)
        #expect(difference == nil, "seed \(seed), round \(round)")
        try FileManager.default.removeItem(atPath: path)
      } catch let error as StoreError {
        #expect(
          [.corrupted, .invalidStore, .brokenChain, .newerFormat].contains(error.kind),
          "seed \(seed), round \(round): \(error.kind) \(error.message)")
        refused += 1
      }
      #expect(try fixture.fixture.names() == names, "seed \(seed), round \(round)")
    }
    #expect(refused > 10, "seed \(seed)")
  }

  @Test("a damaged value is in no increment, and a damaged backup in no chain", .needsDataFile(.path))
  func damagedStore() throws {
    let fixture = try CheckFixture()
    let root = fixture.files.root
    try fixture.store.createSnapshot(named: "a")
    try fixture.store.backup(to: root + "/full")
    try fixture.store.set(fixture.items[5], "isDone", .boolean(false))
    try fixture.store.backup(to: root + "/i", options: BackupOptions(since: "a"))
    try fixture.tamper(record: fixture.items[5], sealed: false) { $0[40] ^= 1 }
    expectError(.corrupted) { try fixture.store.backup(to: root + "/j", options: BackupOptions(since: "a")) }
    var bytes = try Data(contentsOf: URL(fileURLWithPath: root + "/full/data.mdb"))
    bytes[bytes.count - 100] ^= 1
    try bytes.write(to: URL(fileURLWithPath: root + "/full/data.mdb"))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: root + "/full/data.mdb")
    expectError(.corrupted) { _ = try ObjectStore.restore(from: [root + "/full", root + "/i"], to: root + "/r") }
    #expect(try FileManager.default.contentsOfDirectory(atPath: root).sorted() == ["full", "i", "test.kvclone"])
  }

  /// One-sided links have valid checksums: only the check of the whole store finds them.
  @Test("an increment that leads to a store that is not sound is not restored", .needsDataFile(.path))
  func unsound() throws {
    let fixture = try CheckFixture()
    let root = fixture.files.root
    try fixture.store.createSnapshot(named: "a")
    try fixture.store.backup(to: root + "/full")
    try fixture.delete(fixture.tables.indexes, try #require(try fixture.entries(fixture.tables.indexes).first).key)
    try fixture.store.backup(to: root + "/i", options: BackupOptions(since: "a"))
    expectError(.corrupted) { _ = try ObjectStore.restore(from: [root + "/full", root + "/i"], to: root + "/r") }
    #expect(try FileManager.default.contentsOfDirectory(atPath: root).sorted() == ["full", "i", "test.kvclone"])
  }

  @Test("a full disk leaves nothing", .enabled(if: MountedPeer.canMount))
  func fullDisk() throws {
    let lines = try MountedPeer.script(
      """
      mount -t tmpfs -o size=48m none "$2"; chmod 700 "$2"
      mkdir "$2/small"; mount -t tmpfs -o size=1m none "$2/small"
      "$1" increment "$2" ; ls -A "$2/small"
      """)
    #expect(lines == ["increment error diskFull", "restore error diskFull", "restore ok"])
  }
}
