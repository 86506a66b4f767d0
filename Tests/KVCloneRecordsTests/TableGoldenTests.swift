import KVCloneModel
import KVCloneRecords
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One row of every table and every name of `metadata`, each bound to its table and key as in a file. The bytes were
/// computed from Format.md by another program (Python, with an XXH64 of its own).
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
    try check(
      MetadataKey.format, "format", FormatRecord(storeUUID: Example.uuid, created: 1.5),
      "c6a52ef91262e8fa0100000001000000000102030405060708090a0b0c0d0e0f000000000000f83f")
    try check(MetadataKey.commitCounter, "commit", CounterValue(258), "7d38e282449a284e0201000000000000")
    try check(MetadataKey.epoch, "epoch", CounterValue(3), "f6b8ae924c5d976d0300000000000000")
    try check(MetadataKey.blobSerial, "blob-serial", CounterValue(17), "d6be67143352dc3b1100000000000000")
    try check(
      MetadataKey.serial(rootCode: 0x1A), "serial-001a", CounterValue(1 << 40), "a91f40d3c340229d0000000000010000")
    try check(MetadataKey.catalog, "catalog", CounterValue(2), "1f90ce998c7d50460200000000000000")
    try check(
      MetadataKey.model(2), "model-0002", BytesValue(Array(#"{"codes":{}}"#.utf8)),
      "e9f19b9dda1de36e7b22636f646573223a7b7d7d")
    try check(
      StagingKey.name(blobSerial: 17), "staged-0000000000000011", CounterValue(7), "229d9cc6e792f7e50700000000000000")
    try check(
      MetadataKey.layout(3), "layout-0003",
      RecordLayout(id: 3, entityCode: 4, fields: [.init(propertyCode: 9, kind: .uuid)]),
      "9f1fe7d1894b6bbf030004000100000009000900")
  }

  @Test func lists() throws {
    func key(_ kind: LinkKey.Kind, _ position: UInt64) -> [UInt8] {
      ShortKey.link(LinkKey(owner: id, relationship: 7, kind: kind, position: position)).array
    }
    let seed = ValueEnvelope.seed(tableCode: .links, key: key(.chunk, id.rawValue))
    let chunk = ListChunk.encode([id, other], seed: seed)
    #expect(hex(chunk) == "70e8b648899602060200000005000000000001000900000000000100")
    let ids = try ListChunk(chunk.span.bytes, seed: seed, unorderedAt: id.rawValue).ids.array
    #expect(ids == [id, other])
    try check(
      .links, key(.memberIndex, other.rawValue), MemberIndexValue(label: 1 << 63), "33d9c94aa0441a700000000000000080")
    try check(
      .links, key(.positionDirectory, 1 << 63),
      DirectoryPage([.init(label: 1 << 63, memberCount: 128), .init(label: 1 << 63 + 1 << 32, memberCount: 3)]),
      "df1ee44ea8243f2202000000000000000000008080000000000000000100008003000000")
  }

  @Test func blobs() throws {
    let bytes = Array("hello".utf8)
    try check(.blobs, ShortKey.blobChunk(17, chunk: 1).array, BytesValue(bytes), "2ab069991f70b06a68656c6c6f")
    try check(
      .blobInfo, ShortKey.blobInfo(17).array,
      BlobInfo(chunkCount: 1, referenceCount: 3, byteCount: 5, digest: 0x26C7_827D_889F_6DA3),
      "0c7cbe57efc233f3000000000100000003000000000000000500000000000000a36d9f887d82c726")
    try check(
      .blobInfo, ShortKey.blobInfo(17).array,
      BlobInfo(state: .pending, stager: 7, chunkCount: 0, referenceCount: 0, byteCount: 0, digest: 0),
      "9ad80757cae36c8a0100070000000000000000000000000000000000000000000000000000000000")
  }

  @Test func indexes() throws {
    var builder = IndexKeyBuilder(indexID: 0x0102, valueCount: 1)
    try builder.append("a")
    let key = builder.key(id)
    #expect(hex(key) == "0102016100000001000000000005")
    let empty = ValueEnvelope.emptyValue(seed: ValueEnvelope.seed(tableCode: .indexes, key: key))
    #expect(hex(withUnsafeBytes(of: empty) { Array($0) }) == "6f939b2c359b08ed")
  }

  @Test func historyAndSnapshots() throws {
    try check(
      .changes, ShortKey.change(commit: 258, part: 1).array, ChangePart.inserted([.init(first: id, count: 100)]),
      "6aee6712494171f2010000000100000005000000000001006400000000000000")
    let owner = ShortKey.object(id)
    let key = PreimageKey.encode(epoch: 3, table: .objects(rootCode: 1), key: owner.bytes)
    #expect(hex(key) == "000000000000000380010001000000000005")
    let seed = ValueEnvelope.seed(tableCode: .preimages, key: key)
    let previous = BytesValue(Array("xy".utf8)).encoded(
      seed: ValueEnvelope.seed(tableCode: .objects(rootCode: 1), key: owner))
    #expect(
      hex(PreimageView.encode(previous.span.bytes, seed: seed)) == "c92b22afe36eb9cb01225cdf8cd30b82017879")
    #expect(hex(PreimageView.encode(nil, seed: seed)) == "7d4e3eb46c2699a500")
    let snapshot = SnapshotValue(
      epoch: 2, commit: 3, created: 1.5, expires: 9, nextBlobSerial: 4, modelNumber: 5, nextLayoutID: 6, nextIndexID: 7,
      nextEntityCode: 8, watermarks: [])
    try check(
      .snapshots, Array("é".utf8), snapshot,
      """
      b9a3b7a7eb372453000000000000000002000000000000000300000000000000000000000000f83f0000000000002240\
      040000000000000005000600070008000000000000000000
      """)
  }

  @Test func operations() throws {
    let key = ShortKey.object(id).array
    try check(
      .provenance, key, ProvenanceValue(source: other, commit: 6, operation: 7),
      "45584c0efe4b6fb80900000000000100060000000000000007000000000000000000000000000000")
    try check(
      .operations, Array("key-1".utf8),
      OperationValue(commit: 6, time: 1.5, roots: [id], argumentDigest: [1, 2]),
      """
      821756cfa01d649d00000000010000000600000000000000000000000000f83f000000000000f87f0500000000000100\
      02000000010200000000
      """)
    try check(
      .redirects, key, RedirectValue(target: other, commit: 6), "a529fd0b0e44dd9309000000000001000600000000000000")
  }

  /// A field of every kind, none of them nil: list heads inline and chunked, variable values in the record and as blobs.
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
        67859b9c32868ed40200090012000000090009000400040006000600070007000a000a000b000b000c000b0008000800\
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
        f3ded5511d5fceed070000000000000002000900cc000000000000000102030405060708090a0b0c0d0e0ffbffffffff\
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
