import Foundation
import KVCloneLMDB
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// Faults of the store, the backup or the disk.
@Suite("Backups of damaged stores, and on full disks")
struct BackupFaultTests {
  @Test("a damaged source is refused, and nothing is left")
  func damagedSource() throws {
    let file = try DamagedFile()
    let root = (file.path as NSString).deletingLastPathComponent
    let before = try FileManager.default.contentsOfDirectory(atPath: root)
    let roles = PageRoles(file.sound, readsData: true)
    var refused = 0
    for seed in 0..<10 as Range<UInt64> {
      var generator = SplitMix(seed: seed)
      var bytes = file.sound
      if seed % 10 == 0 {
        bytes.removeLast(Int(generator.next() % UInt64(bytes.count / 2)))
      } else {
        let page = roles.treePages[Int(generator.next() % UInt64(roles.treePages.count))]
        bytes[page * 4096 + Int(generator.next() % 4096)] ^= UInt8(1 + generator.next() % 255)
      }
      let report = try file.check(bytes, CheckOptions(readData: true))
      let isSound = report.issues.allSatisfy { $0.kind == .pageLeak && !$0.message.contains("both in use") }
      do {
        try ObjectStore.restore(from: file.path, to: root + "/restored")
        #expect(isSound, "seed \(seed)")
        #expect(try ObjectStore.check(at: root + "/restored", options: CheckOptions(readData: true)).isClean)
        try FileManager.default.removeItem(atPath: root + "/restored")
      } catch let error as StoreError {
        #expect(
          !isSound && [.corrupted, .invalidStore].contains(error.kind), "seed \(seed): \(error.kind) \(error.message)")
        refused += 1
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: root).sorted() == before.sorted(), "seed \(seed)")
    }
    #expect(refused > 3)
  }

  @Test(
    "an older state under the newest number is refused: its pages are on the free list", .needsDataFile(.bytes))
  func olderState() throws {
    let file = try DamagedFile()
    let root = (file.path as NSString).deletingLastPathComponent
    var bytes = file.sound
    func number(_ offset: Int) -> UInt64 {
      bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
    }
    // The descriptor of the table list, in the meta page with the lower number.
    let newest = number(144) > number(4096 + 144) ? 0 : 4096
    let older = 4096 - newest
    bytes.replaceSubrange(newest + 88..<newest + 136, with: bytes[older + 88..<older + 136])
    #expect(bytes != file.sound)
    let report = try file.check(bytes, CheckOptions(readData: true))
    #expect(report.issues.contains { $0.message.contains("both in use and on the free list") })
    expectError(.corrupted) { try ObjectStore.restore(from: file.path, to: root + "/restored") }
    #expect(try !FileSystem.exists(root + "/restored"))
  }

  @Test("no verified backup has a corrupted value; full verification finds other problems, too", .needsDataFile(.path))
  func damagedValue() throws {
    let fixture = try CheckFixture()
    let root = fixture.files.root
    // An index without an entry: every byte is intact.
    try fixture.delete(fixture.tables.indexes, try #require(try fixture.entries(fixture.tables.indexes).first).key)
    try fixture.store.backup(to: root + "/sound")
    #expect(try ObjectStore.check(at: root + "/sound").issues == (try fixture.store.check().issues))
    expectError(.corrupted) {
      try fixture.store.backup(to: root + "/b", options: BackupOptions(verification: .everything))
    }
    try fixture.tamper(record: fixture.items[5], sealed: false) { $0[40] ^= 1 }
    for verification in [BackupOptions.Verification.values, .everything] {
      let error = expectError(.corrupted) {
        try fixture.store.backup(to: root + "/b", options: BackupOptions(verification: verification))
      }
      #expect(error?.message.contains("check") == true)
    }
    #expect(try !FileSystem.exists(root + "/b"))
    try fixture.store.backup(to: root + "/unread", options: BackupOptions(verification: .none))
    expectError(.corrupted) { try ObjectStore.restore(from: root + "/unread", to: root + "/b") }
    #expect(try FileManager.default.contentsOfDirectory(atPath: root).sorted() == ["sound", "test.kvclone", "unread"])
  }

  /// LMDB ignores the corrupted page and continues with the older one, so the copy would contain the previous commit.
  @Test(
    "an open store whose newest meta page is corrupted is not backed up without its last commit", .needsDataFile(.bytes)
  )
  func damagedMetaPage() throws {
    let fixture = try BackupFixture()
    let data = try #require(FileHandle(forUpdatingAtPath: fixture.test.path + "/data.mdb"))
    try data.seek(toOffset: 0)
    let bytes = Array(try #require(try data.read(upToCount: 8192)))
    func number(_ offset: Int) -> UInt64 {
      bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
    }
    let newest = number(144) > number(4096 + 144) ? 0 : 4096
    // The version.
    try data.seek(toOffset: UInt64(newest + 20))
    try data.write(contentsOf: [bytes[newest + 20] ^ 4])
    expectError(.corrupted) { try fixture.store.backup(to: fixture.root + "/b") }
    #expect(try fixture.names().isEmpty)
    try data.seek(toOffset: UInt64(newest + 20))
    try data.write(contentsOf: [bytes[newest + 20]])
    try data.close()
    try fixture.store.backup(to: fixture.root + "/b")
  }

  @Test("a blob with a missing chunk is in no backup")
  func lostPiece() throws {
    let fixture = try CheckFixture()
    let root = fixture.files.root
    let chunk = try #require(try fixture.entries(fixture.tables.blobs).last)
    try fixture.delete(fixture.tables.blobs, chunk.key)
    let error = expectError(.corrupted) { try fixture.store.backup(to: root + "/b") }
    #expect(error?.message.contains("chunks exist") == true, "\(String(describing: error))")
    #expect(try !FileSystem.exists(root + "/b"))
  }

  @Test("sources that are open, linked, or of other modes are refused", .needsDataFile(.path))
  func strangeSources() throws {
    let fixture = try BackupFixture()
    let (root, manager) = (fixture.root, FileManager.default)
    expectError(.alreadyOpen) { try ObjectStore.restore(from: fixture.test.path, to: root + "/c") }
    expectError(.storeNotFound) { try ObjectStore.restore(from: root + "/nothing", to: root + "/c") }
    try fixture.store.backup(to: root + "/b")
    try manager.createSymbolicLink(atPath: root + "/link", withDestinationPath: root + "/b")
    expectError(.invalidStore) { try ObjectStore.restore(from: root + "/link", to: root + "/c") }
    try manager.setAttributes([.posixPermissions: 0o644], ofItemAtPath: root + "/b/data.mdb")
    expectError(.invalidStore) { try ObjectStore.restore(from: root + "/b", to: root + "/c") }
    #expect(try fixture.names() == ["b", "link"])
  }

  @Test("a full disk is detected before it is full, and nothing is left", .enabled(if: MountedPeer.canMount))
  func fullDisk() throws {
    let lines = try MountedPeer.script(
      """
      mount -t tmpfs -o size=24m none "$2"; chmod 700 "$2"
      mkdir "$2/small"; mount -t tmpfs -o size=1m none "$2/small"
      "$1" backup "$2" ; ls -A "$2/small"
      """)
    #expect(lines == ["backup error diskFull", "restore error diskFull", "snapshot error diskFull", "backup ok"])
  }

  @Test("the commit log's pages are in it, and no log is the copy's", .needsDataFile(.log))
  func commitLog() throws {
    var options = StoreOptions()
    options.journalMode = .writeAheadLog
    let fixture = try BackupFixture(options)
    try fixture.store.backup(to: fixture.root + "/b")
    try fixture.store.reflinkCopy(to: fixture.root + "/s")
    // With the store's log beside them, both are rejected: the log would be applied to another file.
    for name in ["b", "s"] {
      let copy = "\(fixture.root)/\(name)"
      #expect(try ObjectStore.check(at: copy).isClean)
      try FileManager.default.copyItem(atPath: fixture.test.path + "/commit.log", toPath: copy + "/commit.log")
      expectError(.invalidStore) { try ObjectStore.open(at: copy).close() }
    }
  }
}

/// A small generator with a seed and the same results on all platforms.
private struct SplitMix {
  var seed: UInt64

  mutating func next() -> UInt64 {
    seed &+= 0x9E37_79B9_7F4A_7C15
    let mixed = (seed ^ (seed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    return mixed ^ (mixed >> 31)
  }
}
