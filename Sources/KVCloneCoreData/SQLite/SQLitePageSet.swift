/// A set of visited pages: a bit a page, in blocks that are allocated on demand, because the page numbers of a
/// write-ahead log may be any.
struct SQLitePageSet {
  private static let pagesPerBlock = 4_096
  private var blocks: [Int: [UInt64]] = [:]

  /// Adds a page; returns false if it was present.
  mutating func insert(_ number: Int) -> Bool {
    let (block, place) = number.quotientAndRemainder(dividingBy: Self.pagesPerBlock)
    let bit: UInt64 = 1 << UInt64(place & 63)
    var words = blocks.removeValue(forKey: block) ?? [UInt64](repeating: 0, count: Self.pagesPerBlock / 64)
    let isNew = words[place >> 6] & bit == 0
    words[place >> 6] |= bit
    blocks[block] = words
    return isNew
  }
}
