/// The root of a possible list of tables; its tables show which state it belongs to.
package struct PageRoot: Sendable {
  let tree: PageTree
  /// The number of levels: 1 if the list is one leaf.
  package var depth: Int { tree.depth }
}

extension PageFile {
  /// Finds the roots of lists of tables with one called `name`, for files that have lost their meta pages: of every
  /// state with remains in the file. A list of more than about fifty tables has branches, some of which may lead to
  /// pages that have been reused.
  ///
  /// Memory: some words for each page that is, or was, part of a list of tables. Reads the whole file once.
  package func findRoots(named name: String) -> [PageRoot] {
    var lists = TableLists(name: Array(name.utf8))
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: PageView.size, alignment: 16)
    defer { unsafe memory.deallocate() }
    var page: UInt64 = 2
    while page < byteCount / UInt64(PageView.size) {
      var next = page + 1
      if (try? unsafe read(page, into: memory)) != nil, let base = memory.baseAddress {
        let view = unsafe PageView(base)
        lists.take(view, page)
        if view.isBlank { next = nextStored(after: page) }
      }
      page = next
    }
    return lists.roots()
  }

  /// Reads the tables of a state with a list of tables that was found.
  package func tableMap(_ root: PageRoot) throws(LMDBError) -> PageMap {
    let meta = PageMeta(guessed: root.tree, lastPage: max(2, byteCount / UInt64(PageView.size)) - 1)
    guard let walk = PageWalk(self, meta, maximumFindings: .max) else { throw .outOfMemory }
    return walk.listTables()
  }
}

/// Assembles pages of lists of tables from the leaves up.
private struct TableLists {
  private struct Part {
    let tree: PageTree
    /// Whether it leads to the wanted table.
    let hasName: Bool
    /// Whether a branch leads to it.
    var isBelow = false
  }

  private let name: [UInt8]
  private var parts: [UInt64: Part] = [:]
  /// Branches with keys that may be table names.
  private var branches: [(page: UInt64, children: [UInt64])] = []

  init(name: [UInt8]) { self.name = name }

  mutating func take(_ view: PageView, _ page: UInt64) {
    guard view.number == page else { return }
    if view.isLeaf { takeLeaf(view, page) } else { takeBranch(view, page) }
  }

  private mutating func takeLeaf(_ view: PageView, _ page: UInt64) {
    guard view.problem(number: page, isLeaf: true, order: .bytes) == nil else { return }
    let isList = (0..<view.count).allSatisfy {
      view.flags($0) == PageView.subDataFlag && view.dataLength($0) == PageTree.length
    }
    guard isList else { return }
    parts[page] = Part(
      tree: PageTree(root: page, depth: 1, branchPages: 0, leafPages: 1, entries: UInt64(view.count)),
      hasName: (0..<view.count).contains { unsafe view.key($0).elementsEqual(name) })
  }

  private mutating func takeBranch(_ view: PageView, _ page: UInt64) {
    guard view.problem(number: page, isLeaf: false, order: .bytes) == nil, view.count > 1 else { return }
    // Keys of most other tables are numbers, with first bytes that are not text.
    let hasNames = (1..<view.count).allSatisfy { unsafe view.key($0).allSatisfy { (0x21...0x7E).contains($0) } }
    if hasNames { branches.append((page, (0..<view.count).map { view.child($0) })) }
  }

  /// The subtrees with the name that have no parent.
  mutating func roots() -> [PageRoot] {
    for depth in 2...PageTree.maximumDepth {
      var found: [(page: UInt64, part: Part)] = []
      for branch in branches where parts[branch.page] == nil {
        let below = branch.children.filter { parts[$0]?.tree.depth == depth - 1 }
        if below.isEmpty { continue }
        var (branchPages, leafPages, entries, hasName) = (1 as UInt64, 0 as UInt64, 0 as UInt64, false)
        for child in below {
          guard let part = parts[child] else { continue }
          parts[child]?.isBelow = true
          // A corrupted file may lead to one page in many ways, so sums may overflow.
          branchPages &+= part.tree.branchPages
          leafPages &+= part.tree.leafPages
          entries &+= part.tree.entries
          hasName = hasName || part.hasName
        }
        let tree = PageTree(
          root: branch.page, depth: depth, branchPages: branchPages, leafPages: leafPages, entries: entries)
        found.append((branch.page, Part(tree: tree, hasName: hasName)))
      }
      if found.isEmpty { break }
      for (page, part) in found { parts[page] = part }
    }
    return parts.values.filter { $0.hasName && !$0.isBelow }.map { PageRoot(tree: $0.tree) }
      .sorted { $0.tree.root < $1.tree.root }
  }
}
