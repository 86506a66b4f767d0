import Glibc

/// Reads the tables of a `PageFile` by the map of a walk: with `pread`, without LMDB, and without trusting any byte.
///
/// Bytes returned by `get` and `seek` are valid until the enclosing scan ends, or as long as the reader; bytes passed
/// by a scan are valid during the call. Memory is the cache's 8 MiB, and what one body requests.
///
/// Reaching a corrupted page throws a `PageError`; scans skip it instead and continue behind it.
@safe
package final class PageReader {
  let file: PageFile
  let map: PageMap
  let cache: PageCache
  private let hasBadEdges: Bool
  /// The problem of each corrupted page: a file may have many.
  private lazy var problems = Dictionary(
    map.findings.map { ($0.page, $0.problem) }, uniquingKeysWith: { first, _ in first })
  /// A table with long values that are not read: scans pass zero bytes of the same length.
  package var hollowTable: Int?
  private var zeros: (memory: UnsafeMutableRawPointer, count: Int)?

  package init(_ file: PageFile, _ map: PageMap) throws(LMDBError) {
    guard let cache = PageCache() else { throw .outOfMemory }
    self.file = file
    self.map = map
    self.cache = cache
    hasBadEdges = !map.badEdges.isEmpty
  }

  deinit {
    if let zeros = unsafe zeros { unsafe free(zeros.memory) }
  }

  /// The value of `key`, or nil.
  package func get(_ table: Int, _ key: UnsafeRawBufferPointer) throws(PageError) -> UnsafeRawBufferPointer? {
    guard let place = try unsafe leaf(table, key) else { return nil }
    let index = unsafe place.page.view.lowerBound(key)
    guard index < place.page.view.count, unsafe compare(place.page.view.key(index), key, .bytes) == 0 else {
      return nil
    }
    cache.pin(place.page)
    return try unsafe value(place.page.view, index, place.number)
  }

  /// The entry of the least key not below `key`, or of the greatest not above it; nil if no key qualifies.
  package func seek(_ table: Int, _ key: UnsafeRawBufferPointer, atOrBefore: Bool) throws(PageError) -> PageEntry? {
    var path = PagePath()
    guard let tree = try root(table) else { return nil }
    try unsafe descend(&path, tree, key)
    var page = try leaf(path, tree)
    var index = unsafe page.view.lowerBound(key)
    if atOrBefore {
      let isSame = unsafe index < page.view.count && compare(page.view.key(index), key, .bytes) == 0
      if !isSame { index -= 1 }
      if index < 0 {
        guard try move(&path, tree, by: -1) else { return nil }
        page = try leaf(path, tree)
        index = page.view.count - 1
      }
    } else if index == page.view.count {
      guard try move(&path, tree, by: 1) else { return nil }
      page = try leaf(path, tree)
      index = 0
    }
    cache.pin(page)
    return try unsafe PageEntry(
      key: page.view.key(index), value: value(page.view, index, path.pages[tree.depth - 1]))
  }

  /// The page that contains the value of `key`, to locate corruption.
  package func page(_ table: Int, _ key: UnsafeRawBufferPointer) -> UInt64? {
    do throws(PageError) {
      guard let place = try unsafe leaf(table, key) else { return nil }
      let index = unsafe place.page.view.lowerBound(key)
      guard index < place.page.view.count, unsafe compare(place.page.view.key(index), key, .bytes) == 0 else {
        return nil
      }
      let isLong = place.page.view.flags(index) == PageView.bigDataFlag
      return isLong ? place.page.view.overflowPage(index) : place.number
    } catch {
      return error.page
    }
  }

  // MARK: Descending

  /// The tree of a table; nil if it is empty.
  func root(_ table: Int) throws(PageError) -> PageTree? {
    let table = map.tables[table]
    if table.isLost { throw PageError(page: table.tree.root, problem: .badTree) }
    return table.tree.isEmpty ? nil : table.tree
  }

  /// The leaf that contains `key`, if the tree does.
  @inline(__always)
  private func leaf(
    _ table: Int, _ key: UnsafeRawBufferPointer
  ) throws(PageError) -> (page: PageCache.Page, number: UInt64)? {
    guard let tree = try root(table) else { return nil }
    var number = tree.root
    for _ in 1..<tree.depth {
      let page = try cache.page(number, isLeaf: false, of: file)
      let index = unsafe page.view.branchIndex(key)
      if let damaged = corrupted(number, index) { throw damaged }
      number = page.view.child(index)
    }
    return (try cache.page(number, isLeaf: true, of: file), number)
  }

  /// The error of following a node, if its target is corrupted.
  @inline(__always)
  func corrupted(_ number: UInt64, _ index: Int) -> PageError? {
    hasBadEdges ? knownDamage(number, index) : nil
  }

  private func knownDamage(_ number: UInt64, _ index: Int) -> PageError? {
    guard let page = map.badEdges[PageMap.edge(number, index)] else { return nil }
    return PageError(page: page, problem: problems[page] ?? .badEntry)
  }

  func leaf(_ path: PagePath, _ tree: PageTree) throws(PageError) -> PageCache.Page {
    try cache.page(path.pages[tree.depth - 1], isLeaf: true, of: file)
  }

  /// Records the path to the leaf that contains `key`, if the tree does.
  ///
  /// - Throws: if a page on the path is corrupted; `path.level` is where.
  func descend(_ path: inout PagePath, _ tree: PageTree, _ key: UnsafeRawBufferPointer) throws(PageError) {
    var number = tree.root
    for level in 0..<tree.depth - 1 {
      let page = try cache.page(number, isLeaf: false, of: file)
      let index = unsafe page.view.branchIndex(key)
      path.level = level
      path.pages[level] = number
      path.indexes[level] = index
      if let damaged = corrupted(number, index) { throw damaged }
      number = page.view.child(index)
    }
    path.level = tree.depth - 1
    path.pages[tree.depth - 1] = number
  }

  /// Moves to the next or the previous leaf; returns false at the end.
  ///
  /// - Parameter skipping: Skips what is corrupted.
  func move(_ path: inout PagePath, _ tree: PageTree, by step: Int, skipping: Bool = false) throws(PageError) -> Bool {
    var level = min(path.level, tree.depth - 1)
    // From a leaf, go up first; from a branch, which a skip or a step down ended at, move on along it.
    if level == tree.depth - 1 { level -= 1 }
    while level >= 0 {
      let page = try cache.page(path.pages[level], isLeaf: false, of: file).view
      var index = path.indexes[level] + step
      while index >= 0, index < page.count, let damaged = corrupted(path.pages[level], index) {
        if !skipping { throw damaged }
        index += step
      }
      guard index >= 0, index < page.count else {
        level -= 1
        continue
      }
      path.indexes[level] = index
      let child = page.child(index)
      level += 1
      path.pages[level] = child
      path.level = level
      if level == tree.depth - 1 { return true }
      // Before the first one, or behind the last one: the step leads onto it.
      path.indexes[level] = step > 0 ? -1 : try cache.page(child, isLeaf: false, of: file).view.count
    }
    return false
  }

  // MARK: Values

  /// A leaf's value: in the page, or read from overflow pages.
  @inline(__always)
  func value(
    _ view: PageView, _ index: Int, _ number: UInt64, isHollow: Bool = false
  ) throws(PageError) -> UnsafeRawBufferPointer {
    if view.flags(index) == 0 {
      return unsafe UnsafeRawBufferPointer(start: view.data(index), count: view.dataLength(index))
    }
    if let damaged = corrupted(number, index) { throw damaged }
    return try unsafe longValue(view.overflowPage(index), view.dataLength(index), isHollow: isHollow)
  }

  private func longValue(
    _ page: UInt64, _ count: Int, isHollow: Bool
  ) throws(PageError) -> UnsafeRawBufferPointer {
    // The walk has checked the header; after a later change the file may not have the page any more.
    guard page >= 2, page <= UInt64(map.pageCount), UInt64(count) <= file.byteCount else {
      throw PageError(page: page, problem: .badOverflow)
    }
    if isHollow, let memory = unsafe hollow(count) { return unsafe UnsafeRawBufferPointer(start: memory, count: count) }
    guard let memory = unsafe cache.allocate(count) else {
      throw PageError(page: page, problem: .unreadable(ENOMEM))
    }
    let buffer = unsafe UnsafeMutableRawBufferPointer(start: memory, count: count)
    try unsafe file.read(page, PageView.headerLength, into: buffer)
    return UnsafeRawBufferPointer(buffer)
  }

  /// Zero bytes, which the kernel allocates on access.
  private func hollow(_ count: Int) -> UnsafeMutableRawPointer? {
    if let zeros = unsafe zeros, unsafe zeros.count >= count { return unsafe zeros.memory }
    // Values longer than a blob chunk are rare, and corruption; they are read.
    guard count <= 2 << 20, unsafe zeros == nil, let memory = unsafe calloc(2 << 20, 1) else { return nil }
    unsafe zeros = (memory, 2 << 20)
    return unsafe memory
  }
}

/// A key and its value.
@unsafe
package struct PageEntry {
  package let key: UnsafeRawBufferPointer
  package let value: UnsafeRawBufferPointer
}

/// The path from a tree's root to a leaf.
struct PagePath {
  /// By level, starting with the root.
  var pages = InlineArray<32, UInt64>(repeating: 0)
  /// The followed node, by level; not for the leaf.
  var indexes = InlineArray<32, Int>(repeating: 0)
  /// The last level that is set.
  var level = 0
}
