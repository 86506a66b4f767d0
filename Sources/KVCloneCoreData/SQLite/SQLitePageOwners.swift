/// The table that each page belongs to, as far as tables were read: in a sound database a page is part of one tree, or
/// of one row's overflow chain.
///
/// Tables that share pages multiply rows: 20,000 tables that lead to the same 100 MB of leaf pages are 2 TB to read and
/// to write. The second table that leads to a page is therefore an error, and all tables together have no more pages
/// than the file. Four bytes a page, in blocks of 4,096 pages.
struct SQLitePageOwners {
  private static let pagesPerBlock = 4_096
  private var blocks: [Int: [UInt32]] = [:]
  private var tables: [String] = []
  private var numbers: [String: UInt32] = [:]

  /// The number of a table, by its name; stable.
  mutating func number(ofTable name: String) -> UInt32 {
    // SQLite's names are case-insensitive.
    let key = name.uppercased()
    if let number = numbers[key] { return number }
    tables.append(name)
    let number = UInt32(tables.count)
    numbers[key] = number
    return number
  }

  /// Records that a table leads to a page.
  ///
  /// - Returns: the other table that the page belongs to; nil if it belongs to no other.
  mutating func claim(_ page: Int, for table: UInt32) -> String? {
    let (block, place) = page.quotientAndRemainder(dividingBy: Self.pagesPerBlock)
    var owners = blocks.removeValue(forKey: block) ?? [UInt32](repeating: 0, count: Self.pagesPerBlock)
    let owner = owners[place]
    if owner == 0 { owners[place] = table }
    blocks[block] = owners
    return owner == 0 || owner == table ? nil : tables[Int(owner) - 1]
  }
}
