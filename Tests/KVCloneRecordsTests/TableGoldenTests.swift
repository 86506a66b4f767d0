import KVCloneModel
import KVCloneRecords
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One row of every table and every name of `metadata`, each bound to its table and key as in a file. The bytes were
/// computed from Format.md by another program (Python, with an XXH3 and an XXH64 of its own).
@Suite("Rows of every table")
struct TableGoldenTests {
  private let id = ObjectID(rawValue: 1 << 48 | 5)
  private let other = ObjectID(rawValue: 1 << 48 | 9)

  private func check<Value: ValueCodec & Equatable>(
    _ table: TableCode, _ key: [UInt8], _ value: Value, _ golden: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let seed = ValueEnvelope.seed(tableCode: table, key: key)
    #expect(hex(value.encoded(seed: seed)) == golden, sourceLocation: sourceLocation)
    #expect(try Value(stored: unhex(golden), seed: seed) == value, sourceLocation: sourceLocation)
  }

  @Test func metadata() throws {
    func check<Value: ValueCodec & Equatable>(_ name: String, _ key: String, _ value: Value, _ golden: String) throws {
      #expect(name == key)
      try self.check(.metadata, MetadataKey.bytes(name), value, golden)
    }
    try check(MetadataKey.commitCounter, "commit", CounterValue(258), "b22b1de1a64970660201000000000000")
    try check(MetadataKey.epoch, "epoch", CounterValue(3), "5b56b9640f2ae3990300000000000000")
    try check(MetadataKey.layer, "layer", CounterValue(5), "b7ff119efcf4e99e0500000000000000")
    try check(MetadataKey.blobSerial, "blob-serial", CounterValue(17), "8382d6244785b64a1100000000000000")
    try check(
      MetadataKey.serial(rootCode: 0x1A), "serial-001a", CounterValue(1 << 40), "3c767402b6d429de0000000000010000")
    try check(MetadataKey.catalog, "catalog", CounterValue(2), "989dd44aefec06190200000000000000")
    try check(
      MetadataKey.model(2), "model-0002", BytesValue(Array(#"{"codes":{}}"#.utf8)),
      "cb3be4e0d28276bd7b22636f646573223a7b7d7d")
    try check(
      StagingKey.name(blobSerial: 17), "staged-0000000000000011", CounterValue(7), "8774c6cce38788110700000000000000")
    try check(
      MetadataKey.layout(3), "layout-0003",
      RecordLayout(id: 3, entityCode: 4, fields: [.init(propertyCode: 9, kind: .uuid)]),
      "ede8d831679f6932030004000100000009000900")
  }

  /// The only value with a checksum by XXH64, so that every version can read it.
  @Test func format() throws {
    let golden = [
      3: "d6f8e9c21a0c4ce40300000003000000000102030405060708090a0b0c0d0e0f000000000000f83f",
      1: "c6a52ef91262e8fa0100000001000000000102030405060708090a0b0c0d0e0f000000000000f83f",
    ]
    #expect(MetadataKey.format == "format")
    for (version, golden) in golden {
      let record = FormatRecord(
        version: UInt32(version), minimumReaderVersion: UInt32(version), storeUUID: Example.uuid, created: 1.5)
      #expect(hex(record.encoded()) == golden)
      #expect(try FormatRecord(bytes: unhex(golden)) == record)
      #expect(record.isTooOld == (version == 1))
    }
    #expect(FormatRecord(storeUUID: Example.uuid, created: 1.5).version == 3)
  }

  @Test func lists() throws {
    func key(_ kind: LinkKey.Kind, _ position: UInt64) -> [UInt8] {
      ShortKey.link(LinkKey(owner: id, relationship: 7, kind: kind, position: position)).array
    }
    let seed = ValueEnvelope.seed(tableCode: .links, key: key(.chunk, id.rawValue))
    let chunk = ListChunk.encode([id, other], seed: seed)
    #expect(hex(chunk) == "872deaf26bb0c50d0200000005000000000001000900000000000100")
    let ids = try ListChunk(chunk.span.bytes, seed: seed, unorderedAt: id.rawValue).ids.array
    #expect(ids == [id, other])
    try check(
      .links, key(.memberIndex, other.rawValue), MemberIndexValue(label: 1 << 63), "1af736fb79b511900000000000000080")
    try check(
      .links, key(.positionDirectory, 1 << 63),
      DirectoryPage([.init(label: 1 << 63, memberCount: 128), .init(label: 1 << 63 + 1 << 32, memberCount: 3)]),
      "deeabf4032876d5a02000000000000000000008080000000000000000100008003000000")
  }

  @Test func blobs() throws {
    let bytes = Array("hello".utf8)
    try check(.blobs, ShortKey.blobChunk(17, chunk: 1).array, BytesValue(bytes), "fbe6fd8ef6fc74b968656c6c6f")
    try check(
      .blobInfo, ShortKey.blobInfo(17).array,
      BlobInfo(chunkCount: 1, referenceCount: 3, byteCount: 5, digest: 0x26C7_827D_889F_6DA3),
      "a66e171633387df5000000000100000003000000000000000500000000000000a36d9f887d82c726")
    try check(
      .blobInfo, ShortKey.blobInfo(17).array,
      BlobInfo(state: .pending, stager: 7, chunkCount: 0, referenceCount: 0, byteCount: 0, digest: 0),
      "b51faf7e3f4244f70100070000000000000000000000000000000000000000000000000000000000")
  }

  @Test func indexes() throws {
    var builder = IndexKeyBuilder(indexID: 0x0102, valueCount: 1)
    try builder.append("a")
    let key = builder.key(id)
    #expect(hex(key) == "0102016100000001000000000005")
    let empty = ValueEnvelope.emptyValue(seed: ValueEnvelope.seed(tableCode: .indexes, key: key))
    #expect(hex(withUnsafeBytes(of: empty) { Array($0) }) == "eb5b3147322298bf")
  }

  @Test func historyAndSnapshots() throws {
    try check(
      .changes, ShortKey.change(commit: 258, part: 1).array, ChangePart.inserted([.init(first: id, count: 100)]),
      "1a6b574ed9fb3916010000000100000005000000000001006400000000000000")
    let owner = ShortKey.object(id)
    let key = PreimageKey.encode(table: .objects(rootCode: 1), key: owner.bytes, epoch: 3)
    #expect(hex(key) == "800100010000000000050000000000000003")
    let seed = ValueEnvelope.seed(tableCode: .preimages, key: key)
    let previous = BytesValue(Array("xy".utf8)).encoded(
      seed: ValueEnvelope.seed(tableCode: .objects(rootCode: 1), key: owner))
    #expect(
      hex(PreimageView.encode(previous.span.bytes, seed: seed)) == "8ff4197b0dade023016747df31fd159cda7879")
    #expect(hex(PreimageView.encode(nil, seed: seed)) == "97067567bcb5d5d400")
    let snapshot = SnapshotValue(
      epoch: 2, commit: 3, created: 1.5, expires: 9, objectCount: 11, nextBlobSerial: 4, modelNumber: 5,
      nextLayoutID: 6, nextIndexID: 7, nextEntityCode: 8, watermarks: [])
    try check(
      .snapshots, Array("é".utf8), snapshot,
      """
      46b51b990c614d11000000000000000002000000000000000300000000000000000000000000f83f0000000000002240\
      0b00000000000000040000000000000005000600070008000000000000000000
      """)
  }

  @Test func branches() throws {
    var branch = BranchValue(
      number: 2, created: 1.5, expires: 9, lastCommit: 258,
      layers: [
        .init(code: 3, baseEpoch: 7, baseName: "@2"), .init(code: 5, baseEpoch: 9, baseName: "v1"),
      ], objectCounts: [.init(rootCode: 1, count: 11)])
    (branch.entryCount, branch.byteCount, branch.changedObjectCount) = (4, 500, 2)
    try check(
      .branches, Array("é".utf8), branch,
      """
      ecb22569a6b6b3fd0000000002000000000000000000f83f000000000000224002010000000000000400000000000000\
      f4010000000000000200000000000000020000000300000007000000000000000200000040320500000009000000000000\
      000200000076310100000001000b00000000000000
      """)
    #expect(TableCode.ofBranches.map(\.rawValue) == [13, 14])
    #expect(TableCode.ofBranches.map(\.name) == ["overlays", "branches"])
    #expect(TableCode(name: "overlays") == .overlays)
    #expect(TableCode(name: "branches") == .branches)
    var base = SnapshotValue(
      epoch: 2, commit: 3, created: 1.5, expires: 9, objectCount: 11, nextBlobSerial: 4, modelNumber: 5,
      nextLayoutID: 6, nextIndexID: 7, nextEntityCode: 8, watermarks: [])
    (base.isHidden, base.layerCount) = (true, 1)
    try check(
      .snapshots, Array("@2".utf8), base,
      """
      e448d103679b0c990c0000000000000002000000000000000300000000000000000000000000f83f0000000000002240\
      0b0000000000000004000000000000000500060007000800000000000000000001000000
      """)
  }

  @Test func overlays() throws {
    let owner = ShortKey.object(id)
    let key = OverlayKey.encode(layer: 3, table: .objects(rootCode: 1), key: owner.bytes)
    #expect(hex(key) == "0000000380010001000000000005")
    #expect(try OverlayKey.layer(of: key.span.bytes) == 3)
    #expect(try OverlayKey.table(of: key.span.bytes) == .objects(rootCode: 1))
    #expect(array(try OverlayKey.key(of: key.span.bytes)) == owner.array)
    #expect(key.withUnsafeBytes { OverlayKey.isOf(layer: 3, table: .objects(rootCode: 1), $0) })
    #expect(!key.withUnsafeBytes { OverlayKey.isOf(layer: 3, table: .objects(rootCode: 2), $0) })
    #expect(!key.withUnsafeBytes { OverlayKey.isOf(layer: 4, table: .objects(rootCode: 1), $0) })
    let seed = ValueEnvelope.seed(tableCode: .overlays, key: key)
    let value = BytesValue(Array("xy".utf8)).encoded(
      seed: ValueEnvelope.seed(tableCode: .objects(rootCode: 1), key: owner))
    #expect(
      hex(PreimageView.encode(value.span.bytes, seed: seed)) == "59aca60f5fca3c25016747df31fd159cda7879")
    #expect(hex(PreimageView.encode(nil, seed: seed)) == "628bf9c7149288bd00")
    for count in 0...OverlayKey.prefixLength {
      #expect(throws: RecordError.badKey) { _ = try OverlayKey.layer(of: key.span.bytes.extracting(first: count)) }
    }
    let end = ReusedBytes()
    OverlayKey.writeEnd(layer: 3, table: TableCode(rawValue: .max), to: end)
    #expect(hex(Array(end.bytes)) == "000000040000")
    OverlayKey.writeEnd(layer: .max, table: TableCode(rawValue: .max), to: end)
    #expect(end.bytes.isEmpty)
  }

  /// A count of zero layers, and flags of a later version.
  @Test func refusedBranches() throws {
    let branch = BranchValue(
      number: 1, created: 0, lastCommit: 0, layers: [.init(code: 2, baseEpoch: 1, baseName: "")], objectCounts: [])
    let bytes = unchecked(branch)
    #expect(try BranchValue(stored: bytes, seed: 0) == branch)
    for (place, error) in [(8, RecordError.badFlag), (12, .outOfRange), (64, .badCount), (68, .outOfRange)] {
      var changed = Array(bytes[8...])
      changed[place - 8] = place == 8 || place == 64 ? 0xFF : 0
      let sealed = ValueEnvelope.encode(changed, seed: 0)
      #expect(throws: error, "byte \(place)") { _ = try BranchValue(stored: sealed, seed: 0) }
    }
  }

  @Test func savedKeys() throws {
    let place = SavedKeysKey(epoch: 3, commit: 258, part: 1)
    #expect(hex(place.bytes.array) == "00000000000000000003000000000000010200000001")
    #expect(try SavedKeysKey(place.bytes.bytes) == place)
    var list = PreimageKeys()
    let owner = ShortKey.object(id)
    owner.withUnsafeBytes { list.append(.objects(rootCode: 1), $0, byteCount: 100) }
    Array("abc".utf8).withUnsafeBytes { list.append(.indexes, $0, byteCount: 200) }
    let seed = ValueEnvelope.seed(tableCode: .preimages, key: place.bytes)
    var stored: [UInt8] = []
    list.take(seed: seed) { bytes in stored = bytes.withUnsafeBytes { Array($0) } }
    #expect(
      hex(stored) == "3dd2a6f28db687172c010000000000000200000001800800000100000000000505000300616263")
    let isEmptyAgain = list.isEmpty
    #expect(isEmptyAgain)
    var found: [String] = []
    let view = try SavedKeysView(stored.span.bytes, seed: seed)
    view.forEach { table, key in found.append("\(table.rawValue) \(hex(key.withUnsafeBytes { Array($0) }))") }
    let byteCount = view.byteCount
    #expect(byteCount == 300)
    #expect(found == ["32769 0001000000000005", "5 616263"])
    for count in 8..<stored.count {
      let cut = ValueEnvelope.encode(Array(stored[8..<count]), seed: seed)
      #expect(throws: RecordError.self) { _ = try SavedKeysView(cut.span.bytes, seed: seed).count }
    }
  }

  @Test func operations() throws {
    let key = ShortKey.object(id).array
    try check(
      .provenance, key, ProvenanceValue(source: other, commit: 6, operation: 7),
      "a857b0757b0872600900000000000100060000000000000007000000000000000000000000000000")
    try check(
      .operations, Array("key-1".utf8),
      OperationValue(commit: 6, time: 1.5, roots: [id], argumentDigest: [1, 2]),
      """
      c142b3bdaec90c0200000000010000000600000000000000000000000000f83f000000000000f87f0500000000000100\
      02000000010200000000
      """)
    try check(
      .redirects, key, RedirectValue(target: other, commit: 6), "d2a40ee7c165553b09000000000001000600000000000000")
  }

  /// A field of every kind, none of them nil: list heads inline and chunked, variable values in the record and as
  /// blobs.
  @Test func objectWithEveryKind() throws {
    let kinds: [FieldKind] = [
      .boolean, .integer16, .integer32, .integer64, .float, .double, .date, .decimal, .uuid, .toOne, .toMany, .toMany,
      .string, .uri, .binary, .transformable, .binary, .transformable,
    ]
    let layout = RecordLayout(
      id: 2, entityCode: 9,
      fields: kinds.enumerated().map { .init(propertyCode: UInt16($0.offset + 1), kind: $0.element) })
    #expect(
      hex(layout.encoded(seed: Golden.seed)) == """
        3e44205d4565a1090200090012000000090009000400040006000600070007000a000a000b000b000c000b0008000800\
        03000300050005000d000c000e000d000f000e0010000f0011000e0012000f000200020001000100
        """)
    let root2 = 2 << 48 as UInt64
    let values: [UInt16: AttributeValue] = [
      1: true, 2: -3, 3: -2, 4: -5, 5: .float(0.5), 6: .double(-0.0),
      7: .date(Date(timeIntervalSinceReferenceDate: 1.5)), 8: .decimal(Decimal(-15) / 100), 9: .uuid(Example.uuid),
      13: "ü", 14: .uri("x:y"), 15: .binary(Data([0, 1, 2])), 16: .transformable(Data("tr".utf8)),
      17: .blob(BlobReference(id: 21, byteCount: 2000)),
      18: .blob(BlobReference(id: 22, byteCount: 3000, isTransformable: true)),
    ]
    var buffer = RecordBuffer(layout: layout)
    func field(_ code: UInt16) throws -> Int { try #require(layout.fieldIndex(ofProperty: code)) }
    for (code, value) in values { try buffer.set(try field(code), value) }
    buffer.setToOne(try field(10), ObjectID(rawValue: root2 | 3))
    try buffer.setInlineIDs(try field(11), [ObjectID(rawValue: root2 | 4), ObjectID(rawValue: root2 | 5)])
    buffer.setHead(
      try field(12), ListHead(count: 6000, isChunked: true, hasMemberIndex: true, hasDirectory: true))
    let seed = ValueEnvelope.seed(object: ObjectID(rawValue: root2 | 9))
    buffer.seal(commit: 7, seed: seed)
    let bytes = array(buffer.bytes)
    #expect(
      hex(bytes) == """
        e9daf8b3d77b30d4070000000000000002000900cc000000000000000102030405060708090a0b0c0d0e0ffbffffffff\
        ffffff0000000000000080000000000000f83f0300000000000200020000000000000070170000000007000f00000000\
        0000000000000000000000fe010000feffffff0000003f0200000005000000080000000a0000001a0000802a000080fd\
        ff0104000000000002000500000000000200c3bc783a7900010274721500000000000000d00700000000000016000000\
        00000000b80b000000000000
        """)
    let view = try RecordView(bytes.span.bytes, layout: layout, seed: seed)
    for (code, value) in values {
      let index = try field(code)
      let read = try view.value(index)
      #expect(read == value, "property \(code)")
    }
  }
}
