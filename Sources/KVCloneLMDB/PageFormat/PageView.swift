import Glibc

/// The order of a tree's keys.
enum PageKeyOrder {
  /// Bytewise, and a prefix before longer keys (`mdb_cmp_memn`).
  case bytes
  /// Native 64-bit numbers (`MDB_INTEGERKEY`): the free list's keys.
  case numbers
}

/// A branch or leaf page in memory that outlives the view.
///
/// `MDB_page` of mdb.c, 64-bit: number u64, pad u16, flags u16 at 10, lower u16 at 12, upper u16 at 14, then the
/// offsets of the nodes (`MDB_node`: size or child u32, flags or child's top u16, key length u16, key, data). A node's
/// accessors may be used only after `problem` found none: it checks what they rely on.
@safe
struct PageView {
  static let size = LMDBLimits.pageSize
  static let headerLength = 16
  static let nodeHeaderLength = 8
  // Page flags. P_DIRTY, P_LOOSE and P_KEEP exist in memory only: mdb_page_flush clears them or skips the page. On disk
  // they make LMDB write into its read-only map, so they are corruption.
  static let branchFlag = 0x01
  static let leafFlag = 0x02
  static let overflowFlag = 0x04
  // Node flags. F_DUPDATA (4) is for DUPSORT tables, which a store never has.
  static let bigDataFlag = 0x01
  static let subDataFlag = 0x02

  let base: UnsafeRawPointer

  @inline(__always)
  init(_ base: UnsafeRawPointer) {
    unsafe self.base = base
  }

  @inline(__always)
  func word16(_ offset: Int) -> Int {
    Int(UInt16(littleEndian: unsafe base.loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
  }

  @inline(__always)
  func word32(_ offset: Int) -> Int {
    Int(UInt32(littleEndian: unsafe base.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
  }

  @inline(__always)
  func word64(_ offset: Int) -> UInt64 {
    UInt64(littleEndian: unsafe base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  var number: UInt64 { word64(0) }
  /// Whether the header is zero, as in a page that was never written.
  var isBlank: Bool { word64(0) == 0 && word64(8) == 0 }
  @inline(__always) var isLeaf: Bool { word16(10) == Self.leafFlag }
  @inline(__always) var count: Int { (word16(12) - Self.headerLength) >> 1 }

  @inline(__always)
  func node(_ index: Int) -> Int { word16(Self.headerLength + 2 * index) }

  @inline(__always)
  func keyLength(_ index: Int) -> Int { word16(node(index) + 6) }

  @inline(__always)
  func key(_ index: Int) -> UnsafeRawBufferPointer {
    let node = node(index)
    return unsafe UnsafeRawBufferPointer(start: base + node + Self.nodeHeaderLength, count: word16(node + 6))
  }

  /// The page that a branch's node leads to (`NODEPGNO`).
  @inline(__always)
  func child(_ index: Int) -> UInt64 {
    let node = node(index)
    return UInt64(word32(node)) | UInt64(word16(node + 4)) << 32
  }

  @inline(__always)
  func flags(_ index: Int) -> Int { word16(node(index) + 4) }

  /// The length of a leaf's value, in the page or on overflow pages.
  @inline(__always)
  func dataLength(_ index: Int) -> Int { word32(node(index)) }

  /// The address of a leaf's value, or of the number of its first overflow page.
  @inline(__always)
  func data(_ index: Int) -> UnsafeRawPointer {
    let node = node(index)
    return unsafe base + node + Self.nodeHeaderLength + word16(node + 6)
  }

  /// The first overflow page of a value.
  @inline(__always)
  func overflowPage(_ index: Int) -> UInt64 {
    UInt64(littleEndian: unsafe data(index).loadUnaligned(as: UInt64.self))
  }

  /// The rule that the page itself violates, if any.
  func problem(number: UInt64, isLeaf: Bool, order: PageKeyOrder) -> PageProblem? {
    if self.number != number { return .wrongNumber }
    if word16(10) != (isLeaf ? Self.leafFlag : Self.branchFlag) { return .wrongKind }
    let (lower, upper) = (word16(12), word16(14))
    // Pages have at least one node: mdb_rebalance frees an empty one, and an empty tree has no page.
    guard lower >= Self.headerLength + 2, lower <= upper, upper <= Self.size, (lower | upper) & 1 == 0 else {
      return .badBounds
    }
    var used = 0
    for index in 0..<count {
      let node = node(index)
      guard node >= upper, node & 1 == 0, node + Self.nodeHeaderLength <= Self.size else { return .badEntry }
      let keyLength = word16(node + 6)
      var length = Self.nodeHeaderLength + keyLength
      if isLeaf {
        let flags = word16(node + 4)
        guard keyLength >= 1, flags == 0 || flags == Self.bigDataFlag || flags == Self.subDataFlag else {
          return .badEntry
        }
        length += flags == Self.bigDataFlag ? 8 : word32(node)
      }
      guard keyLength <= LMDBLimits.maximumKeyLength, node + length <= Self.size else { return .badEntry }
      if order == .numbers, isLeaf || index > 0, keyLength != 8 { return .badEntry }
      used += (length + 1) & ~1
    }
    // mdb_node_add and mdb_node_del keep the nodes packed at the page's end, each rounded up to an even length.
    if used != Self.size - upper { return .badBounds }
    // The first key of a branch is ignored: it represents everything before the second one.
    for index in stride(from: isLeaf ? 1 : 2, to: count, by: 1) {
      if unsafe compare(key(index - 1), key(index), order) >= 0 { return .badOrder }
    }
    return nil
  }

  /// The first index with a key not less than `key`; `count` if none.
  func lowerBound(_ key: UnsafeRawBufferPointer) -> Int {
    firstIndex(from: 0) { unsafe compare(self.key($0), key, .bytes) >= 0 }
  }

  /// The index of a branch's node that leads to `key` (`mdb_node_search`): the last one with a key that is not greater.
  func branchIndex(_ key: UnsafeRawBufferPointer) -> Int {
    // The first key of a branch is less than any.
    firstIndex(from: 1) { unsafe compare(self.key($0), key, .bytes) > 0 } - 1
  }

  /// The first index from which on `isBeyond` holds; `count` if none.
  @inline(__always)
  private func firstIndex(from start: Int, where isBeyond: (Int) -> Bool) -> Int {
    var low = start
    var high = count
    while low < high {
      let middle = (low + high) >> 1
      if isBeyond(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

/// Negative, zero or positive, as the left key is less, equal or greater.
@inline(__always)
func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, _ order: PageKeyOrder) -> Int {
  guard let a = left.baseAddress, let b = right.baseAddress else {
    return left.count - right.count
  }
  if left.count >= 8, right.count >= 8 {
    let x = unsafe a.loadUnaligned(as: UInt64.self)
    let y = unsafe b.loadUnaligned(as: UInt64.self)
    if x != y {
      return order == .bytes ? (x.byteSwapped < y.byteSwapped ? -1 : 1) : (x < y ? -1 : 1)
    }
    if left.count == 8 || right.count == 8 { return left.count - right.count }
    let rest = unsafe memcmp(a + 8, b + 8, min(left.count, right.count) - 8)
    return rest != 0 ? Int(rest) : left.count - right.count
  }
  let result = unsafe memcmp(a, b, min(left.count, right.count))
  return result != 0 ? Int(result) : left.count - right.count
}
