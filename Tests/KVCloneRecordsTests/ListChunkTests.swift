import KVCloneModel
import KVCloneRecords
import Testing

@Suite struct ListChunkTests {
  private let ids = [ObjectID(rawValue: 1 << 48 | 5), ObjectID(rawValue: 1 << 48 | 9)]

  private func decode(_ bytes: [UInt8], at position: UInt64?) throws(RecordError) -> [ObjectID] {
    try ListChunk(bytes.span.bytes, seed: Golden.seed, unorderedAt: position).ids.array
  }

  @Test func goldenBytes() throws {
    let bytes = ListChunk.encode(ids, seed: Golden.seed)
    #expect(hex(bytes) == Golden.chunk)
    #expect(try decode(bytes, at: ids[0].rawValue) == ids)
    #expect(try decode(bytes, at: nil) == ids)
    for bit in 0..<bytes.count * 8 {
      var damaged = bytes
      damaged[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: RecordError.checksumMismatch) { try decode(damaged, at: nil) }
    }
  }

  @Test func unorderedChunksAscendFromTheirPosition() {
    let reversed = ListChunk.encode(ids.reversed(), seed: Golden.seed)
    #expect(throws: Never.self) { try decode(reversed, at: nil) }
    #expect(throws: RecordError.badOrder) { try decode(reversed, at: ids[1].rawValue) }
    let good = ListChunk.encode(ids, seed: Golden.seed)
    #expect(throws: RecordError.badOrder) { try decode(good, at: ids[1].rawValue) }
    let twice = ListChunk.encode([ids[0], ids[0]], seed: Golden.seed)
    #expect(throws: RecordError.badOrder) { try decode(twice, at: ids[0].rawValue) }
  }

  @Test func countsAndLengthsAreChecked() {
    func error(_ payload: [UInt8]) -> RecordError? {
      do {
        _ = try decode(ValueEnvelope.encode(payload, seed: Golden.seed), at: nil)
        return nil
      } catch {
        return error
      }
    }
    #expect(error([1, 0]) == .tooShort)
    #expect(error([0, 0, 0, 0]) == .badCount)
    #expect(error([129, 0, 0, 0] + [UInt8](repeating: 0, count: 129 * 8)) == .badCount)
    #expect(error([128, 0, 0, 0] + [UInt8](repeating: 0, count: 128 * 8)) == nil)
    #expect(error([1, 0, 0, 0] + [UInt8](repeating: 0, count: 7)) == .wrongLength)
    #expect(error([1, 0, 1, 0] + [UInt8](repeating: 0, count: 8)) == .badFlag)
  }

  @Test func searchesAgainstAnArray() throws {
    var generator = SeededGenerator(8)
    for count in [1, 2, 3, 16, 127, 128] {
      let numbers = Set((0..<count).map { _ in UInt64.random(in: 1...300, using: &generator) }).sorted()
      let members = numbers.map { ObjectID(rawValue: $0) }
      let bytes = ListChunk.encode(members, seed: 1)
      let chunk = try ListChunk(bytes.span.bytes, seed: 1, unorderedAt: members[0].rawValue)
      for id in (0...301).map({ ObjectID(rawValue: $0) }) {
        let bound = chunk.ids.lowerBound(of: id)
        #expect(bound == members.firstIndex { $0 >= id } ?? members.count, "seed 8")
        let first = chunk.ids.firstIndex(of: id)
        #expect(first == members.firstIndex(of: id), "seed 8")
      }
    }
  }

  @Test func directoryPagesAscend() {
    let page = DirectoryPage([.init(label: 9, memberCount: 1), .init(label: 1, memberCount: 1)])
    #expect(throws: RecordError.badOrder) { try DirectoryPage(stored: unchecked(page), seed: 0) }
    let empty = ValueEnvelope.encode([0, 0, 0, 0], seed: 1)
    #expect(throws: RecordError.badCount) { try DirectoryPage(stored: empty, seed: 1) }
  }
}
