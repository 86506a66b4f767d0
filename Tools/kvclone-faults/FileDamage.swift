import Foundation

/// Ways to corrupt a data file, or to replace it with a file that is not a store.
enum FileDamage: String, CaseIterable, Sendable {
  case truncated, cutAtPage, metaBit, metaField, headerByte, headerField, nodeField, circle, bit, zeroPage, swappedPages
  case copiedPage, garbage, several, foreign

  var title: String {
    switch self {
    case .truncated: "file truncated at any byte"
    case .cutAtPage: "file truncated at a page boundary"
    case .metaBit: "bit flip in a meta page"
    case .metaField: "hostile field in a meta page"
    case .headerByte: "random byte in a page header"
    case .headerField: "hostile field in a page header"
    case .nodeField: "hostile field in a node"
    case .circle: "wrong child page number"
    case .bit: "bit flip anywhere"
    case .zeroPage: "zeroed page"
    case .swappedPages: "two swapped pages"
    case .copiedPage: "page overwritten with another page"
    case .garbage: "range of random bytes"
    case .several: "several of these at once"
    case .foreign: "file that is not a store"
    }
  }

  /// Whether the catalog stays intact; without it nothing can be salvaged.
  var keepsCatalog: Bool { self == .metaBit || self == .metaField }

  /// - Returns: the complete file, which always differs from the original.
  func applied(to map: StoreFileMap, _ random: inout SeededGenerator) -> [UInt8] {
    // Some changes write the bytes that are already there.
    while true {
      let bytes = attempted(on: map, &random)
      if bytes != map.bytes { return bytes }
    }
  }

  private func attempted(on map: StoreFileMap, _ random: inout SeededGenerator) -> [UInt8] {
    var bytes = map.bytes
    switch self {
    case .foreign: return Self.foreign(map, &random)
    case .several:
      // Kinds that keep the length of the file can be combined.
      let kinds: [FileDamage] = [.headerByte, .headerField, .nodeField, .circle, .bit, .zeroPage, .garbage]
      for _ in 0..<2 + random.below(20) { random.element(kinds)?.change(&bytes, map, &random) }
    default: change(&bytes, map, &random)
    }
    return bytes
  }

  private func change(_ bytes: inout [UInt8], _ map: StoreFileMap, _ random: inout SeededGenerator) {
    let size = StoreFileMap.pageSize
    let pages = bytes.count / size
    guard let page = random.element(map.treePages), let other = random.element(map.treePages + map.valuePages) else {
      return
    }
    switch self {
    case .truncated: bytes.removeLast(bytes.count - random.below(bytes.count))
    case .cutAtPage: bytes.removeLast(bytes.count - random.below(pages) * size)
    case .metaBit: Self.flip(&bytes, at: random.below(2) * size + random.below(152), &random)
    case .metaField:
      Self.put(&bytes, at: random.below(2) * size + 8 * random.below(19), width: 8, map, &random)
    case .headerByte: bytes[(random.chance(50) ? page : other) * size + random.below(64)] = UInt8(random.below(256))
    case .headerField:
      Self.put(&bytes, at: other * size + (random.element([0, 8, 10, 12, 14]) ?? 0), width: 2, map, &random)
    case .nodeField:
      guard let node = Self.node(of: page, map, &random) else { return }
      // Fields of a node: size or page number, flags, key size, key; after the key, the number of the overflow page.
      let keyEnd = 8 + map.word16(node + 6)
      Self.put(
        &bytes, at: node + (random.element([0, 4, 6, 8, keyEnd]) ?? 0), width: random.chance(50) ? 2 : 4, map, &random)
    case .circle:
      guard
        let branch = random.element(map.treePages.filter { map.word16($0 * size + 10) == 1 }) ?? random.element([page]),
        let node = Self.node(of: branch, map, &random)
      else { return }
      let target = random.element([branch, page, other, map.treePages[0], 0, 1, pages, pages + 1000]) ?? 0
      for index in 0..<4 { bytes[node + index] = UInt8(truncatingIfNeeded: target >> (8 * index)) }
    case .bit: Self.flip(&bytes, at: 2 * size + random.below(bytes.count - 2 * size), &random)
    case .zeroPage: for offset in other * size..<(other + 1) * size { bytes[offset] = 0 }
    case .swappedPages, .copiedPage:
      for offset in 0..<size {
        let byte = bytes[page * size + offset]
        if self == .swappedPages { bytes[page * size + offset] = bytes[other * size + offset] }
        // The copy keeps its page number, so it looks like the page expected at its position.
        if self == .swappedPages || offset >= 8 { bytes[other * size + offset] = byte }
      }
    case .garbage:
      let start = random.below(bytes.count)
      for offset in start..<min(bytes.count, start + 1 + random.below(20_000)) {
        bytes[offset] = UInt8(truncatingIfNeeded: random.next())
      }
    case .several, .foreign: break
    }
  }

  private static func flip(_ bytes: inout [UInt8], at offset: Int, _ random: inout SeededGenerator) {
    bytes[offset] ^= 1 << UInt8(random.below(8))
  }

  /// The offset of a random entry of a page.
  private static func node(of page: Int, _ map: StoreFileMap, _ random: inout SeededGenerator) -> Int? {
    let base = page * StoreFileMap.pageSize
    let count = (map.word16(base + 12) - 16) / 2
    return count < 1 ? nil : base + map.word16(base + 16 + 2 * random.below(count))
  }

  /// Writes a number that a reader might use as a count, a summand or an offset without validation.
  private static func put(
    _ bytes: inout [UInt8], at offset: Int, width: Int, _ map: StoreFileMap, _ random: inout SeededGenerator
  ) {
    let last = UInt64(map.bytes.count / StoreFileMap.pageSize)
    let numbers: [UInt64] = [
      0, 1, 2, 15, 16, 17, 0xFF, 4095, 4096, 4097, 0x7FFF, 0x8000, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF,
      0x8000_0000_0000, 0x4000_0000_0000_0000, 0x7FFF_FFFF_FFFF_FFFF, UInt64.max, last, last + 1, random.next(),
    ]
    let number = random.element(numbers) ?? 0
    for index in 0..<width where offset + index < bytes.count {
      bytes[offset + index] = UInt8(truncatingIfNeeded: number >> (8 * UInt64(index)))
    }
  }

  private static func foreign(_ map: StoreFileMap, _ random: inout SeededGenerator) -> [UInt8] {
    let size = StoreFileMap.pageSize
    switch random.below(7) {
    case 0: return []
    case 1: return [UInt8](repeating: UInt8(random.below(256)), count: 1 + random.below(3 * size))
    case 2: return [UInt8](Workload.bytes(1 + random.below(100_000), &random))
    case 3: return Array("SQLite format 3\0".utf8) + [UInt8](Workload.bytes(8 * size, &random))
    case 4: return Array(map.bytes.prefix(2 * size)) + [UInt8](Workload.bytes(random.below(20 * size), &random))
    case 5: return Array(map.bytes.prefix(2 * size)) + [UInt8](repeating: 0, count: map.bytes.count - 2 * size)
    // Valid pages, some of them shifted by some bytes.
    default:
      let at = random.below(map.bytes.count)
      return Array(map.bytes[..<at]) + [UInt8](Workload.bytes(1 + random.below(100), &random)) + Array(map.bytes[at...])
    }
  }
}
