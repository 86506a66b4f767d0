import CKVCloneLMDB

extension LMDBMapReader {
  /// The value of `key`; valid as long as the transaction.
  package func value(_ dbi: UInt32, _ key: UnsafeRawBufferPointer) -> LMDBValuePointer {
    guard UInt(bitPattern: key.count &- 1) < UInt(LMDBLimits.maximumKeyLength), let tree = tree(dbi) else {
      return .unknown
    }
    if tree.depth == 0 { return .notFound }
    let key = unsafe PageKey(key)
    guard let leaf = leaf(tree, key, prefetches: true, { _, _, _, _ in }),
      let spot = leaf.view.checkedSpot(key, low: leaf.low, leaf.count)
    else { return .unknown }
    noteRead(dbi, leaf.view, key)
    if !spot.isSame { return .notFound }
    if leaf.view.hasOverflowPages(spot.index) { noteValue(dbi, leaf.view, spot.index, count: leaf.count) }
    guard let value = unsafe value(leaf.view, spot.index) else { return .unknown }
    return unsafe LMDBValuePointer(code: 0, base: orEmpty(value.baseAddress), count: value.count)
  }

  /// The entry nearest to `key` in the direction `position`; returns 0 on success.
  package func seek(
    _ dbi: UInt32, _ key: UnsafeRawBufferPointer, _ position: StorageSeek, _ entry: inout StorageEntryPointers
  ) -> Int32 {
    guard UInt(bitPattern: key.count &- 1) < UInt(LMDBLimits.maximumKeyLength), let tree = tree(dbi) else {
      return Self.askLMDB
    }
    if tree.depth == 0 { return MDB_NOTFOUND }
    let searched = unsafe PageKey(key)
    guard let leaf = leaf(tree, searched, { _, _, _, _ in }),
      let spot = leaf.view.checkedSpot(searched, low: leaf.low, leaf.count)
    else { return Self.askLMDB }
    var index = spot.index
    switch position {
    case .atOrAfter: break
    case .atOrBefore: if !spot.isSame { index -= 1 }
    }
    if index >= 0, index < leaf.count { return self.entry(leaf.view, index, &entry) }
    // Moves to the adjacent leaf, along the path to this one.
    var scan = unsafe LMDBMapScan(self, dbi, from: key, before: UnsafeRawBufferPointer(start: nil, count: 0))
    if position == .atOrBefore { scan.stepBack() }
    if scan.code == 0, scan.next() { entry = scan.entry }
    return scan.code
  }

  /// Scans the entries from the first key that is not less than `start` on.
  ///
  /// - Parameter end: Leaves with no key before it are not read ahead; empty for none. It is valid as long as the scan.
  package func scan(
    _ dbi: UInt32, from start: UnsafeRawBufferPointer,
    before end: UnsafeRawBufferPointer = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
  ) -> LMDBMapScan {
    unsafe LMDBMapScan(self, dbi, from: start, before: end)
  }

  /// Prefetches the beginning of the leaf that contains `key`, if the table does: its node list.
  package func fetchLeaf(_ dbi: UInt32, _ key: UnsafeRawBufferPointer) {
    guard UInt(bitPattern: key.count &- 1) < UInt(LMDBLimits.maximumKeyLength), let tree = tree(dbi) else { return }
    let key = unsafe PageKey(key)
    var number = tree.root
    var level = 0
    while level < Int(tree.depth) &- 1 {
      guard let page = page(number), let count = page.count(asPage: number, PageView.branchFlag),
        let index = page.checkedBranchIndex(key, count), let node = page.checkedNode(index)
      else { return }
      number = PageView.child(page.word64(node))
      level &+= 1
    }
    if tree.depth > 0, let page = page(number) { unsafe kvclone_prefetch(page.base, 128) }
  }

  /// Prefetches the entry of `key`, if there is one.
  package func fetchEntry(_ dbi: UInt32, _ key: UnsafeRawBufferPointer) {
    guard UInt(bitPattern: key.count &- 1) < UInt(LMDBLimits.maximumKeyLength), let tree = tree(dbi), tree.depth > 0
    else { return }
    let key = unsafe PageKey(key)
    guard let leaf = leaf(tree, key, { _, _, _, _ in }),
      let spot = leaf.view.checkedSpot(key, low: leaf.low, leaf.count), spot.isSame,
      let node = leaf.view.checkedNode(spot.index)
    else { return }
    unsafe kvclone_prefetch(leaf.view.base + node, 256)
  }

  /// Descends to the leaf that contains `key`, if the table does, and reports the followed node of each branch.
  ///
  /// - Parameter prefetches: Prefetches the entry before the leaf has been loaded.
  @inline(__always)
  func leaf(
    _ tree: MapTree, _ key: PageKey, prefetches: Bool = false,
    _ passed: (_ level: Int, _ page: PageView, _ index: Int, _ count: Int) -> Void
  ) -> MapLeaf? {
    var number = tree.root
    var low: UInt64 = 0
    var high: UInt64 = 0
    var level = 0
    while level < Int(tree.depth) &- 1 {
      guard let page = page(number), let count = page.count(asPage: number, PageView.branchFlag),
        let index = page.checkedBranchIndex(key, count), let node = page.checkedNode(index)
      else { return nil }
      if key.isNumber {
        if index > 0, let key = page.numberKey(index) { low = key }
        if prefetches, index &+ 1 < count, let key = page.numberKey(index &+ 1) { high = key }
      }
      passed(level, page, index, count)
      number = PageView.child(page.word64(node))
      level &+= 1
    }
    guard let page = page(number) else { return nil }
    if prefetches { page.prefetchEntry(key.number, low: low, high: high) }
    guard let count = page.count(asPage: number, PageView.leafFlag) else { return nil }
    return MapLeaf(view: page, count: count, low: low)
  }
}

/// A leaf in the map.
@safe
struct MapLeaf {
  let view: PageView
  let count: Int
  /// The lower bound of its eight-byte keys according to the branches above; 0 if unknown.
  let low: UInt64
}
