import Glibc

/// The nodes of a page of one kind.
@safe
struct PageNodes {
  private let page: PageView
  /// Nil if the page is not of the kind.
  private let count: Int?
  private let isLeaf: Bool
  private let isList: Bool

  private static func flag(_ isLeaf: Bool) -> Int { isLeaf ? PageView.leafFlag : PageView.branchFlag }

  init(_ page: PageView, _ number: UInt64, isLeaf: Bool, isList: Bool) {
    self.page = page
    count = page.count(asPage: number, Self.flag(isLeaf))
    self.isLeaf = isLeaf
    self.isList = isList
  }

  /// Collects the children, or targets, of all nodes. Returns false if something is invalid.
  func collect(_ children: inout [UInt64], _ targets: inout LeafTargets) -> Bool {
    guard let count else { return false }
    for index in 0..<count {
      guard let node = page.checkedNode(index), addTarget(page, node, &children, &targets) else { return false }
    }
    return true
  }

  /// Whether another page has as many nodes, at the same offsets.
  func hasOffsets(of other: PageView, _ number: UInt64) -> Bool {
    guard let count, other.count(asPage: number, Self.flag(isLeaf)) == count else { return false }
    let offset = PageView.headerLength
    return unsafe memcmp(page.base + offset, other.base + offset, 2 * count) == 0
  }

  /// Collects those of the nodes that differ from those of the page that this one replaces.
  func collectDifferences(
    from old: PageView, _ level: inout (new: [UInt64], old: [UInt64]),
    _ targets: inout LeafTargets.Pair
  ) -> Bool {
    for index in 0..<(count ?? 0) {
      guard let node = page.checkedNode(index) else { return false }
      if hasSameTarget(node, in: old) { continue }
      guard addTarget(page, node, &level.new, &targets.new), addTarget(old, node, &level.old, &targets.old) else {
        return false
      }
    }
    return true
  }

  /// Whether the node at an offset leads to the same page or table in both pages.
  @inline(__always)
  private func hasSameTarget(_ node: Int, in old: PageView) -> Bool {
    let header = page.word64(node)
    if header != old.word64(node) { return false }
    // The header of a branch's node has the number of the child.
    if !isLeaf || PageView.isPlain(header) { return true }
    let (keyLength, length) = PageView.lengths(header)
    let targetLength: Int
    switch Int(header >> 32 & 0xFFFF) {
    // The number of the page, also if the value itself is shorter: LMDB leaves a shortened value there.
    case PageView.bigDataFlag: targetLength = 8
    case PageView.subDataFlag where isList && length == PageTree.length: targetLength = length
    default: return false
    }
    let end = node + PageView.nodeHeaderLength + keyLength + targetLength
    return unsafe end <= PageView.size && memcmp(page.base + node, old.base + node, end - node) == 0
  }

  @inline(__always)
  private func addTarget(_ page: PageView, _ node: Int, _ children: inout [UInt64], _ targets: inout LeafTargets)
    -> Bool
  {
    let header = page.word64(node)
    if !isLeaf {
      children.append(PageView.child(header))
      return true
    }
    if PageView.isPlain(header) { return true }
    let (keyLength, length) = PageView.lengths(header)
    let start = node + PageView.nodeHeaderLength + keyLength
    switch Int(header >> 32 & 0xFFFF) {
    case PageView.bigDataFlag where start + 8 <= PageView.size:
      targets.overflow.append(page.word64(start))
    case PageView.subDataFlag where isList && length == PageTree.length && start + length <= PageView.size:
      let name = unsafe UnsafeRawBufferPointer(start: page.base + node + PageView.nodeHeaderLength, count: keyLength)
      unsafe targets.add(name, PageTree(page.base + start))
    default: return false
    }
    return true
  }
}

/// The targets of the leaves of one side.
@safe
struct LeafTargets {
  typealias Pair = (new: LeafTargets, old: LeafTargets)

  /// The first overflow page of each long value.
  var overflow: [UInt64] = []
  /// The tables in the list of tables, with their places in `names`.
  private(set) var tables: [(name: Range<Int>, tree: PageTree)] = []
  private var names: [UInt8] = []

  mutating func removeAll() {
    overflow.removeAll(keepingCapacity: true)
    tables.removeAll(keepingCapacity: true)
    names.removeAll(keepingCapacity: true)
  }

  mutating func add(_ name: UnsafeRawBufferPointer, _ tree: PageTree) {
    let start = names.count
    unsafe names.append(contentsOf: name)
    tables.append((start..<names.count, tree))
  }

  func name(_ index: Int) -> ArraySlice<UInt8> { names[tables[index].name] }

  /// Finds a table. Both lists are usually in the order of names, so that the next one is at `place`.
  func tree(named name: ArraySlice<UInt8>, from place: inout Int) -> PageTree? {
    for offset in tables.indices {
      let index = (place + offset) % tables.count
      if self.name(index) == name {
        place = index + 1
        return tables[index].tree
      }
    }
    return nil
  }
}
