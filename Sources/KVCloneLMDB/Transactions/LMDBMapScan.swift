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
  /// By level, the root first; as many as `MapTree.maximumDepth`.
  private var path = InlineArray<8, MapStep>(repeating: MapStep())
  /// The leaves' level.
  private var level = 0
  private var leaf: PageView
  /// The next leaf, as far as it is known, and the end of what nobody has asked memory for.
  private var ahead = PageView.none
  private var aheadEnd = 0
  private var index = 0
  private var count = 0

  /// A branch on the way down.
  private struct MapStep {
    var page = PageView.none
    var index: Int32 = 0
    var count: Int32 = 0
  }

  init(_ reader: LMDBMapReader, _ dbi: UInt32, from start: UnsafeRawBufferPointer) {
    self.reader = reader
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
    let key = unsafe PageKey(start)
    let found = reader.leaf(tree, key) { level, page, index, count in
      path[level] = MapStep(page: page, index: Int32(index), count: Int32(count))
    }
    guard let found, let spot = found.view.checkedSpot(key, low: found.low, found.count) else {
      code = LMDBMapReader.askLMDB
      return
    }
    leaf = found.view
    count = found.count
    index = spot.index
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
    while up >= 0, path[up].index + step < 0 || path[up].index + step >= path[up].count { up -= 1 }
    if up < 0 {
      code = MDB_NOTFOUND
      return false
    }
    path[up].index += step
    while true {
      let (page, index) = (path[up].page, Int(path[up].index))
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
        prefetchNextLeaf()
        return true
      }
      path[up] = MapStep(page: child, index: step > 0 ? 0 : Int32(count - 1), count: Int32(count))
    }
  }

  /// Asks for the beginning of the next leaf, where it says where its entries are; the rest follows with each entry of this one.
  private mutating func prefetchNextLeaf() {
    aheadEnd = 0
    guard level > 0, path[level - 1].index + 1 < path[level - 1].count else { return }
    let page = path[level - 1].page
    guard let node = page.checkedNode(Int(path[level - 1].index) + 1),
      let next = reader.page(PageView.child(page.word64(node)))
    else { return }
    unsafe kvclone_prefetch(next.base, 128)
    ahead = next
    aheadEnd = PageView.size
  }
}
