/// The position of each entry of each table in an intact data file. It parses pages as described in `Format.md`,
/// independently of the library's code.
struct StoreFileMap: Sendable {
  struct Entry: Sendable {
    let table: String
    let key: Range<Int>
    /// The value including its checksum; in the leaf or on overflow pages.
    let value: Range<Int>
  }

  static let pageSize = 4096

  let bytes: [UInt8]
  private(set) var entries: [Entry] = []
  /// Branch and leaf pages in use, including those of the free list.
  private(set) var treePages: [Int] = []
  /// First overflow pages of values.
  private(set) var valuePages: [Int] = []
  /// All overflow pages of values.
  private(set) var allValuePages: [Int] = []
  /// Pages of the catalog: the model, layouts and counters. Nothing can be salvaged without them.
  private(set) var catalogPages: Set<Int> = []

  /// Overflow pages that a scan of the B+trees does not read.
  var laterValuePages: [Int] { Set(allValuePages).subtracting(valuePages).sorted() }

  /// The offset of the newer meta page.
  private(set) var newerMeta = 0
  /// The root page of its list of tables.
  private(set) var tableListPage = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    let newest = word64(144) > word64(Self.pageSize + 144) ? 0 : Self.pageSize
    newerMeta = newest
    tableListPage = word64(newest + 88 + 40)
    visit(word64(newest + 40 + 40), .free)
    visit(tableListPage, .tables)
  }

  private enum Tree {
    case free, tables
    case table(String)

    var isCatalog: Bool { if case .table("metadata") = self { true } else { false } }
  }

  func word16(_ offset: Int) -> Int { Int(bytes[offset]) | Int(bytes[offset + 1]) << 8 }
  func word32(_ offset: Int) -> Int { word16(offset) | word16(offset + 2) << 16 }
  func word64(_ offset: Int) -> Int { word32(offset) | word32(offset + 4) << 32 }

  private mutating func visit(_ page: Int, _ tree: Tree) {
    // An empty B+tree has no root.
    if page == -1 { return }
    let base = page * Self.pageSize
    treePages.append(page)
    if tree.isCatalog { catalogPages.insert(page) }
    for pointer in stride(from: base + 16, to: base + word16(base + 12), by: 2) {
      let node = base + word16(pointer)
      if word16(base + 10) == 1 {
        visit(word32(node) | word16(node + 4) << 32, tree)
      } else {
        visitEntry(node, key: node + 8..<node + 8 + word16(node + 6), tree)
      }
    }
  }

  private mutating func visitEntry(_ node: Int, key: Range<Int>, _ tree: Tree) {
    var start = key.upperBound
    if word16(node + 4) == 1 {
      valuePages.append(word64(start))
      let pages = word64(start)..<word64(start) + (16 + word32(node) + Self.pageSize - 1) / Self.pageSize
      allValuePages += pages
      if tree.isCatalog { catalogPages.formUnion(pages) }
      start = word64(start) * Self.pageSize + 16
    }
    switch tree {
    case .free: break
    case .tables: visit(word64(start + 40), .table(String(decoding: bytes[key], as: UTF8.self)))
    case .table(let name): entries.append(Entry(table: name, key: key, value: start..<start + word32(node)))
    }
  }
}
