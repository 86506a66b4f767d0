import KVCloneModel
import KVCloneRecords
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite struct ValueCodecTests {
  private let id = ObjectID(rawValue: 1 << 48 | 5)

  private func check<Value: ValueCodec & Equatable>(_ value: Value, _ golden: String) throws {
    let bytes = unhex(golden)
    #expect(hex(value.encoded(seed: Golden.seed)) == golden)
    #expect(try Value(stored: bytes, seed: Golden.seed) == value)
    for bit in 0..<bytes.count * 8 {
      var damaged = bytes
      damaged[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: RecordError.checksumMismatch) { try Value(stored: damaged, seed: Golden.seed) }
    }
    // With a correct checksum, truncated and extended values are still detected; values that accept any length do not
    // trap.
    for length in 0..<bytes.count - 8 {
      _ = try? Value(stored: ValueEnvelope.encode(Array(bytes[8..<8 + length]), seed: Golden.seed), seed: Golden.seed)
    }
  }

  @Test func partsOfHistoryAreWithinTheirLimits() {
    let ends = ObjectID(rootCode: 1, serial: ObjectID.maximumSerial)
    #expect(throws: RecordError.badCount) {
      try ChangePart(stored: unchecked(ChangePart.inserted([.init(first: ends, count: 2)])), seed: 0)
    }
    #expect(throws: RecordError.badOrder) {
      try ChangePart(stored: unchecked(ChangePart.updated([.init(id: id, properties: [9, 9])])), seed: 0)
    }
    var tooMany = ByteWriter()
    tooMany.put32(1)
    tooMany.put32(4097)
    for _ in 0..<4097 {
      tooMany.put64(id.rawValue)
      tooMany.put64(1)
    }
    #expect(throws: RecordError.badCount) {
      try ChangePart(stored: ValueEnvelope.encode(tooMany.bytes, seed: 0), seed: 0)
    }
  }

  @Test func metadata() throws {
    try check(CounterValue(258), Golden.counter)
    try check(BytesValue(Array("{}".utf8)), Golden.bytes)
  }

  @Test func formatRecordOfAnotherVersionIsReadAndJudged() throws {
    for (version, minimum, isTooOld, isTooNew) in [
      (1, 1, true, false), (2, 2, true, false), (3, 3, false, false), (4, 4, false, false), (5, 5, false, false),
      (6, 6, false, false), (9, 6, false, false), (7, 7, false, false), (9, 8, false, true),
    ] as [(UInt32, UInt32, Bool, Bool)] {
      let record = FormatRecord(version: version, minimumReaderVersion: minimum, storeUUID: UUID(), created: 0)
      #expect(record.isTooOld == isTooOld, "version \(version)")
      #expect(record.isTooNew == isTooNew, "version \(version)")
      #expect(try FormatRecord(bytes: record.encoded()) == record)
    }
  }

  @Test func formatRecordKeepsWhatNewerVersionsSay() throws {
    let uuid = UUID()
    let longer = FormatRecord.sealed(
      Array(FormatRecord(version: 9, minimumReaderVersion: 3, storeUUID: uuid, created: 1.5).encoded()[8...]) + [1, 2])
    var record = try FormatRecord(bytes: longer)
    #expect(record.rest == [1, 2])
    #expect(record.encoded() == longer)
    record.raise(to: 4)
    #expect(record.version == 9 && record.minimumReaderVersion == 4 && record.rest == [1, 2])
    record.raise(to: 3)
    #expect(record.version == 9 && record.minimumReaderVersion == 4)
  }

  @Test func damagedFormatRecordIsRefused() throws {
    let bytes = FormatRecord(storeUUID: UUID(), created: 1.5).encoded()
    for bit in 0..<bytes.count * 8 {
      var damaged = bytes
      damaged[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: RecordError.checksumMismatch) { try FormatRecord(bytes: damaged) }
    }
    for length in 0..<bytes.count {
      #expect(throws: RecordError.self) { try FormatRecord(bytes: Array(bytes[..<length])) }
    }
    for length in 0..<32 {
      let payload = Array(bytes[8..<8 + length])
      #expect(throws: RecordError.tooShort) { try FormatRecord(bytes: FormatRecord.sealed(payload)) }
    }
  }

  @Test func lists() throws {
    try check(MemberIndexValue(label: 77), Golden.member)
    try check(
      DirectoryPage([.init(label: 1, memberCount: 128), .init(label: 9, memberCount: 3)]), Golden.directory)
  }

  @Test func blobs() throws {
    let info = BlobInfo(
      state: .pending, stager: 7, chunkCount: 2, referenceCount: 3, byteCount: 1_048_553, digest: 0xAB_CDEF)
    try check(info, Golden.blobInfo)
    #expect(FormatLimits.blobChunkLength == 1_048_552)
    #expect(BlobInfo.chunkCount(byteCount: 0) == 0)
    #expect(BlobInfo.chunkCount(byteCount: 1_048_552) == 1)
    #expect(BlobInfo.chunkCount(byteCount: 1_048_553) == 2)
    #expect(BlobInfo.chunkCount(byteCount: .max) == nil)
    let wrong = BlobInfo(chunkCount: 1, referenceCount: 1, byteCount: 1_048_553, digest: 0)
    #expect(throws: RecordError.badCount) { try BlobInfo(stored: unchecked(wrong), seed: 0) }
  }

  @Test func snapshots() throws {
    var snapshot = SnapshotValue(
      epoch: 2, commit: 3, created: 1.5, objectCount: 11, nextBlobSerial: 4, modelNumber: 5, nextLayoutID: 6,
      nextIndexID: 7, nextEntityCode: 8,
      watermarks: [.init(rootCode: 1, nextSerial: 10), .init(rootCode: 2, nextSerial: 20)])
    snapshot.isAutomatic = true
    snapshot.holds = ["hold"]
    snapshot.userInfo = Array("{}".utf8)
    try check(snapshot, Golden.snapshot)
    var base = snapshot
    (base.isAutomatic, base.isHidden, base.isDraft, base.holds) = (false, true, true, [])
    try check(base, Golden.draftBase)
    snapshot.expires = 9
    #expect(try SnapshotValue(stored: snapshot.encoded(seed: 1), seed: 1) == snapshot)
    let known = snapshot
    snapshot.watermarks.reverse()
    #expect(throws: RecordError.badOrder) { try SnapshotValue(stored: unchecked(snapshot), seed: 0) }
    // Numbers that are incremented.
    for path in [\SnapshotValue.commit, \.epoch, \.nextBlobSerial] {
      var far = known
      far[keyPath: path] = UInt64(Int64.max) + 1
      #expect(throws: RecordError.outOfRange) { try SnapshotValue(stored: unchecked(far), seed: 0) }
    }
  }

  @Test func preimages() throws {
    let previous: [UInt8] = [9, 8]
    let present = PreimageView.encode(previous.span.bytes, seed: Golden.seed)
    #expect(hex(present) == Golden.preimagePresent)
    let absent = PreimageView.encode(nil, seed: Golden.seed)
    #expect(hex(absent) == Golden.preimageAbsent)
    let presentView = try PreimageView(present.span.bytes, seed: Golden.seed)
    let isPresent = presentView.isPresent
    #expect(isPresent)
    #expect(array(presentView.value) == [9, 8])
    let absentView = try PreimageView(absent.span.bytes, seed: Golden.seed)
    let isAbsent = !absentView.isPresent
    #expect(isAbsent)
    for (payload, error) in [([], RecordError.tooShort), ([2], .badFlag), ([0, 1], .trailingBytes)] as [([UInt8], _)] {
      let bytes = ValueEnvelope.encode(payload, seed: 0)
      #expect(throws: error) { _ = try PreimageView(bytes.span.bytes, seed: 0).isPresent }
    }
  }

  @Test func changes() throws {
    try check(
      ChangeHeader(
        partCount: 2, time: 1.5, insertedCount: 3, updatedCount: 4, deletedCount: 5, author: "me", operation: "clone"),
      Golden.changeHeader)
    try check(ChangePart.inserted([.init(first: id, count: 100)]), Golden.inserted)
    try check(ChangePart.updated([.init(id: id, properties: [1, 9])]), Golden.updated)
    try check(
      ChangePart.deleted([.init(id: id, entityCode: 4, tombstone: Array("{}".utf8))]), Golden.deleted)
    let endless = ValueEnvelope.encode([1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF], seed: 0)
    #expect(throws: RecordError.badCount) { try ChangePart(stored: endless, seed: 0) }
  }

  @Test func operations() throws {
    try check(ProvenanceValue(source: id, commit: 6, operation: 7), Golden.provenance)
    let store = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
    try check(
      ProvenanceValue(source: id, commit: 6, operation: 7, store: store), Golden.provenanceOfOtherStore)
    let draft = ProvenanceValue.Draft(base: 9, copy: 3)
    try check(ProvenanceValue(source: id, commit: 6, operation: 7, draft: draft), Golden.provenanceOfDraft)
    try check(ProvenanceValue(source: id, commit: 6, operation: 7, store: store, draft: draft), Golden.provenanceOfBoth)
    let known: [(flags: UInt8, error: RecordError)] = [(2, .tooShort), (4, .badFlag)]
    for (flags, error) in known {
      let payload: [UInt8] = Array(repeating: 0, count: 24) + [flags, 0, 0, 0, 0, 0, 0, 0]
      #expect(throws: error) { try ProvenanceValue(stored: ValueEnvelope.encode(payload, seed: 0), seed: 0) }
    }
    try check(
      OperationValue(
        commit: 6, time: 1.5, expires: 2.5, roots: [id], argumentDigest: [1, 2], result: Array("{}".utf8)),
      Golden.operation)
    try check(RedirectValue(target: id, commit: 6), Golden.redirect)
  }

  @Test func textThatIsNotUTF8IsAnError() {
    var bytes = ChangeHeader(
      partCount: 0, time: 0, insertedCount: 0, updatedCount: 0, deletedCount: 0, author: "a"
    ).encoded(seed: 0)
    bytes[8 + 44] = 0xFF
    bytes = ValueEnvelope.encode(Array(bytes[8...]), seed: 0)
    #expect(throws: RecordError.invalidUTF8) { try ChangeHeader(stored: bytes, seed: 0) }
  }

  @Test func randomPayloadsNeverTrap() {
    var generator = SeededGenerator(3)
    for _ in 0..<20_000 {
      var payload = generator.bytes(Int.random(in: 0...120, using: &generator))
      // Mostly zero bytes, so that counts and flags are often plausible.
      for index in payload.indices where Int.random(in: 0..<4, using: &generator) != 0 { payload[index] &= 3 }
      let value = ValueEnvelope.encode(payload, seed: 5)
      _ = try? FormatRecord(bytes: FormatRecord.sealed(payload))
      _ = try? BlobInfo(stored: value, seed: 5)
      _ = try? DirectoryPage(stored: value, seed: 5)
      _ = try? SnapshotValue(stored: value, seed: 5)
      _ = try? ChangeHeader(stored: value, seed: 5)
      _ = try? ChangePart(stored: value, seed: 5)
      _ = try? OperationValue(stored: value, seed: 5)
      _ = try? ProvenanceValue(stored: value, seed: 5)
      _ = try? RecordLayout(stored: value, seed: 5)
      _ = try? ListChunk(value.span.bytes, seed: 5, unorderedAt: nil).ids.count
      _ = try? PreimageView(value.span.bytes, seed: 5).isPresent
    }
  }
}
