#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneLMDB
  import KVCloneRecords
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  /// Rows that are appended as one run, with the same value.
  struct Appended {
    let keys: [[UInt8]]
    let value: [UInt8]

    func append(_ transaction: inout StorageTransaction, _ table: StorageTable) throws {
      // Copied: the pointers are used behind the closure that the transaction cannot be passed into.
      let bytes = UnsafeMutableRawBufferPointer.allocate(
        byteCount: value.count + keys.reduce(0) { $0 + $1.count }, alignment: 8)
      defer { bytes.deallocate() }
      var used = 0
      func copy(_ source: [UInt8]) -> UnsafeRawBufferPointer {
        let place = UnsafeMutableRawBufferPointer(rebasing: bytes[used..<used + source.count])
        place.copyBytes(from: source)
        used += source.count
        return UnsafeRawBufferPointer(place)
      }
      let stored = copy(value)
      let run = keys.map { StorageEntryPointers(key: copy($0), value: stored) }
      let pointers = UnsafeMutableBufferPointer<StorageEntryPointers>.allocate(capacity: run.count)
      defer { pointers.deallocate() }
      _ = pointers.initialize(from: run)
      try transaction.appendRun(table, UnsafeBufferPointer(pointers))
    }

    /// Calls `body` with pointers to rows.
    static func withPointers(
      _ rows: [(key: [UInt8], value: [UInt8])], _ body: ([StorageEntryPointers]) throws -> Void
    ) throws {
      let overlay = Overlay()
      for row in rows {
        row.key.withUnsafeBytes { key in row.value.withUnsafeBytes { overlay.set(1, key, $0) } }
      }
      try withExtendedLifetime(overlay) {
        let changes = overlay.table(1)?.blocks.joined().map { $0 } ?? []
        try body(changes.compactMap { change in change.value.map { StorageEntryPointers(key: change.key, value: $0) } })
      }
    }
  }

  @Suite(
    "Appended runs in a cluster", .serialized, .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none"))
  struct AppendTests {
    private let keys = (0..<64).map { [1, UInt8($0)] }

    private func requireRun(_ fixture: ClusterFixture, sourceLocation: SourceLocation = #_sourceLocation) throws {
      let entries = try fixture.entries()
      #expect(entries.map(\.key) == keys, sourceLocation: sourceLocation)
      #expect(entries.allSatisfy { $0.value == [9] }, sourceLocation: sourceLocation)
      let reader = StorageTransaction(try fixture.engines[0].beginRead())
      let count = try reader.entryCount(fixture.table)
      #expect(count == 64, sourceLocation: sourceLocation)
    }

    @Test("entries that were put and deleted in the transaction are not deleted behind a run with their keys")
    func deletedBefore() throws {
      let fixture = try ClusterFixture(processes: 1)
      try fixture.write { tx in
        for key in keys { try tx.put(fixture.table, key, [1]) }
        for key in keys { try tx.delete(fixture.table, key) }
        try Appended(keys: keys, value: [9]).append(&tx, fixture.table)
        let value = try tx.value(fixture.table, keys[5])
        #expect(value == [9])
      }
      try requireRun(fixture)
    }

    @Test("a run takes the keys of committed entries that the transaction has deleted")
    func deletedOnServer() throws {
      let fixture = try ClusterFixture(processes: 1)
      try fixture.write { tx in for key in keys { try tx.put(fixture.table, key, [1]) } }
      try fixture.write { tx in
        for key in keys { try tx.delete(fixture.table, key) }
        try Appended(keys: keys, value: [9]).append(&tx, fixture.table)
      }
      try requireRun(fixture)
    }
  }
#endif
