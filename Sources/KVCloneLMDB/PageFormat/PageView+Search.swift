import CKVCloneLMDB

/// The position of a key in a page, present or not.
@safe
struct PageSpot {
  /// The first entry with a key that is not less.
  var index: Int
  /// Whether its key is equal.
  var isSame: Bool
}

/// A key in a form that is fast to compare.
@safe
struct PageKey {
  let bytes: UnsafeRawBufferPointer
  /// Whether it is an object's key: eight bytes, big-endian.
  let isNumber: Bool
  let number: UInt64

  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer) {
    unsafe self.bytes = unsafe bytes
    isNumber = bytes.count == 8
    number = unsafe isNumber ? bytes.loadUnaligned(as: UInt64.self).bigEndian : 0
  }
}

/// Searches in an unchecked page: never reads beyond its end, and returns nil for an impossible page.
///
/// Keys that are out of order are not noticed, as LMDB does not notice them; a found entry has the requested key.
extension PageView {
  /// A placeholder for a page that was not read yet.
  static var none: PageView { unsafe PageView(orEmpty(nil)) }

  /// The number of nodes, if the page is the page `number` of the kind `flag` in a map.
  @inline(__always)
  func count(asPage number: UInt64, _ flag: Int) -> Int? {
    let lower = word16(12)
    guard self.number == number, word16(10) == flag, lower >= Self.headerLength + 2, lower <= Self.size else {
      return nil
    }
    return (lower - Self.headerLength) >> 1
  }

  /// The offset of a node, if all of its header is in the page.
  @inline(__always)
  func checkedNode(_ index: Int) -> Int? {
    let node = uncheckedNode(index)
    return isWithin(node, Self.nodeHeaderLength) ? node : nil
  }

  /// The lengths of key and value according to a leaf's node.
  @inline(__always)
  static func lengths(_ header: UInt64) -> (key: Int, value: Int) {
    (Int(truncatingIfNeeded: header &>> 48), Int(truncatingIfNeeded: header & 0xFFFF_FFFF))
  }

  /// Whether a leaf's node has no flags: its value is in the page.
  @inline(__always)
  static func isPlain(_ header: UInt64) -> Bool { header & 0xFFFF_0000_0000 == 0 }

  /// The page that a branch's node leads to.
  @inline(__always)
  static func child(_ header: UInt64) -> UInt64 { header & 0xFFFF_FFFF_FFFF }

  /// The offset of a node according to the list of nodes. The index is below the count, so nothing overflows.
  @inline(__always)
  func uncheckedNode(_ index: Int) -> Int { word16(Self.headerLength &+ (index &<< 1)) }

  /// Whether so many bytes of a node are behind the header and before the end; `node` is a 16-bit number.
  @inline(__always)
  private func isWithin(_ node: Int, _ length: Int) -> Bool {
    UInt(bitPattern: node &- Self.headerLength) <= UInt(bitPattern: Self.size &- Self.headerLength &- length)
  }

  /// A key inside the page.
  @inline(__always)
  func checkedKey(_ index: Int) -> UnsafeRawBufferPointer? {
    guard let node = checkedNode(index) else { return nil }
    let length = word16(node + 6)
    guard node &+ Self.nodeHeaderLength &+ length <= Self.size else { return nil }
    return unsafe UnsafeRawBufferPointer(start: base + node + Self.nodeHeaderLength, count: length)
  }

  /// A key of eight bytes inside the page.
  @inline(__always)
  func numberKey(_ index: Int) -> UInt64? {
    let node = uncheckedNode(index)
    guard isWithin(node, Self.nodeHeaderLength &+ 8), word16(node &+ 6) == 8 else { return nil }
    return word64(node &+ Self.nodeHeaderLength).byteSwapped
  }

  // MARK: Branches

  /// The node of a branch that leads to the key: the last one with a key that is not greater. The first one's key
  /// counts as less than any.
  @inline(__always)
  func checkedBranchIndex(_ key: PageKey, _ count: Int) -> Int? {
    if key.isNumber, let index = lastNotAbove(key.number, count) { return index }
    return branchIndex(bytes: key, count)
  }

  @inline(never)
  private func branchIndex(bytes key: PageKey, _ count: Int) -> Int? {
    guard let spot = spot(bytes: key, from: 1, count) else { return nil }
    return spot.isSame ? spot.index : spot.index - 1
  }

  /// The last node with a key that is not greater; the first one counts as one. Nil if there are keys of other lengths.
  @inline(__always)
  private func lastNotAbove(_ number: UInt64, _ count: Int) -> Int? {
    var index = 0
    var left = count
    if count > Self.fewNodes {
      guard let range = evenGuess(number, count) else { return nil }
      index = range.lowerBound
      left = range.upperBound &- range.lowerBound
    }
    while left > 1 {
      let half = left &>> 1
      guard let key = numberKey(index &+ half) else { return nil }
      index = key <= number ? index &+ half : index
      left &-= half
    }
    return index
  }

  /// Below this, binary search is as fast as interpolation.
  private static var fewNodes: Int { 12 }

  /// A range of nodes that contains the wanted one: short if keys have about equal distances, because serials are
  /// consecutive and pages were filled in order.
  @inline(__always)
  private func evenGuess(_ number: UInt64, _ count: Int) -> Range<Int>? {
    let end = count &- 1
    guard let first = numberKey(1), let last = numberKey(end) else { return nil }
    if number < first { return unsafe Range(uncheckedBounds: (0, 1)) }
    if number >= last { return unsafe Range(uncheckedBounds: (end, count)) }
    // Halves, because signed numbers convert faster; plus one to avoid division by zero.
    let distance = Int(truncatingIfNeeded: (number &- first) &>> 1)
    let span = Int(truncatingIfNeeded: (last &- first) &>> 1) &+ 1
    // At most 1, despite rounding: then it is the last one.
    let part = Double(distance) / Double(span)
    var low = 1 &+ Int(part * Double(end &- 1))
    guard let guess = numberKey(low) else { return nil }
    var step = 1
    if guess <= number {
      while low &+ step < end {
        guard let key = numberKey(low &+ step) else { return nil }
        if key > number { break }
        low &+= step
        step &<<= 1
      }
      return unsafe Range(uncheckedBounds: (low, min(low &+ step, end)))
    }
    var high = low
    while high > step {
      guard let key = numberKey(high &- step) else { return nil }
      if key <= number { break }
      high &-= step
      step &<<= 1
    }
    return unsafe Range(uncheckedBounds: (max(high &- step, 0), high))
  }

  // MARK: Leaves

  /// The position of the key in a leaf. `low` is a lower bound of its keys from the branch above. Objects' keys have
  /// few gaps, so the index at that distance is checked first.
  @inline(__always)
  func checkedSpot(_ key: PageKey, low: UInt64, _ count: Int) -> PageSpot? {
    if key.isNumber {
      let distance = key.number &- low
      if distance < UInt64(count), numberKey(Int(distance)) == key.number {
        return PageSpot(index: Int(distance), isSame: true)
      }
      if let index = lastNotAbove(key.number, count), let found = numberKey(index) {
        return PageSpot(index: found < key.number ? index + 1 : index, isSame: found == key.number)
      }
    }
    return spot(bytes: key, from: 0, count)
  }

  /// Prefetches the expected place of a number's entry before the page's node list, which would take as long to load.
  /// The branch above gives the range of the leaf's numbers; entries fill it from the end, one after the other, and are
  /// usually about equally long. A wrong guess only prefetches other bytes.
  @inline(__always)
  func prefetchEntry(_ number: UInt64, low: UInt64, high: UInt64) {
    let count = high &- low
    let index = number &- low
    guard index < count, count <= Self.mostGuessed else { return }
    // Half an entry more than there are, because as much is free on average; two bytes of each are in the list of
    // nodes.
    let length = 2 &* (Self.size &- Self.headerLength) / (2 &* Int(truncatingIfNeeded: count) &+ 1) &- 2
    let start = Self.size &- (Int(truncatingIfNeeded: index) &+ 1) &* length
    // Within the page, or a line next to it, which is harmless: prefetching reads nothing.
    unsafe kvclone_prefetch(base + (start &- Self.guessMargin), length &+ 2 &* Self.guessMargin)
  }

  /// With more entries than this, they are so short that little is gained.
  private static var mostGuessed: UInt64 { 64 }
  /// The tolerance of the guess, in bytes.
  private static var guessMargin: Int { 32 }

  @inline(never)
  private func spot(bytes key: PageKey, from start: Int, _ count: Int) -> PageSpot? {
    var low = start
    var high = count
    while low < high {
      let middle = (low + high) >> 1
      guard let found = unsafe checkedKey(middle) else { return nil }
      let order = unsafe compare(found, key.bytes, .bytes)
      if order == 0 { return PageSpot(index: middle, isSame: true) }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return PageSpot(index: low, isSame: false)
  }
}
