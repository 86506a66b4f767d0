import KVCloneModel
import Testing

@testable import KVCloneRecords

@Suite struct KeyTests {
  let owner = ObjectID(rawValue: 0x0102_0304_0506_0708)

  @Test func goldenBytes() {
    #expect(hex(ShortKey.object(owner).array) == "0102030405060708")
    #expect(hex(ShortKey.blobInfo(258).array) == "0000000000000102")
    #expect(hex(ShortKey.blobChunk(258, chunk: 0x0A0B_0C0D).array) == "00000000000001020a0b0c0d")
    #expect(hex(ShortKey.change(commit: 258, part: 1).array) == "000000000000010200000001")
    let link = LinkKey(owner: owner, relationship: 0x1112, kind: .memberIndex, position: 0x2122_2324_2526_2728)
    #expect(hex(ShortKey.link(link).array) == "01020304050607081112012122232425262728")
    #expect(hex(ShortKey.linkPrefix(owner: owner).array) == "0102030405060708")
    #expect(hex(ShortKey.linkPrefix(owner: owner, relationship: 0x1112).array) == "01020304050607081112")
    #expect(
      hex(ShortKey.linkPrefix(owner: owner, relationship: 0x1112, kind: .positionDirectory).array)
        == "0102030405060708111202")
    let key = ShortKey.object(owner)
    let preimage = PreimageKey.encode(table: .links, key: key.bytes, epoch: 3)
    #expect(hex(preimage) == "000201020304050607080000000000000003")
  }

  @Test func parsersReadWhatBuildersWrite() throws {
    let link = LinkKey(owner: owner, relationship: 7, kind: .positionDirectory, position: .max)
    let key = ShortKey.link(link)
    #expect(try LinkKey(key.bytes) == link)
    let chunk = ShortKey.blobChunk(9, chunk: 8)
    let (number, part) = try NumberKey.numberAndPart(chunk.bytes)
    #expect(number == 9 && part == 8)
    let object = ShortKey.object(owner)
    #expect(try NumberKey.objectID(object.bytes) == owner)
    let preimage = PreimageKey.encode(table: .objects(rootCode: 2), key: key.bytes, epoch: 3)
    #expect(try PreimageKey.epoch(of: preimage.span.bytes) == 3)
    #expect(try PreimageKey.table(of: preimage.span.bytes) == .objects(rootCode: 2))
    #expect(array(try PreimageKey.key(of: preimage.span.bytes)) == key.array)
  }

  @Test func parsersRefuseOtherLengthsAndKinds() {
    for length in 0...40 where length != 19 {
      let bytes = [UInt8](repeating: 0, count: length)
      #expect(throws: RecordError.badKey) { try LinkKey(bytes.span.bytes) }
      if length != 8 { #expect(throws: RecordError.badKey) { try NumberKey.objectID(bytes.span.bytes) } }
      if length != 12 {
        #expect(throws: RecordError.badKey) { _ = try NumberKey.numberAndPart(bytes.span.bytes).part }
      }
      if length <= 10 { #expect(throws: RecordError.badKey) { try PreimageKey.epoch(of: bytes.span.bytes) } }
      if length <= 10 { #expect(throws: RecordError.badKey) { try IndexKey.indexID(of: bytes.span.bytes) } }
    }
    var bytes = [UInt8](repeating: 0, count: 19)
    bytes[10] = 3
    #expect(throws: RecordError.badKey) { try LinkKey(bytes.span.bytes) }
  }

  @Test func orderOfShortKeysIsThatOfTheirBytes() {
    var generator = SeededGenerator(2)
    for _ in 0..<3000 {
      // Few different bytes, so that prefixes and equal keys occur.
      let bytes = (0..<2).map { _ in
        (0..<Int.random(in: 0...24, using: &generator)).map { _ in UInt8.random(in: 0...1, using: &generator) }
      }
      let first = bytes[0]
      let second = bytes[1]
      let left = shortKey(first)
      let right = shortKey(second)
      #expect(left.array == first)
      #expect((left < right) == first.lexicographicallyPrecedes(second), "seed 2")
      #expect((left == right) == (first == second), "seed 2")
    }
  }

  private func shortKey(_ bytes: [UInt8]) -> ShortKey {
    let words = (0..<3).map { word in
      (0..<8).reduce(into: UInt64(0)) { $0 = $0 << 8 | UInt64(8 * word + $1 < bytes.count ? bytes[8 * word + $1] : 0) }
    }
    return ShortKey(words[0], words[1], words[2], count: bytes.count)
  }

  @Test func tableCodesAndNamesAreOneToOne() {
    let names = [
      "metadata", "links", "blobs", "blobinfo", "indexes", "changes", "preimages", "snapshots", "provenance",
      "operations", "redirects",
    ]
    #expect(TableCode.fixed.map(\.name) == names)
    #expect(TableCode.fixed.map(\.rawValue) == Array(1...11))
    #expect(TableCode.objects(rootCode: 0x1A).name == "objects-001a")
    #expect(TableCode(name: "objects-001a") == .objects(rootCode: 0x1A))
    #expect(TableCode.objects(rootCode: 0x1A).rawValue == 0x801A)
    for name in ["", "objects-", "objects-1a", "objects-001A", "objects-0000", "objects-8000", "objects-+001", "x"] {
      #expect(TableCode(name: name) == nil, "\(name)")
    }
    #expect(TableCode(rawValue: 0x8000).name == nil)
    #expect(MetadataKey.serial(rootCode: 1) == "serial-0001")
  }

  @Test func endOfAPrefix() {
    #expect(KeyRange.end(ofPrefix: [1, 2]) == [1, 3])
    #expect(KeyRange.end(ofPrefix: [1, 0xFF, 0xFF]) == [2])
    #expect(KeyRange.end(ofPrefix: [0xFF]) == nil)
    #expect(KeyRange.end(ofPrefix: []) == nil)
  }
}
