import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// Preimages that are orphaned, or not stored as required.
@Suite("Check: preimages")
struct CheckSnapshotTests {
  /// Stores the preimage of a key as if the snapshot of an epoch could see it.
  private func save(_ table: StorageTable, _ key: [UInt8], epoch: UInt64, in fixture: CheckFixture) throws {
    let preimages = fixture.tables.preimages
    let value = try fixture.bytes(table, key)
    let place = PreimageKey.encode(table: table.code, key: key.span.bytes, epoch: epoch)
    let state = PreimageView.encode(
      value.span.bytes, seed: ValueEnvelope.seed(tableCode: .preimages, key: place.span.bytes))
    let list = SavedKeysKey(epoch: epoch, commit: 1 << 40, part: UInt32(key.count)).bytes
    var saved = PreimageKeys()
    key.withUnsafeBytes { saved.append(table.code, $0, byteCount: UInt64(place.count + state.count)) }
    var bytes: [UInt8] = []
    saved.take(seed: ValueEnvelope.seed(tableCode: .preimages, key: list)) { span in
      bytes = span.withUnsafeBytes { Array($0) }
    }
    let (key, listed) = (list.array, bytes)
    try fixture.plant { session in
      try session.storage.put(preimages, place.span.bytes, state.span.bytes)
      try session.storage.put(preimages, key.span.bytes, listed.span.bytes)
    }
  }

  @Test("preimages of keys that are newer than every snapshot are reported, and are deleted with the snapshots")
  func unseenKeys() throws {
    let fixture = try CheckFixture()
    try fixture.store.createSnapshot(named: "first")
    let folder = try fixture.store.insert(
      "Folder", ["code": "late"], relationships: ["items": fixture.items])
    try fixture.expect()
    let link = try #require(
      try fixture.entries(fixture.tables.links).map(\.key).first {
        $0.starts(with: ShortKey.linkPrefix(owner: folder).array)
      })
    let kinds = [
      (try fixture.table(of: folder), fixture.key(folder)), (fixture.tables.links, link),
      (
        fixture.tables.indexes,
        try #require(
          try fixture.entries(fixture.tables.indexes).map(\.key).first {
            $0.suffix(8).elementsEqual(fixture.key(folder))
          })
      ),
    ]
    for (count, kind) in kinds.enumerated() {
      try save(kind.0, kind.1, epoch: 1, in: fixture)
      let damages = try fixture.store.check().issues
      #expect(damages.map(\.kind) == Array(repeating: .snapshot, count: count + 1))
      #expect(damages.allSatisfy { $0.message.contains("no snapshot shows") && !$0.isDerived })
    }
    // Reads of a snapshot do not encounter them.
    let snapshot = try fixture.store.snapshot(named: "first")
    #expect(try snapshot.read { try $0.exists(folder) } == false)
    try fixture.store.deleteSnapshot(named: "first")
    try fixture.expect()
  }

  @Test("preimages that snapshots need are never reported, whichever snapshots are deleted, with and without the model")
  func seenKeys() throws {
    let fixture = try CheckFixture()
    let store = fixture.store
    var late: [ObjectID] = []
    for round in 0..<4 {
      try store.createSnapshot(named: "s\(round)")
      late.append(try store.insert("Item", ["title": .string("late \(round)")]))
      try store.setMembers(fixture.folder, "sorted", late + fixture.items.shuffled())
      try store.setMembers(fixture.folder, "items", late + fixture.items)
      for id in late { try store.set(id, "title", .string("round \(round)")) }
      try fixture.expect()
      try store.backup(to: "\(fixture.files.root)/backup-\(round)", options: BackupOptions(verification: .values))
    }
    for name in ["s1", "s3", "s0", "s2"] {
      try store.deleteSnapshot(named: name)
      try fixture.expect()
    }
  }
}
