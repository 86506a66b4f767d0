import KVCloneTestSupport

/// The role of each byte of a sound LMDB file, determined in the simplest way: the reference for what a check must
/// find.
struct PageRoles {
  enum Role: UInt8, Comparable {
    /// Unused bytes: free pages, gaps, padding.
    case unused
    /// A change may be harmless: another separator can be valid, too.
    case free
    /// Every change is a corruption.
    case used

    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
  }

  let bytes: [UInt8]
  private(set) var roles: [Role]
  /// Branch and leaf pages in use.
  private(set) var treePages: [Int] = []
  /// First pages of overflow values, those of the free list included.
  private(set) var valuePages: [Int] = []
  /// The end of the last page in use.
  private(set) var end = 8192

  private enum Tree {
    case free, tables
    case table(String)
  }

  /// - Parameter readsData: whether the bytes of `blobs` count.
  init(_ bytes: [UInt8], readsData: Bool) {
    self.bytes = bytes
    roles = [Role](repeating: .unused, count: bytes.count)
    let newest = word64(144) > word64(4096 + 144) ? 0 : 4096
    for meta in [0, 4096] {
      mark(meta..<meta + 8, .used)
      mark(meta + 10..<meta + 12, .used)
      mark(meta + 16..<meta + 32, .used)
      mark(meta + 32..<meta + 152, .free)
      if meta == newest { mark(meta + 40..<meta + 144, .used) }
      // One flag is unused.
      mark(meta + 45..<meta + 46, .free)
    }
    visit(word64(newest + 40 + 40), .free, readsData)
    visit(word64(newest + 88 + 40), .tables, readsData)
  }

  func word16(_ offset: Int) -> Int { Int(bytes[offset]) | Int(bytes[offset + 1]) << 8 }
  func word32(_ offset: Int) -> Int { word16(offset) | word16(offset + 2) << 16 }
  func word64(_ offset: Int) -> Int { word32(offset) | word32(offset + 4) << 32 }

  private mutating func mark(_ range: Range<Int>, _ role: Role) {
    for offset in range { roles[offset] = role }
  }

  private mutating func visit(_ page: Int, _ tree: Tree, _ readsData: Bool) {
    if page == -1 { return }
    let base = page * 4096
    treePages.append(page)
    end = max(end, base + 4096)
    mark(base..<base + 8, .used)
    mark(base + 10..<base + word16(base + 12), .used)
    for pointer in stride(from: base + 16, to: base + word16(base + 12), by: 2) {
      let node = base + word16(pointer)
      let key = node + 8..<node + 8 + word16(node + 6)
      mark(node..<node + 8, .used)
      if word16(base + 10) == 1 {
        mark(key, .free)
        visit(word32(node) | word16(node + 4) << 32, tree, readsData)
        continue
      }
      // Another transaction id in the free list can be valid, too.
      if case .free = tree { mark(key, .free) } else { mark(key, .used) }
      visitValue(node, key, tree, readsData)
    }
  }

  private mutating func visitValue(_ node: Int, _ key: Range<Int>, _ tree: Tree, _ readsData: Bool) {
    let length = word32(node)
    var value = key.upperBound..<key.upperBound + length
    if word16(node + 4) == 1 {
      mark(key.upperBound..<key.upperBound + 8, .used)
      let first = word64(key.upperBound) * 4096
      valuePages.append(first / 4096)
      end = max(end, first + word32(first + 12) * 4096)
      mark(first..<first + 8, .used)
      mark(first + 10..<first + 16, .used)
      value = first + 16..<first + 16 + length
      if case .table("blobs") = tree, !readsData { return }
    }
    switch tree {
    case .free: mark(value.lowerBound..<value.lowerBound + 8 * (1 + word64(value.lowerBound)), .used)
    case .tables:
      mark(value, .used)
      let name = String(decoding: bytes[key], as: UTF8.self)
      visit(word64(value.lowerBound + 40), .table(name), readsData)
    case .table: mark(value, .used)
    }
  }
}
