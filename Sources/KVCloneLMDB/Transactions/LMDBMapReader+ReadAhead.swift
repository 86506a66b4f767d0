/// Requests pages from the disk before they are read.
extension LMDBMapReader {
  /// Notes that a lookup, or a scan's begin, reads a leaf.
  @inline(__always)
  func noteRead(_ dbi: UInt32, _ leaf: PageView, _ key: PageKey) {
    guard let trees = unsafe content.pointee.map.trees else { return }
    let tree = unsafe trees + Int(dbi)
    if unsafe tree.pointee.lastLeaf == leaf.base { return }
    unsafe noteNewLeaf(tree, leaf, key)
  }

  @inline(never)
  private func noteNewLeaf(_ tree: UnsafeMutablePointer<MapTree>, _ leaf: PageView, _ key: PageKey) {
    let isFirst = unsafe tree.pointee.lastLeaf == nil
    unsafe tree.pointee.lastLeaf = leaf.base
    // Most small transactions read one leaf of a table.
    if unsafe isFirst || tree.pointee.depth < 2 { return }
    let readAhead = unsafe tree.pointee.reserveReadAhead()
    guard unsafe readAhead.pointee.isNoteworthy(), var pages = pages() else { return }
    guard let path = unsafe BranchPath(root: tree.pointee.root, depth: Int(tree.pointee.depth), key, &pages) else {
      return
    }
    unsafe readAhead.pointee.read(path, &pages)
  }

  /// Notes that a scan enters another leaf. Returns how many more it can read before the next call is needed.
  @inline(never)
  func noteScan(
    _ dbi: UInt32, _ leaf: PageView, _ path: borrowing BranchPath, before end: UnsafeRawBufferPointer
  ) -> Int32 {
    guard let trees = unsafe content.pointee.map.trees, var pages = pages() else { return .max }
    let tree = unsafe trees + Int(dbi)
    unsafe tree.pointee.lastLeaf = leaf.base
    let readAhead = unsafe tree.pointee.reserveReadAhead()
    return unsafe readAhead.pointee.scan(path, before: end, &pages)
  }

  /// Notes that the overflow pages of a leaf's value are read next.
  @inline(never)
  func noteValue(_ dbi: UInt32, _ leaf: PageView, _ index: Int, count: Int) {
    guard let trees = unsafe content.pointee.map.trees, var pages = pages() else { return }
    let readAhead = unsafe (trees + Int(dbi)).pointee.reserveReadAhead()
    unsafe readAhead.pointee.readValue(leaf, index, count: count, &pages)
  }

  /// Requests the leaves of keys that are read next, if the page cache lacks them.
  package func requestLeaves(_ dbi: UInt32, _ keys: UnsafeRawBufferPointer, stride length: Int) {
    guard length > 0, length <= LMDBLimits.maximumKeyLength, let tree = tree(dbi), tree.depth > 1,
      let trees = unsafe content.pointee.map.trees
    else { return }
    let readAhead = unsafe (trees + Int(dbi)).pointee.reserveReadAhead()
    guard unsafe readAhead.pointee.isNextGroupNoteworthy(), var pages = pages() else { return }
    let count = keys.count / length
    unsafe withUnsafeTemporaryAllocation(of: UInt64.self, capacity: count) { leaves in
      var found = 0
      for place in 0..<count {
        let key = unsafe PageKey(UnsafeRawBufferPointer(rebasing: keys[place * length..<(place + 1) * length]))
        guard let path = BranchPath(root: tree.root, depth: Int(tree.depth), key, &pages),
          let leaf = path.last.page.checkedChild(Int(path.last.index))
        else { continue }
        unsafe leaves[found] = leaf
        found += 1
      }
      let span = unsafe Span(_unsafeElements: UnsafeBufferPointer(rebasing: leaves[..<found]))
      unsafe readAhead.pointee.readGroup(of: span, &pages)
    }
  }

  private func pages() -> MappedPages? {
    guard let start = unsafe content.pointee.map.start else { return nil }
    return unsafe content.pointee.core._withUnsafeGuaranteedRef { core in
      unsafe MappedPages(
        start: start, pageLimit: content.pointee.map.pageLimit, counter: core, hooks: core.options.readAheadHooks)
    }
  }
}
