/// The pages that an unchecked page leads to.
extension PageView {
  /// The page that a branch's node leads to, if the node is in the page.
  @inline(__always)
  func checkedChild(_ index: Int) -> UInt64? {
    guard let node = checkedNode(index) else { return nil }
    return Self.child(word64(node))
  }

  /// Whether no key below a branch's node is before `end`; false for an empty end.
  func isKey(_ index: Int, atOrAfter end: UnsafeRawBufferPointer) -> Bool {
    guard unsafe !end.isEmpty, index > 0, let key = unsafe checkedKey(index) else { return false }
    return unsafe compare(key, end, .bytes) >= 0
  }

  /// The overflow pages of a leaf's value; nil if it has none.
  func checkedOverflow(_ index: Int) -> (first: UInt64, pageCount: UInt64)? {
    guard let node = checkedNode(index) else { return nil }
    let header = word64(node)
    let (keyLength, length) = Self.lengths(header)
    let start = node &+ Self.nodeHeaderLength &+ keyLength
    guard Int(header >> 32 & 0xFFFF) == Self.bigDataFlag, start + 8 <= Self.size else { return nil }
    return (word64(start), Self.overflowPageCount(length))
  }

  /// Whether a leaf's value has overflow pages.
  @inline(__always)
  func hasOverflowPages(_ index: Int) -> Bool {
    guard let node = checkedNode(index) else { return false }
    return !Self.isPlain(word64(node))
  }

  /// The number of overflow pages that a value needs: one header, and the bytes, without a gap.
  @inline(__always)
  static func overflowPageCount(_ length: Int) -> UInt64 {
    UInt64(headerLength - 1 + length) / UInt64(size) + 1
  }
}
