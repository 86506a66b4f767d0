import KVCloneModel

/// A set of serials of one root entity: a bitmap in blocks of 65,536 serials, allocated on demand. Serials are dense, so
/// it costs little more than one bit per object: ten million objects need 1.3 MB, where a hash table would need 300.
final class SerialSet {
  static let wordsPerBlock = 1024
  static let blockShift: UInt64 = 16

  /// The directory spans at most this many blocks: 2.7 × 10^11 serials. No store gets there by counting, but the bytes of
  /// a damaged file may say anything, and must not make us reserve memory for it.
  private static let maximumSpan: UInt64 = 1 << 22

  /// Serials outside the directory's span.
  private var far: Set<UInt64> = []
  /// Block number of `directory[0]`.
  private var firstBlock: UInt64 = 0
  /// Index into `blocks` for each block number from `firstBlock`; −1 where nothing is allocated.
  private var directory: [Int32] = []
  private var blocks: [UnsafeMutablePointer<UInt64>] = []
  /// How many serials are in the set.
  private(set) var count = 0

  deinit {
    for block in blocks { block.deallocate() }
  }

  /// Adds `serial`; whether it is new.
  @inline(__always)
  func insert(_ serial: UInt64) -> Bool {
    guard let block = self.block(for: serial >> Self.blockShift) else { return insertFar(serial) }
    let word = Int(serial & 0xFFFF) >> 6
    let bit: UInt64 = 1 << (serial & 63)
    if block[word] & bit != 0 { return false }
    block[word] |= bit
    count += 1
    return true
  }

  /// Takes `serial` out; whether it was there.
  func remove(_ serial: UInt64) -> Bool {
    guard contains(serial) else { return false }
    if far.remove(serial) != nil {
      count -= 1
      return true
    }
    let slot = Int(directory[Int((serial >> Self.blockShift) - firstBlock)])
    blocks[slot][Int(serial & 0xFFFF) >> 6] &= ~(1 << (serial & 63))
    count -= 1
    return true
  }

  /// Whether `serial` is in the set.
  @inline(__always)
  func contains(_ serial: UInt64) -> Bool {
    let number = serial >> Self.blockShift
    guard number >= firstBlock, number - firstBlock < UInt64(directory.count) else {
      return !far.isEmpty && far.contains(serial)
    }
    let slot = directory[Int(number - firstBlock)]
    guard slot >= 0 else { return false }
    return blocks[Int(slot)][Int(serial & 0xFFFF) >> 6] & (1 << (serial & 63)) != 0
  }

  /// The least member that is at least `serial`.
  func next(from serial: UInt64) -> UInt64? {
    let near = nextNear(from: serial)
    if far.isEmpty { return near }
    let beyond = far.lazy.filter { $0 >= serial }.min()
    guard let near, let beyond else { return near ?? beyond }
    return min(near, beyond)
  }

  private func nextNear(from serial: UInt64) -> UInt64? {
    var number = max(serial >> Self.blockShift, firstBlock)
    var word = number == serial >> Self.blockShift ? Int(serial & 0xFFFF) >> 6 : 0
    var mask: UInt64 = number == serial >> Self.blockShift ? ~0 << (serial & 63) : ~0
    while number - firstBlock < UInt64(directory.count) {
      let slot = directory[Int(number - firstBlock)]
      if slot >= 0 {
        while word < Self.wordsPerBlock {
          let bits = blocks[Int(slot)][word] & mask
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

  /// The members, ascending, until `body` answers false.
  func forEach<E: Error>(_ body: (UInt64) throws(E) -> Bool) throws(E) {
    var serial = next(from: 0)
    while let current = serial {
      guard try body(current) else { return }
      serial = next(from: current + 1)
    }
  }

  /// The number of the first block, and the words of each from there on; nil where nothing is allocated. They live as
  /// long as the set, and stay what they are as long as nothing is inserted or removed.
  func withBlocks<R>(_ body: (UInt64, [UnsafeMutablePointer<UInt64>?]) -> R) -> R {
    body(firstBlock, directory.map { $0 < 0 ? nil : blocks[Int($0)] })
  }

  private func insertFar(_ serial: UInt64) -> Bool {
    guard far.insert(serial).inserted else { return false }
    count += 1
    return true
  }

  /// The block's words; nil where it lies outside the span.
  @inline(__always)
  private func block(for number: UInt64) -> UnsafeMutablePointer<UInt64>? {
    if number >= firstBlock, number - firstBlock < UInt64(directory.count) {
      let slot = directory[Int(number - firstBlock)]
      if slot >= 0 { return blocks[Int(slot)] }
    }
    return allocateBlock(number)
  }

  @inline(never)
  private func allocateBlock(_ number: UInt64) -> UnsafeMutablePointer<UInt64>? {
    let last = directory.isEmpty ? number : firstBlock + UInt64(directory.count) - 1
    let first = directory.isEmpty ? number : firstBlock
    guard max(last, number) - min(first, number) < Self.maximumSpan else { return nil }
    if directory.isEmpty {
      firstBlock = number
    } else if number < firstBlock {
      directory.insert(contentsOf: repeatElement(-1, count: Int(firstBlock - number)), at: 0)
      firstBlock = number
    }
    let missing = Int(number - firstBlock) + 1 - directory.count
    if missing > 0 { directory.append(contentsOf: repeatElement(-1, count: missing)) }
    let block = UnsafeMutablePointer<UInt64>.allocate(capacity: Self.wordsPerBlock)
    block.initialize(repeating: 0, count: Self.wordsPerBlock)
    directory[Int(number - firstBlock)] = Int32(blocks.count)
    blocks.append(block)
    return block
  }
}

/// The ranks of a set's members, which turn an old serial into a new one without a map.
///
/// Made once the set is complete, and immutable: what is asked for every link of a clone must not pay for exclusivity
/// checks. 2 bytes per 64 serials on top of the set.
final class SerialRanks: @unchecked Sendable {
  /// One block of 65,536 serials.
  private struct Block {
    let words: UnsafeMutablePointer<UInt64>
    /// Members in the words before each word.
    let prefixes: UnsafeMutablePointer<UInt16>
    /// Members in the blocks before.
    let base: UInt64
  }

  private let firstBlock: UInt64
  private let blockCount: UInt64
  private let blocks: UnsafeMutablePointer<Block?>
  /// The set owns the words.
  private let set: SerialSet
  let count: Int

  init(_ set: SerialSet) {
    self.set = set
    count = set.count
    (firstBlock, blocks, blockCount) = set.withBlocks { first, words in
      let blocks = UnsafeMutablePointer<Block?>.allocate(capacity: max(1, words.count))
      var total: UInt64 = 0
      for (index, words) in words.enumerated() {
        guard let words else {
          (blocks + index).initialize(to: nil)
          continue
        }
        let prefixes = UnsafeMutablePointer<UInt16>.allocate(capacity: SerialSet.wordsPerBlock)
        let base = total
        for word in 0..<SerialSet.wordsPerBlock {
          prefixes[word] = UInt16(truncatingIfNeeded: total - base)
          total += UInt64(words[word].nonzeroBitCount)
        }
        (blocks + index).initialize(to: Block(words: words, prefixes: prefixes, base: base))
      }
      return (first, blocks, UInt64(words.count))
    }
  }

  deinit {
    for index in 0..<Int(blockCount) { blocks[index]?.prefixes.deallocate() }
    blocks.deallocate()
  }

  /// How many members are less than `serial`, which is a member itself; nil for serials that are no members.
  @inline(__always)
  func rank(of serial: UInt64) -> UInt64? {
    let number = (serial >> SerialSet.blockShift) &- firstBlock
    guard number < blockCount, let block = blocks[Int(number)] else { return nil }
    let word = Int(serial & 0xFFFF) >> 6
    let bits = block.words[word]
    let bit: UInt64 = 1 << (serial & 63)
    guard bits & bit != 0 else { return nil }
    return block.base &+ UInt64(block.prefixes[word]) &+ UInt64((bits & (bit &- 1)).nonzeroBitCount)
  }
}

/// A set of objects: one `SerialSet` per root entity.
struct ObjectSet {
  /// By root code.
  private(set) var sets: [SerialSet?] = []
  /// How many objects are in the set.
  var count: Int { sets.reduce(0) { $0 + ($1?.count ?? 0) } }
  var isEmpty: Bool { count == 0 }

  /// Adds `id`; whether it is new.
  @inline(__always)
  mutating func insert(_ id: ObjectID) -> Bool {
    let root = Int(id.rootCode)
    if root < sets.count, let set = sets[root] { return set.insert(id.serial) }
    while sets.count <= root { sets.append(nil) }
    let set = SerialSet()
    sets[root] = set
    return set.insert(id.serial)
  }

  /// Takes `id` out; whether it was there.
  func remove(_ id: ObjectID) -> Bool {
    Int(id.rootCode) < sets.count ? sets[Int(id.rootCode)]?.remove(id.serial) ?? false : false
  }

  /// Whether `id` is in the set.
  @inline(__always)
  func contains(_ id: ObjectID) -> Bool {
    guard Int(id.rootCode) < sets.count, let set = sets[Int(id.rootCode)] else { return false }
    return set.contains(id.serial)
  }

  /// The members of one root entity.
  func set(rootCode: UInt16) -> SerialSet? { Int(rootCode) < sets.count ? sets[Int(rootCode)] : nil }

  /// The members, by root entity and then serial, until `body` answers false.
  func forEach<E: Error>(_ body: (ObjectID) throws(E) -> Bool) throws(E) {
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
