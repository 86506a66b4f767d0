import Glibc

/// Builds a tree of a new file from its entries in ascending order: every page but the last of a level is full, and
/// unused bytes are zero.
///
/// No deleted data gets into the new file: LMDB leaves it between the entries of a page, and in keys of branches that
/// led to it.
@safe
final class TreeBuilder {
  private let output: PageOutput
  private let order: PageKeyOrder
  private var levels: [Level] = []
  private var last = KeyCopy()
  private(set) var branchPages: UInt64 = 0
  private(set) var leafPages: UInt64 = 0
  var overflowPages: UInt64 = 0
  private(set) var entries: UInt64 = 0

  init(_ output: PageOutput, order: PageKeyOrder = .bytes) {
    self.output = output
    self.order = order
  }

  /// Whether a key is greater than all added ones.
  func isNext(_ key: UnsafeRawBufferPointer) -> Bool {
    if entries == 0 { return true }
    return unsafe compare(key, last.bytes, order) > 0
  }

  /// Records the last key of entries that were added in ascending order.
  func noteLast(_ key: UnsafeRawBufferPointer) { unsafe last.set(key) }

  /// Adds a leaf's node, and returns its address, valid until the next one is added.
  @inline(__always)
  func add(_ node: UnsafeRawBufferPointer) throws(LMDBError) -> UnsafeMutableRawPointer {
    let place = try unsafe room(for: node.count)
    if let base = node.baseAddress { unsafe place.copyMemory(from: base, byteCount: node.count) }
    return unsafe place
  }

  @inline(__always)
  private func room(for count: Int) throws(LMDBError) -> UnsafeMutableRawPointer {
    if levels.isEmpty { levels.append(Level(flags: PageView.leafFlag)) }
    if !levels[0].hasRoom(for: count) { try finishPage(0) }
    entries += 1
    return unsafe levels[0].append(count)
  }

  func add(_ node: [UInt8]) throws(LMDBError) {
    let place = try unsafe room(for: node.count)
    unsafe node.withUnsafeBytes { node in
      if let base = node.baseAddress { unsafe place.copyMemory(from: base, byteCount: node.count) }
    }
  }

  /// Writes the remaining pages; returns the tree as an `MDB_db`.
  func finish(pad: UInt32 = 0, flags: UInt16) throws(LMDBError) -> [UInt8] {
    var root = PageTree.noPage
    var level = 0
    while level < levels.count {
      if level + 1 < levels.count { try finishPage(level) } else { root = try write(level) }
      level += 1
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(PageTree.length)
    bytes.append(littleEndian: pad)
    bytes.append(littleEndian: flags)
    bytes.append(littleEndian: UInt16(levels.count))
    for word in [branchPages, leafPages, overflowPages, entries, root] { bytes.append(littleEndian: word) }
    return bytes
  }

  /// Writes a page and adds it to the level above.
  private func finishPage(_ level: Int) throws(LMDBError) {
    let key = KeyCopy()
    let first = levels[level].first
    if level == 0 { unsafe key.set(levels[0].view.key(0)) } else { unsafe key.set(first.bytes) }
    let number = try write(level)
    levels[level].clear()
    if level + 1 == levels.count { levels.append(Level(flags: PageView.branchFlag)) }
    try addBranch(level + 1, key, number)
  }

  /// A branch has at least two nodes, so a new one starts with the last one of the page before.
  private func addBranch(_ level: Int, _ key: KeyCopy, _ child: UInt64) throws(LMDBError) {
    if !levels[level].hasRoom(for: PageView.nodeHeaderLength + key.count) {
      let view = levels[level].view
      let index = view.count - 1
      let moved = KeyCopy()
      unsafe moved.set(view.key(index))
      let movedChild = view.child(index)
      levels[level].removeLast()
      try finishPage(level)
      begin(level, moved, movedChild)
    }
    if levels[level].view.count == 0 { begin(level, key, child) } else { append(level, key, child) }
  }

  /// The first key of a branch is stored only in the page above.
  private func begin(_ level: Int, _ key: KeyCopy, _ child: UInt64) {
    unsafe levels[level].first.set(key.bytes)
    append(level, KeyCopy(), child)
  }

  private func append(_ level: Int, _ key: KeyCopy, _ child: UInt64) {
    let place = unsafe levels[level].append(PageView.nodeHeaderLength + key.count)
    let header = child | UInt64(key.count) << 48
    unsafe place.storeBytes(of: header.littleEndian, as: UInt64.self)
    unsafe (place + PageView.nodeHeaderLength).copyMemory(from: key.start, byteCount: key.count)
  }

  private func write(_ level: Int) throws(LMDBError) -> UInt64 {
    if level == 0 { leafPages += 1 } else { branchPages += 1 }
    let number = output.nextPage
    let place = try unsafe output.place(PageView.size)
    unsafe place.copyMemory(from: levels[level].page, byteCount: PageView.size)
    unsafe place.storeBytes(of: number.littleEndian, as: UInt64.self)
    return number
  }
}

/// The page of a level that is being filled, in the format of `PageView`.
@safe
private final class Level {
  let page: UnsafeMutableRawPointer
  /// A branch's least key.
  let first = KeyCopy()
  private let flags: Int
  private var lower = PageView.headerLength
  private var upper = PageView.size

  init(flags: Int) {
    unsafe page = .allocate(byteCount: PageView.size, alignment: 16)
    self.flags = flags
    clear()
  }

  deinit {
    unsafe page.deallocate()
  }

  var view: PageView { unsafe PageView(page) }

  @inline(__always)
  func hasRoom(for count: Int) -> Bool { lower + 2 + (count + 1) & ~1 <= upper }

  func clear() {
    unsafe page.initializeMemory(as: UInt8.self, repeating: 0, count: PageView.size)
    unsafe page.storeBytes(of: UInt16(flags).littleEndian, toByteOffset: 10, as: UInt16.self)
    lower = PageView.headerLength
    upper = PageView.size
    writeBounds()
  }

  @inline(__always)
  private func writeBounds() {
    unsafe page.storeBytes(of: UInt16(lower).littleEndian, toByteOffset: 12, as: UInt16.self)
    unsafe page.storeBytes(of: UInt16(upper).littleEndian, toByteOffset: 14, as: UInt16.self)
  }

  /// Reserves space for a node, which fits.
  @inline(__always)
  func append(_ count: Int) -> UnsafeMutableRawPointer {
    upper -= (count + 1) & ~1
    unsafe page.storeBytes(of: UInt16(upper).littleEndian, toByteOffset: lower, as: UInt16.self)
    lower += 2
    writeBounds()
    return unsafe page + upper
  }

  func removeLast() {
    let length = (PageView.nodeHeaderLength + view.keyLength(view.count - 1) + 1) & ~1
    unsafe (page + upper).initializeMemory(as: UInt8.self, repeating: 0, count: length)
    upper += length
    lower -= 2
    unsafe page.storeBytes(of: 0, toByteOffset: lower, as: UInt16.self)
    writeBounds()
  }
}

/// A copy of a key.
@safe
private final class KeyCopy {
  let start: UnsafeMutableRawPointer
  private(set) var count = 0

  init() {
    unsafe start = .allocate(byteCount: LMDBLimits.maximumKeyLength, alignment: 16)
  }

  deinit {
    unsafe start.deallocate()
  }

  var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: start, count: count) }

  func set(_ key: UnsafeRawBufferPointer) {
    count = min(key.count, LMDBLimits.maximumKeyLength)
    if let base = key.baseAddress { unsafe start.copyMemory(from: base, byteCount: count) }
  }
}

extension [UInt8] {
  mutating func append<Word: FixedWidthInteger>(littleEndian word: Word) {
    for shift in stride(from: 0, to: Word.bitWidth, by: 8) { append(UInt8(truncatingIfNeeded: word >> shift)) }
  }
}
