import CKVCloneLMDB

/// A place between two entries of a table in the map, from which entries are read in key order.
///
/// It looks at nothing of the transaction's but the map, so that the same transaction may be read from meanwhile.
@safe
package struct LMDBMapScan: ~Copyable {
  /// The entry that `next` went to last; without a key before the first.
  package private(set) var entry = StorageEntryPointers()
  /// Why there is no entry: `LMDBPointerReader.notFound` at the end, `LMDBMapReader.askLMDB` where only LMDB can say how it
  /// goes on; 0 while there are some.
  package private(set) var code: Int32 = 0

  private let reader: LMDBMapReader
  private let dbi: UInt32
  private let end: UnsafeRawBufferPointer
  /// The branches that lead to the leaf.
  private var path = BranchPath(steps: InlineArray(repeating: BranchStep()), level: 0)
  /// The leaves' level.
  private var level = 0
  private var leaf: PageView
  /// The next leaf, as far as it is known, and the end of what nobody has asked memory for.
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
  }

  /// Goes to the next entry; false where there is none, and `code` says why.
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
    // As many bytes of the next leaf are on their way from memory while this entry is looked at. Entries fill a page from its
    // end.
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

  /// Goes before the entry that is before the place.
  mutating func stepBack() {
    if code != 0 || index == 0 && !move(by: -1) { return }
    index -= 1
  }

  @inline(never)
  private mutating func fail() -> Bool {
    code = LMDBMapReader.askLMDB
    return false
  }

  /// Goes to the beginning of the next leaf, or to the end of the one before.
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

  /// Asks for the beginning of the next leaf, where it says where its entries are; the rest follows with each entry of this one.
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
