import KVCloneModel
import KVCloneRecords
import Testing

/// The parts of an incremental backup that a store lacks: its description, the deleted keys, and its format. The bytes
/// were computed from Format.md by another program (Python, with the xxhash library).
@Suite("Increments in bytes")
struct IncrementGoldenTests {
  private let golden =
    "6d47514960c2cb67000000000201000000000000000000000000f83f0300000000000000c800000000000000000000000000e03fc9000000000000"
    + "00010000000300000001000c000000000000000200000000000000000001800700000000000000030000006d6f6e"
  private let value = IncrementValue(
    commit: 258, created: 1.5, sinceName: "mon", sinceEpoch: 3, sinceCommit: 200, sinceCreated: 0.5,
    firstChangeCommit: 201, firstChangePart: 1,
    counts: [
      .init(table: .metadata, entries: 12), .init(table: .links, entries: 0),
      .init(table: .objects(rootCode: 1), entries: 7),
    ])

  @Test func description() throws {
    #expect(MetadataKey.increment == "increment")
    let seed = ValueEnvelope.seed(tableCode: .metadata, key: MetadataKey.bytes(MetadataKey.increment))
    #expect(hex(value.encoded(seed: seed)) == golden)
    #expect(try IncrementValue(stored: unhex(golden), seed: seed) == value)
  }

  @Test func deletions() throws {
    #expect(TableCode.deletions.rawValue == 12 && TableCode(name: "deletions") == .deletions)
    #expect(!TableCode.fixed.contains(.deletions))
    let keys: [(TableCode, ShortKey, String, String)] = [
      (
        .objects(rootCode: 1), .object(ObjectID(rawValue: 1 << 48 | 5)), "80010001000000000005", "f71f2bb6b5492599"
      ),
      (.blobs, .blobInfo(17), "00030000000000000011", "829050a348ff24de"),
    ]
    for (table, key, golden, value) in keys {
      let bytes = ReusedBytes()
      key.withUnsafeBytes { DeletionKey.write(table: table, key: $0, to: bytes) }
      let stored = Array(bytes.bytes)
      #expect(hex(stored) == golden)
      #expect(try DeletionKey.table(of: stored.span.bytes) == table)
      #expect(try array(DeletionKey.key(of: stored.span.bytes)) == key.array)
      let seed = ValueEnvelope.seed(tableCode: .deletions, key: stored)
      let empty = ValueEnvelope.emptyValue(seed: seed)
      #expect(withUnsafeBytes(of: empty) { hex(Array($0)) } == value)
    }
    for wrong in [[], [1], [0, 1], [UInt8](repeating: 1, count: 483)] as [[UInt8]] {
      #expect(throws: RecordError.badKey) { _ = try DeletionKey.table(of: wrong.span.bytes) }
    }
  }

  @Test func format() throws {
    let golden = "6ab16232e8109d330500000005000080000102030405060708090a0b0c0d0e0f000000000000f83f"
    let store = FormatRecord(version: 5, minimumReaderVersion: 5, storeUUID: Example.uuid, created: 1.5)
    #expect(hex(store.ofIncrement.encoded()) == golden)
    let record = try FormatRecord(bytes: unhex(golden))
    // A library without support for incremental backups treats it as a store of a later version, and does not open it.
    #expect(record.isIncrement && record.isTooNew && record.ofStore == store && !store.isIncrement)
  }

  @Test("other forms are rejected")
  func damage() throws {
    func refused(_ error: RecordError, _ change: (inout IncrementValue) -> Void) {
      var wrong = value
      change(&wrong)
      #expect(throws: error) { _ = try IncrementValue(stored: unchecked(wrong), seed: 0) }
    }
    refused(.outOfRange) { $0.sinceEpoch = 0 }
    refused(.outOfRange) { $0.sinceCommit = 259 }
    refused(.outOfRange) { $0.sinceName = "" }
    refused(.badOrder) { $0.counts.swapAt(0, 1) }
    refused(.badKey) { $0.counts[0].table = TableCode(rawValue: 100) }
    refused(.badKey) { $0.counts[2].table = .deletions }
    let stored = unchecked(value)
    for count in 8..<stored.count {
      let short = ValueEnvelope.encode(Array(stored[8..<count]), seed: 0)
      #expect(throws: RecordError.self) { _ = try IncrementValue(stored: short, seed: 0) }
    }
    var flagged = Array(stored[8...])
    flagged[0] = 1
    #expect(throws: RecordError.badFlag) {
      _ = try IncrementValue(stored: ValueEnvelope.encode(flagged, seed: 0), seed: 0)
    }
  }
}
