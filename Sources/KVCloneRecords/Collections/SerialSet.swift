public import KVCloneModel

/// A set of serials of one root entity: a bitmap in blocks of 4,096 serials, allocated on demand. Serials are dense, so
/// it costs little more than one bit per object: ten million objects need 1.3 MB, where a hash table would need 300.
/// Blocks are small, so that a hundred objects far apart cost 64 KB and not megabytes.
@usableFromInline
package final class SerialSet {
  /// The same set, without reference counting: valid while the set lives.
  @usableFromInline package let bits: SerialBits

  /// - Parameter maximumSpan: the maximum number of blocks between the first and the last one; keys beyond are stored
  ///   one by one.
  package init(maximumSpan: UInt64 = SerialBits.maximumSpan) {
    bits = SerialBits(maximumSpan: maximumSpan)
  }

  private init(_ bits: SerialBits) { self.bits = bits }

  deinit {
    bits.destroy()
  }

  /// Returns a set with the same members, which does not change with this one. Copies blocks, not members.
  package func copy() -> SerialSet { SerialSet(bits.copy()) }

  /// The number of serials in the set.
  package var count: Int { bits.count }

  /// Adds `serial`; returns whether it is new.
  @inlinable
  package func insert(_ serial: UInt64) -> Bool { bits.insert(serial) }

  /// Removes `serial`; returns whether it was present.
  package func remove(_ serial: UInt64) -> Bool { bits.remove(serial) }

  /// Whether `serial` is in the set.
  @inlinable
  package func contains(_ serial: UInt64) -> Bool { bits.contains(serial) }

  /// The least member that is at least `serial`.
  @inlinable
  package func next(from serial: UInt64) -> UInt64? { bits.next(from: serial) }

  /// Calls `body` with the members, ascending, until it returns false.
  package func forEach<E: Error>(_ body: (UInt64) throws(E) -> Bool) throws(E) { try bits.forEach(body) }

  /// The number of the first block, and the words of each from there on; nil where nothing is allocated. Valid as long
  /// as the set lives, and unchanged as long as nothing is inserted or removed.
  package var blocks: (first: UInt64, words: UnsafeBufferPointer<SerialBits.Words?>) { bits.blocks }
}

/// The bits of a ``SerialSet``, behind one pointer: lookups for every link of a clone must pay neither for exclusivity
/// checks nor for reference counting.
@usableFromInline
package struct SerialBits {
  @inlinable package static var wordsPerBlock: Int { 64 }
  @inlinable package static var blockShift: UInt64 { 12 }
  /// The bits of a serial that are its position in its block.
  @inlinable package static var blockMask: UInt64 { 0xFFF }

  /// The directory spans at most this many blocks: 1.7 × 10^10 serials. No store reaches that by counting, but
  /// corrupted bytes may contain any number, and must not reserve memory for it.
  static let maximumSpan: UInt64 = 1 << 22

  @usableFromInline package typealias Words = UnsafeMutablePointer<UInt64>

  @usableFromInline
  struct State {
    /// Block number of `directory[0]`.
    @usableFromInline var firstBlock: UInt64 = 0
    @usableFromInline var blockCount: UInt64 = 0
    /// The words of each block from `firstBlock`, or nil for a block that is not allocated.
    @usableFromInline var directory: UnsafeMutablePointer<Words?>
    var capacity: UInt64
    let maximumSpan: UInt64
    @usableFromInline var count = 0
    /// Serials outside the directory's span.
    @usableFromInline var far: Set<UInt64> = []
  }

  @usableFromInline let state: UnsafeMutablePointer<State>

  init(maximumSpan: UInt64 = Self.maximumSpan) {
    state = .allocate(capacity: 1)
    let capacity = 4
    let directory = UnsafeMutablePointer<Words?>.allocate(capacity: capacity)
    directory.initialize(repeating: nil, count: capacity)
    state.initialize(to: State(directory: directory, capacity: UInt64(capacity), maximumSpan: maximumSpan))
  }

  /// Frees everything; the set's owner calls it once.
  func destroy() {
    for index in 0..<Int(state.pointee.blockCount) { state.pointee.directory[index]?.deallocate() }
    state.pointee.directory.deallocate()
    state.deinitialize(count: 1)
    state.deallocate()
  }

  func copy() -> SerialBits {
    let copy = SerialBits(maximumSpan: state.pointee.maximumSpan)
    copy.state.pointee.far = state.pointee.far
    copy.state.pointee.count = state.pointee.count
    if state.pointee.blockCount == 0 { return copy }
    copy.reach(first: state.pointee.firstBlock, count: state.pointee.blockCount)
    for index in 0..<Int(state.pointee.blockCount) {
      guard let words = state.pointee.directory[index] else { continue }
      let block = Words.allocate(capacity: Self.wordsPerBlock)
      block.initialize(from: words, count: Self.wordsPerBlock)
      copy.state.pointee.directory[index] = block
    }
    return copy
  }

  /// The number of serials in the set.
  var count: Int { state.pointee.count }

  /// Adds `serial`; returns whether it is new.
  @inlinable @inline(__always)
  package func insert(_ serial: UInt64) -> Bool {
    guard let block = words(serial >> Self.blockShift) ?? allocateBlock(serial >> Self.blockShift) else {
      return insertFar(serial)
    }
    let word = Int(serial & Self.blockMask) >> 6
    let bit: UInt64 = 1 << (serial & 63)
    if block[word] & bit != 0 { return false }
    block[word] |= bit
    state.pointee.count &+= 1
    return true
  }

  /// Removes `serial`; returns whether it was present.
  func remove(_ serial: UInt64) -> Bool {
    guard contains(serial) else { return false }
    state.pointee.count -= 1
    if state.pointee.far.remove(serial) != nil { return true }
    words(serial >> Self.blockShift)?[Int(serial & Self.blockMask) >> 6] &= ~(1 << (serial & 63))
    return true
  }

  /// Whether `serial` is in the set.
  @inlinable @inline(__always)
  package func contains(_ serial: UInt64) -> Bool {
    guard let block = words(serial >> Self.blockShift) else { return isFar(serial) }
    return block[Int(serial & Self.blockMask) >> 6] & (1 << (serial & 63)) != 0
  }

  /// The least member that is at least `serial`.
  @inlinable @inline(__always)
  package func next(from serial: UInt64) -> UInt64? {
    // Serials are mostly consecutive: most results are in the same word.
    if let block = words(serial >> Self.blockShift) {
      let word = Int(serial & Self.blockMask) >> 6
      let bits = block[word] & (~0 << (serial & 63))
      if bits != 0, state.pointee.far.isEmpty { return (serial & ~63) | UInt64(bits.trailingZeroBitCount) }
    }
    return nextBeyond(serial)
  }

  @usableFromInline @inline(never)
  func nextBeyond(_ serial: UInt64) -> UInt64? {
    let near = nextNear(from: serial)
    if state.pointee.far.isEmpty { return near }
    let beyond = state.pointee.far.lazy.filter { $0 >= serial }.min()
    guard let near, let beyond else { return near ?? beyond }
    return min(near, beyond)
  }

  private func nextNear(from serial: UInt64) -> UInt64? {
    let first = state.pointee.firstBlock
    var number = max(serial >> Self.blockShift, first)
    var word = number == serial >> Self.blockShift ? Int(serial & Self.blockMask) >> 6 : 0
    var mask: UInt64 = number == serial >> Self.blockShift ? ~0 << (serial & 63) : ~0
    while number - first < state.pointee.blockCount {
      if let block = state.pointee.directory[Int(number - first)] {
        while word < Self.wordsPerBlock {
          let bits = block[word] & mask
          if bits != 0 { return number << Self.blockShift | UInt64(word << 6 + bits.trailingZeroBitCount) }
          word += 1
          mask = ~0
        }
      }
      number += 1
      word = 0
      mask = ~0
    }
    return nil
  }

  /// Calls `body` with the members, ascending, until it returns false.
  func forEach<E: Error>(_ body: (UInt64) throws(E) -> Bool) throws(E) {
    var serial = next(from: 0)
    while let current = serial {
      guard try body(current) else { return }
      serial = next(from: current + 1)
    }
  }

  /// See ``SerialSet/blocks``.
  var blocks: (first: UInt64, words: UnsafeBufferPointer<Words?>) {
    (
      state.pointee.firstBlock,
      UnsafeBufferPointer(start: state.pointee.directory, count: Int(state.pointee.blockCount))
    )
  }

  @inlinable @inline(__always)
  func words(_ number: UInt64) -> Words? {
    // Wraps to a large number below the first block.
    let index = number &- state.pointee.firstBlock
    return index < state.pointee.blockCount ? state.pointee.directory[Int(truncatingIfNeeded: index)] : nil
  }

  @usableFromInline @inline(never)
  func isFar(_ serial: UInt64) -> Bool {
    !state.pointee.far.isEmpty && state.pointee.far.contains(serial)
  }

  @usableFromInline
  func insertFar(_ serial: UInt64) -> Bool {
    guard state.pointee.far.insert(serial).inserted else { return false }
    state.pointee.count += 1
    return true
  }

  /// Allocates the block; nil if it is outside of the span.
  @usableFromInline @inline(never)
  func allocateBlock(_ number: UInt64) -> Words? {
    let isEmpty = state.pointee.blockCount == 0
    let first = isEmpty ? number : min(number, state.pointee.firstBlock)
    let last = isEmpty ? number : max(number, state.pointee.firstBlock + state.pointee.blockCount - 1)
    guard last - first < state.pointee.maximumSpan else { return nil }
    reach(first: first, count: last - first + 1)
    let block = Words.allocate(capacity: Self.wordsPerBlock)
    block.initialize(repeating: 0, count: Self.wordsPerBlock)
    state.pointee.directory[Int(number - first)] = block
    return block
  }

  /// Makes the directory span these blocks.
  private func reach(first: UInt64, count: UInt64) {
    let shift = state.pointee.blockCount == 0 ? 0 : Int(state.pointee.firstBlock - first)
    if count > state.pointee.capacity || shift > 0 {
      let capacity = count > state.pointee.capacity ? max(count, state.pointee.capacity * 2) : state.pointee.capacity
      let larger = UnsafeMutablePointer<Words?>.allocate(capacity: Int(capacity))
      larger.initialize(repeating: nil, count: Int(capacity))
      for index in 0..<Int(state.pointee.blockCount) { larger[index + shift] = state.pointee.directory[index] }
      state.pointee.directory.deallocate()
      state.pointee.directory = larger
      state.pointee.capacity = capacity
    }
    state.pointee.firstBlock = first
    state.pointee.blockCount = count
  }
}

/// A set of objects: one `SerialSet` per root entity.
@usableFromInline
package struct ObjectSet {
  /// By root code.
  package private(set) var sets: [SerialSet?] = []
  /// The same sets.
  @usableFromInline var bits: [SerialBits?] = []
  package init() {}

  /// Creates a set of these objects.
  package init(_ ids: [ObjectID]) {
    for id in ids { _ = insert(id) }
  }

  /// Creates a set of the objects of one root entity.
  package init(rootCode: UInt16, _ set: SerialSet) {
    sets = Array(repeating: nil, count: Int(rootCode)) + [set]
    bits = sets.map { $0?.bits }
  }

  /// Returns a set with the same members, which does not change with this one.
  package func copy() -> ObjectSet {
    var copy = ObjectSet()
    copy.sets = sets.map { $0?.copy() }
    copy.bits = copy.sets.map { $0?.bits }
    return copy
  }

  /// The number of objects in the set.
  package var count: Int { sets.reduce(0) { $0 + ($1?.count ?? 0) } }
  package var isEmpty: Bool { count == 0 }

  /// Adds `id`; returns whether it is new.
  @inlinable @inline(__always)
  package mutating func insert(_ id: ObjectID) -> Bool {
    let root = Int(id.rootCode)
    if root < bits.count, let set = bits[root] { return set.insert(id.serial) }
    return addSet(root).insert(id.serial)
  }

  @usableFromInline @inline(never)
  mutating func addSet(_ root: Int) -> SerialBits {
    while sets.count <= root {
      sets.append(nil)
      bits.append(nil)
    }
    let set = SerialSet()
    sets[root] = set
    bits[root] = set.bits
    return set.bits
  }

  /// Removes `id`; returns whether it was present.
  package func remove(_ id: ObjectID) -> Bool {
    Int(id.rootCode) < sets.count ? sets[Int(id.rootCode)]?.remove(id.serial) ?? false : false
  }

  /// Whether `id` is in the set.
  @inlinable @inline(__always)
  package func contains(_ id: ObjectID) -> Bool {
    guard Int(id.rootCode) < bits.count, let set = bits[Int(id.rootCode)] else { return false }
    return set.contains(id.serial)
  }

  /// The members of one root entity.
  package func set(rootCode: UInt16) -> SerialSet? { Int(rootCode) < sets.count ? sets[Int(rootCode)] : nil }

  /// Calls `body` with the members, by root entity and then serial, until it returns false.
  package func forEach<E: Error>(_ body: (ObjectID) throws(E) -> Bool) throws(E) {
    for (root, set) in sets.enumerated() {
      guard let set else { continue }
      var goesOn = true
      try set.forEach { serial throws(E) in
        goesOn = try body(ObjectID(rootCode: UInt16(root), serial: serial))
        return goesOn
      }
      if !goesOn { return }
    }
  }
}
