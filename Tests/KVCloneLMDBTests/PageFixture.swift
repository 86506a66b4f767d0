import Foundation
import Testing

@testable import KVCloneLMDB

/// A closed store with trees of several levels, large values, a long free list and overwritten large values; and ways
/// to corrupt copies of its file.
final class PageFixture {
  let store: TemporaryStore
  let sound: [UInt8]
  static let names = ["alpha", "beta", "empty", "tiny"]

  init(seed: UInt64 = 1, rounds: Int = 4, entries: Int = 1500) throws {
    store = try TemporaryStore()
    let environment = try store.create(Self.names)
    try Self.fill(environment, seed: seed, rounds: rounds, entries: entries)
    environment.close()
    sound = [UInt8](try Data(contentsOf: URL(fileURLWithPath: store.data)))
  }

  /// Random puts, replacements, deletes, spills and aborts.
  static func fill(_ environment: LMDBEnvironment, seed: UInt64, rounds: Int, entries: Int) throws {
    var generator = SeededGenerator(seed: seed)
    let tables = try names.map { try environment.table(named: $0) }
    for round in 0..<rounds {
      var writer = try environment.beginWrite()
      for _ in 0..<entries {
        let table = tables[Int(generator.next() % 2)]
        let key = key(generator.next() % UInt64(entries), &generator)
        if generator.next() % 3 == 0 {
          _ = try writer.delete(table, key.span.bytes)
        } else {
          let isLong = generator.next() % 25 == 0
          let value = [UInt8](
            repeating: UInt8(truncatingIfNeeded: generator.next()),
            count: Int(generator.next() % (isLong ? 30_000 : 250)))
          try writer.put(table, key.span.bytes, value.span.bytes)
          // A shorter large value stays on its longer run of pages, even a short one.
          if isLong, generator.next() % 2 == 0 {
            let shorter = [UInt8](value.prefix(Int(generator.next() % 3000)))
            try writer.put(table, key.span.bytes, shorter.span.bytes)
          }
        }
        if generator.next() % 400 == 0 { try writer.spill() }
      }
      try writer.put(tables[3], "only", "value \(round)")
      if round % 3 == 2 { writer.abort() } else { try writer.commit() }
    }
  }

  /// Keys of several lengths; the number determines the length, so that equal numbers have equal keys.
  static func key(_ number: UInt64, _ generator: inout SeededGenerator) -> [UInt8] {
    let bytes = withUnsafeBytes(of: number.bigEndian) { Array($0) }
    return switch number % 4 {
    case 0: bytes
    case 1: Array(bytes.suffix(3))
    case 2: bytes + [UInt8](repeating: 7, count: Int(number % 60))
    default: [0xFF] + bytes
    }
  }

  // MARK: Corruption

  /// Writes a changed copy over the file, and walks over it.
  func walk(_ change: (inout [UInt8]) -> Void) throws -> PageMap {
    var bytes = sound
    change(&bytes)
    try Data(bytes).write(to: URL(fileURLWithPath: store.data))
    try store.setMode(0o600, store.data)
    return try PageFile(at: store.path).walk()
  }

  /// The state of the sound file.
  func soundMap() throws -> (file: PageFile, map: PageMap) {
    _ = try walk { _ in }
    let file = try PageFile(at: store.path)
    return (file, try file.walk())
  }

  /// Pages of a kind that belong to a table, found by their headers along its tree.
  func pages(_ table: String, flag: Int) throws -> [Int] {
    let map = try walk { _ in }
    let index = try #require(map.table(table))
    var found: [Int] = []
    var next = [Int(map.tables[index].tree.root)]
    while let page = next.popLast() {
      let flags = word16(page * 4096 + 10)
      if flags == flag { found.append(page) }
      for node in nodes(page) {
        if flags == PageView.branchFlag { next.append(child(node)) }
        if flags == PageView.leafFlag, flag == PageView.overflowFlag, word16(node + 4) == 1 {
          found.append(word64(node + 8 + word16(node + 6)))
        }
      }
    }
    return found.sorted()
  }

  /// The offsets of a page's nodes in the file.
  func nodes(_ page: Int) -> [Int] {
    let base = page * 4096
    return (0..<(word16(base + 12) - 16) / 2).map { base + word16(base + 16 + 2 * $0) }
  }

  func child(_ node: Int) -> Int { word16(node) | word16(node + 2) << 16 | word16(node + 4) << 32 }
  func word16(_ offset: Int) -> Int { Int(sound[offset]) | Int(sound[offset + 1]) << 8 }
  func word64(_ offset: Int) -> Int { (0..<4).reduce(0) { $0 | word16(offset + 2 * $1) << (16 * $1) } }

  /// The meta page of the newer commit.
  var meta: Int { word64(144) > word64(4096 + 144) ? 0 : 1 }
}

extension [UInt8] {
  mutating func put16(_ value: Int, at offset: Int) {
    self[offset] = UInt8(truncatingIfNeeded: value)
    self[offset + 1] = UInt8(truncatingIfNeeded: value >> 8)
  }

  mutating func put64(_ value: Int, at offset: Int) {
    for index in 0..<8 { self[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index)) }
  }
}
