import KVCloneModel
import KVCloneRecords

/// Maps a source's id to its clone's without a hash table, by the source's rank among the marked objects of its root
/// entity.
///
/// A clone's id is the id of its root entity's first clone, plus the number of sources for every earlier copy, plus the
/// source's rank. In another store the root entity may have another code there. Created once the mark is complete;
/// takes 2 bytes per 64 serials in addition to the set, if it is a bitmap. The set of a small clone knows the ranks
/// itself.
final class CloneIDs: @unchecked Sendable {
  /// By root code.
  private let roots: UnsafeMutablePointer<CloneIDMap.Root>
  private let rootCount: Int
  /// Retain the words.
  private let sets: [SerialSet?]
  /// Retains the table of a small clone's sources.
  private let few: SmallObjectSet?
  /// A block without members, for gaps.
  private let nothing: CloneIDMap.Block?

  /// By the root code of the clones: the serial of the first one; the greatest number for none.
  private let floors: [UInt64]

  /// The current copy, from 0.
  private(set) var copy = 0

  /// - Parameter first: the id of the first clone of a root entity, by the root code of its sources.
  init(_ set: ObjectSet, first: [UInt16: ObjectID]) {
    floors = Self.floors(first)
    sets = set.sets
    few = nil
    rootCount = sets.count
    roots = .allocate(capacity: max(1, rootCount))
    roots.initialize(repeating: CloneIDMap.Root(), count: max(1, rootCount))
    let zeros = SerialBits.Words.allocate(capacity: SerialBits.wordsPerBlock)
    zeros.initialize(repeating: 0, count: SerialBits.wordsPerBlock)
    let nothing = CloneIDMap.Block(words: zeros, prefixes: .allocate(capacity: 1), base: 0)
    self.nothing = nothing
    for (code, set) in sets.enumerated() {
      guard let set else { continue }
      roots[code] = Self.root(set, first: first[UInt16(code)] ?? Self.noID, nothing)
    }
  }

  /// Creates the map for a clone set in either form.
  convenience init(_ set: CloneSet, first: [UInt16: ObjectID]) {
    if let few = set.fewObjects { self.init(few, set.roots, first: first) } else { self.init(set.bits, first: first) }
  }

  private init(_ few: SmallObjectSet, _ members: [CloneMembers], first: [UInt16: ObjectID]) {
    floors = Self.floors(first)
    self.few = few
    sets = []
    nothing = nil
    rootCount = members.last.map { Int($0.rootCode) + 1 } ?? 0
    roots = .allocate(capacity: max(1, rootCount))
    roots.initialize(repeating: CloneIDMap.Root(), count: max(1, rootCount))
    var number: UInt64 = 1
    for members in members {
      let first = (first[members.rootCode] ?? Self.noID).rawValue
      roots[Int(members.rootCode)] = CloneIDMap.Root(
        count: UInt64(members.count), first: first, base: first, firstNumber: number)
      number += UInt64(members.count)
    }
  }

  private static let noID = ObjectID(rawValue: 0)

  private static func floors(_ first: [UInt16: ObjectID]) -> [UInt64] {
    var floors = Array(repeating: UInt64.max, count: Int(first.values.map(\.rootCode).max() ?? 0) + 1)
    for id in first.values { floors[Int(id.rootCode)] = min(floors[Int(id.rootCode)], id.serial) }
    return floors
  }

  private static func root(_ set: SerialSet, first: ObjectID, _ nothing: CloneIDMap.Block)
    -> CloneIDMap.Root
  {
    let (firstBlock, words) = set.blocks
    let blocks = UnsafeMutablePointer<CloneIDMap.Block>.allocate(capacity: max(1, words.count))
    var total: UInt64 = 0
    for index in 0..<words.count {
      guard let words = words[index] else {
        (blocks + index).initialize(to: nothing)
        continue
      }
      let prefixes = UnsafeMutablePointer<UInt16>.allocate(capacity: SerialBits.wordsPerBlock)
      let base = total
      for word in 0..<SerialBits.wordsPerBlock {
        prefixes[word] = UInt16(truncatingIfNeeded: total - base)
        total += UInt64(words[word].nonzeroBitCount)
      }
      (blocks + index).initialize(to: CloneIDMap.Block(words: words, prefixes: prefixes, base: base))
    }
    return CloneIDMap.Root(
      firstBlock: firstBlock, blockCount: UInt64(words.count), blocks: blocks, count: UInt64(set.count),
      first: first.rawValue, base: first.rawValue)
  }

  deinit {
    defer { roots.deallocate() }
    guard let nothing else { return }
    for code in 0..<rootCount {
      guard let blocks = roots[code].blocks else { continue }
      for index in 0..<Int(roots[code].blockCount) where blocks[index].words != nothing.words {
        blocks[index].prefixes.deallocate()
      }
      blocks.deallocate()
    }
    nothing.words.deallocate()
    nothing.prefixes.deallocate()
  }

  /// Selects the copy for which ids are returned.
  func select(copy: Int) {
    self.copy = copy
    for code in 0..<rootCount { roots[code].base = roots[code].first + UInt64(copy) * roots[code].count }
  }

  /// The same ids, without reference counting: valid while this lives.
  var map: CloneIDMap { CloneIDMap(roots: roots, rootCount: rootCount, few: few?.table) }

  /// The id of a source's clone; nil for objects that are not marked.
  func clone(of id: ObjectID) -> ObjectID? { map.clone(of: id) }

  /// The id of a source's clone in one of the copies.
  func clone(of id: ObjectID, copy: Int) -> ObjectID? {
    guard let clone = clone(of: id) else { return nil }
    let root = roots[Int(id.rootCode)]
    return ObjectID(rawValue: clone.rawValue - root.base + root.first + UInt64(copy) * root.count)
  }

  /// Whether this operation creates the object: its clones have the highest serials of their root entity.
  func isClone(_ id: ObjectID) -> Bool {
    let code = Int(id.rootCode)
    return code < floors.count && id.serial >= floors[code]
  }
}

/// The implementation of ``CloneIDs``: looked up for every link of a clone.
struct CloneIDMap {
  /// One block of the set.
  struct Block {
    let words: SerialBits.Words
    /// The number of members in the words before each word.
    let prefixes: UnsafeMutablePointer<UInt16>
    /// The number of members in the blocks before.
    let base: UInt64
  }

  struct Root {
    var firstBlock: UInt64 = 0
    var blockCount: UInt64 = 0
    var blocks: UnsafeMutablePointer<Block>?
    /// The number of sources of this root entity.
    var count: UInt64 = 0
    /// The raw id of the first clone of the first copy.
    var first: UInt64 = 0
    /// The raw id of the first clone of the current copy.
    var base: UInt64 = 0
    /// The number of its first source among all of a small clone.
    var firstNumber: UInt64 = 0
  }

  /// By root code.
  fileprivate let roots: UnsafeMutablePointer<Root>
  fileprivate let rootCount: Int
  /// The sources of a small clone.
  fileprivate let few: FewObjectTable?

  /// The id of a source's clone; nil for objects that are not marked.
  @inline(__always)
  func clone(of id: ObjectID) -> ObjectID? {
    if let few {
      let number = few.number(of: id)
      if number == 0 { return nil }
      let root = roots + Int(id.rootCode)
      return ObjectID(
        rawValue: root.pointee.base &- root.pointee.firstNumber &+ UInt64(truncatingIfNeeded: number))
    }
    let code = Int(id.rootCode)
    guard code < rootCount else { return nil }
    let root = roots + code
    let serial = id.serial
    let number = (serial >> SerialBits.blockShift) &- root.pointee.firstBlock
    guard number < root.pointee.blockCount, let blocks = root.pointee.blocks else { return nil }
    let block = blocks + Int(truncatingIfNeeded: number)
    let word = Int(truncatingIfNeeded: serial & SerialBits.blockMask) >> 6
    let bits = block.pointee.words[word]
    let bit: UInt64 = 1 &<< (serial & 63)
    guard bits & bit != 0 else { return nil }
    let rank =
      block.pointee.base &+ UInt64(block.pointee.prefixes[word]) &+ UInt64((bits & (bit &- 1)).nonzeroBitCount)
    return ObjectID(rawValue: root.pointee.base &+ rank)
  }
}

/// The ranks of a set's members: the number of lesser members.
struct SerialRanks {
  private let ids: CloneIDs

  init(_ set: SerialSet) {
    // A root code that no entity has; ranks start at 0.
    ids = CloneIDs(ObjectSet(rootCode: 0, set), first: [:])
  }

  /// The rank of `serial`; nil if it is not a member.
  func rank(of serial: UInt64) -> UInt64? {
    ids.clone(of: ObjectID(rootCode: 0, serial: serial))?.serial
  }
}
