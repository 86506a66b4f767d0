import Foundation
import Testing

@testable import KVCloneLMDB

/// Reading a file without LMDB returns the same as LMDB, in bounded memory.
@Suite struct PageReaderTests {
  @Test(arguments: [1, 2, 3] as [UInt64]) func agreesWithLMDB(seed: UInt64) throws {
    let store = try TemporaryStore()
    let environment = try store.create(PageFixture.names)
    try PageFixture.fill(environment, seed: seed, rounds: 5, entries: 1500)
    let file = try PageFile(pinning: environment)
    let map = try file.walk()
    let reader = try PageReader(file, map)
    let transaction = try environment.beginRead()
    var generator = SeededGenerator(seed: seed)
    for (index, name) in PageFixture.names.enumerated() {
      let table = try environment.table(named: name)
      for _ in 0..<500 {
        let key = PageFixture.key(generator.next() % 1600, &generator)
        let value = try key.withUnsafeBytes { try reader.get(index, $0) }.map { Array($0) }
        let expected = try transaction.bytes(table, key)
        #expect(value == expected, "seed \(seed)")
        for isBefore in [false, true] {
          let found = try key.withUnsafeBytes { try reader.seek(index, $0, atOrBefore: isBefore) }
          let wanted = try transaction.pointers.entry(table, key, isBefore ? .atOrBefore : .atOrAfter)
          #expect((found.map { Array($0.key) }) == wanted?.key, "seed \(seed)")
          #expect((found.map { Array($0.value) }) == wanted?.value, "seed \(seed)")
        }
      }
      for _ in 0..<20 {
        let key = PageFixture.key(generator.next() % 1600, &generator)
        let limit = Int(generator.next() % 300)
        var found: [[UInt8]] = []
        try key.withUnsafeBytes { key in
          try reader.scan(index, from: key) { entry in
            found += [Array(entry.key), Array(entry.value)]
            return found.count < 2 * limit
          }
        }
        var expected: [[UInt8]] = []
        try transaction.scan(table, from: key.span.bytes) { key, value in
          expected += [key.withUnsafeBytes { Array($0) }, value.withUnsafeBytes { Array($0) }]
          return expected.count < 2 * limit
        }
        #expect(found == expected, "seed \(seed)")
      }
    }
  }

  /// Bytes that were read stay valid until their scope ends, regardless of later reads; more bytes than the cache
  /// holds.
  @Test func bytesStayValidUntilTheirScopeEnds() throws {
    let store = try TemporaryStore()
    let environment = try store.create(["a"])
    let table = try environment.table(named: "a")
    var writer = try environment.beginWrite()
    for number in 0..<12_000 {
      let value = [UInt8](repeating: UInt8(number % 251), count: number % 1000 == 0 ? 10_000 : 1900)
      try writer.append(table, SpillTests.key(UInt64(number)).span.bytes, value.span.bytes)
    }
    try writer.commit()
    let file = try PageFile(pinning: environment)
    let reader = try PageReader(file, try file.walk())
    func get(_ number: Int) throws -> UnsafeRawBufferPointer {
      try #require(try SpillTests.key(UInt64(number)).withUnsafeBytes { try reader.get(0, $0) })
    }
    func isRight(_ bytes: UnsafeRawBufferPointer, _ number: Int) -> Bool {
      bytes.allSatisfy { $0 == UInt8(number % 251) }
    }
    let outer = try stride(from: 0, to: 12_000, by: 3).map { ($0, try get($0)) }
    var wrong = 0
    try SpillTests.key(0).withUnsafeBytes { start in
      try reader.scan(0, from: start) { entry in
        let number = Int(UInt64(bigEndian: entry.key.loadUnaligned(as: UInt64.self)))
        let inner = (0..<3).compactMap { offset in
          let other = (number * 7 + offset * 4001) % 12_000
          return (try? get(other)).map { (other, $0) }
        }
        if inner.count != 3 || !inner.allSatisfy({ isRight($0.1, $0.0) }) { wrong += 1 }
        if !isRight(entry.value, number) { wrong += 1 }
        return true
      }
    }
    #expect(wrong == 0)
    #expect(outer.allSatisfy { isRight($0.1, $0.0) })
  }

  @Test func hollowValuesHaveTheirLengthAndNoBytes() throws {
    let store = try TemporaryStore()
    let environment = try store.create(["a"])
    let table = try environment.table(named: "a")
    var writer = try environment.beginWrite()
    let value = [UInt8](repeating: 9, count: 100_000)
    let short = [UInt8](repeating: 9, count: 100)
    try writer.put(table, SpillTests.key(1).span.bytes, value.span.bytes)
    try writer.put(table, SpillTests.key(2).span.bytes, short.span.bytes)
    try writer.commit()
    let file = try PageFile(pinning: environment)
    let reader = try PageReader(file, try file.walk())
    reader.hollowTable = 0
    var found: [(Int, UInt8?)] = []
    try SpillTests.key(0).withUnsafeBytes { start in
      try reader.scan(0, from: start) { entry in
        found.append((entry.value.count, entry.value.first))
        return true
      }
    }
    #expect(found.map(\.0) == [100_000, 100] && found.map(\.1) == [0, 9])
    let whole = try SpillTests.key(1).withUnsafeBytes { try reader.get(0, $0) }
    #expect(whole.map { Array($0) } == value)
  }
}
