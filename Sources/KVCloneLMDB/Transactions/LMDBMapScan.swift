import CKVCloneLMDB

/// A position between two entries of a table in the map, from which entries are read in key order.
///
/// It uses only the map of the transaction, so other reads of the same transaction may interleave.
@safe
package struct LMDBMapScan: ~Copyable {
  /// The current entry; without a key before the first.
  package private(set) var entry = StorageEntryPointers()
  /// Why there is no entry: `LMDBPointerReader.notFound` at the end, `LMDBMapReader.askLMDB` if LMDB has to continue;
  /// otherwise 0.
  package private(set) var code: Int32 = 0

  private let reader: LMDBMapReader
  private let dbi: UInt32
  private let end: UnsafeRawBufferPointer
  /// The branches on the path to the leaf.
  private var path = BranchPath(steps: InlineArray(repeating: BranchStep()), level: 0)
  /// The leaves' level.
  private var level = 0
  private var leaf: PageView
  /// The next leaf, as far as known, and the end of what was not prefetched yet.
  private var ahead = PageView.none
  private var aheadEnd = 0
  private var index = 0
  private var count = 0
  /// The number of leaves that need no read-ahead yet.
  private var leavesToRequest: Int32 = 0

  init(
    _ reader: LMDBMapReader, _ dbi: UInt32, from start: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer
  ) {
    self.reader = reader
    self.dbi = dbi
    unsafe self.end = unsafe end
    leaf = PageView.none
    guard start.count <= LMDBLimits.maximumKeyLength, let tree = reader.tree(dbi, isScan: true) else {
      code = LMDBMapReader.askLMDB
      return
    }
    if tree.depth == 0 {
      code = MDB_NOTFOUND
      return
    }
    level = Int(tree.depth) - 1
    path.level = level
    let key = unsafe PageKey(start)
    let found = reader.leaf(tree, key) { level, page, index, count in
      path.steps[level] = BranchStep(page: page, index: Int32(index), count: Int32(count))
    }
    guard let found, let spot = found.view.checkedSpot(key, low: found.low, found.count) else {
      code = LMDBMapReader.askLMDB
      return
    }
    leaf = found.view
    count = found.count
    index = spot.index
    reader.noteRead(dbi, leaf, key)
    leavesToRequest = reader.residentLeaves(dbi)
  }

  /// Moves to the next entry; returns false if none follows, and sets `code`.
  package mutating func next() -> Bool {
    if index >= count { return nextInNextLeaf() }
    return nextInLeaf()
  }

  @inline(never)
  private mutating func nextInNextLeaf() -> Bool {
    move(by: 1) && nextInLeaf()
  }

  @inline(__always)
  private mutating func nextInLeaf() -> Bool {
    guard let node = leaf.checkedNode(index) else { return fail() }
    let header = leaf.word64(node)
    // Numbers of 16 and 32 bits: nothing overflows.
    let (keyLength, valueLength) = PageView.lengths(header)
    let start = node &+ PageView.nodeHeaderLength &+ keyLength
    guard UInt(bitPattern: keyLength &- 1) < UInt(LMDBLimits.maximumKeyLength) else { return fail() }
    guard PageView.isPlain(header), start &+ valueLength <= PageView.size else { return nextWithLongValue() }
    unsafe entry.keyBase = unsafe leaf.base + (node &+ PageView.nodeHeaderLength)
    entry.keyCount = keyLength
    unsafe entry.valueBase = unsafe leaf.base + start
    entry.valueCount = valueLength
    index &+= 1
    // Prefetches as many bytes of the next leaf while this entry is processed. Entries fill a page from its end.
    let length = start &+ valueLength &- node
    if aheadEnd > length {
      aheadEnd &-= length
      unsafe kvclone_prefetch(ahead.base + aheadEnd, length &+ 64)
    }
    return true
  }

  @inline(never)
  private mutating func nextWithLongValue() -> Bool {
    if leaf.hasOverflowPages(index) { reader.noteValue(dbi, leaf, index, count: count) }
    code = reader.entry(leaf, index, &entry)
    index += 1
    return code == 0
  }

  /// Moves before the entry that precedes the position.
  mutating func stepBack() {
    if code != 0 || index == 0 && !move(by: -1) { return }
    index -= 1
  }

  @inline(never)
  private mutating func fail() -> Bool {
    code = LMDBMapReader.askLMDB
    return false
  }

  /// Moves to the beginning of the next leaf, or to the end of the previous one.
  @inline(never)
  private mutating func move(by step: Int32) -> Bool {
    if code != 0 { return false }
    var up = level - 1
    while up >= 0, path.steps[up].index + step < 0 || path.steps[up].index + step >= path.steps[up].count { up -= 1 }
    if up < 0 {
      code = MDB_NOTFOUND
      return false
    }
    path.steps[up].index += step
    while true {
      let (page, index) = (path.steps[up].page, Int(path.steps[up].index))
      guard let node = page.checkedNode(index) else { return fail() }
      let number = PageView.child(page.word64(node))
      up += 1
      guard let child = reader.page(number),
        let count = child.count(asPage: number, up == level ? PageView.leafFlag : PageView.branchFlag)
      else { return fail() }
      if up == level {
        leaf = child
        self.count = count
        self.index = step > 0 ? 0 : count
        if step > 0 { requestLeaves() }
        prefetchNextLeaf()
        return true
      }
      path.steps[up] = BranchStep(page: child, index: step > 0 ? 0 : Int32(count - 1), count: Int32(count))
    }
  }

  /// Requests leaves from the disk that follow this one.
  @inline(__always)
  private mutating func requestLeaves() {
    leavesToRequest &-= 1
    if leavesToRequest < 0, level > 0 { leavesToRequest = unsafe reader.noteScan(dbi, leaf, path, before: end) }
  }

  /// Prefetches the beginning of the next leaf, its node list; the rest follows with each entry of this one.
  private mutating func prefetchNextLeaf() {
    aheadEnd = 0
    guard level > 0, path.steps[level - 1].index + 1 < path.steps[level - 1].count else { return }
    let page = path.steps[level - 1].page
    guard let node = page.checkedNode(Int(path.steps[level - 1].index) + 1),
      let next = reader.page(PageView.child(page.word64(node)))
    else { return }
    unsafe kvclone_prefetch(next.base, 128)
    ahead = next
    aheadEnd = PageView.size
  }
}
