package import KVCloneModel

/// The sources of a small clone, of any root entities, in one hash table.
///
/// A bitmap allocates memory for every root entity and every 4,096 serials; this set allocates once: the ids in the
/// order in which they were found, and two bytes a slot with the index of an id. `finish` sorts the ids; an object's
/// number is then its rank.
package final class SmallObjectSet {
  /// The same objects, without reference counting: valid while this object lives.
  package let table = FewObjectTable()

  package init() {}

  deinit {
    table.destroy()
  }
}

/// The implementation of ``SmallObjectSet`` behind one pointer: looked up for every link of a clone.
package struct FewObjectTable {
  /// A slot has two bytes, and half of the slots stay free.
  package static let maximumCount = 1 << 14

  private struct State {
    /// Raw ids; behind them the slots, each the number of an object from 1, or 0; behind them the visited flags.
    var ids: UnsafeMutablePointer<UInt64>
    var slots: UnsafeMutablePointer<UInt16>
    var isVisited: UnsafeMutablePointer<Bool>
    var capacity: Int
    /// One less than the number of slots, which is a power of two.
    var mask: Int
    /// The shift of a hash that yields a slot.
    var shift: UInt64
    var count = 0
    /// Whether the ids arrived in ascending order, as in most graphs.
    var isAscending = true
  }

  private let state: UnsafeMutablePointer<State>

  fileprivate init() {
    state = .allocate(capacity: 1)
    state.initialize(to: Self.memory(capacityBits: 7))
  }

  fileprivate func destroy() {
    state.pointee.ids.deallocate()
    state.deallocate()
  }

  /// Allocates everything for 2^`bits` objects at once.
  private static func memory(capacityBits bits: UInt64) -> State {
    let capacity = 1 << Int(bits)
    let memory = UnsafeMutableRawPointer.allocate(byteCount: 13 * capacity, alignment: 8)
    let ids = memory.bindMemory(to: UInt64.self, capacity: capacity)
    let slots = (memory + 8 * capacity).bindMemory(to: UInt16.self, capacity: 2 * capacity)
    let isVisited = (memory + 12 * capacity).bindMemory(to: Bool.self, capacity: capacity)
    slots.initialize(repeating: 0, count: 2 * capacity)
    isVisited.initialize(repeating: false, count: capacity)
    return State(
      ids: ids, slots: slots, isVisited: isVisited, capacity: capacity, mask: 2 * capacity - 1, shift: 63 - bits)
  }

  /// The number of objects.
  package var count: Int { state.pointee.count }

  /// The raw ids, ascending after `finish`. They live as long as their owner.
  package var ids: UnsafeBufferPointer<UInt64> { UnsafeBufferPointer(start: state.pointee.ids, count: count) }

  /// Adds an object; returns whether it is new.
  package func insert(_ id: ObjectID) -> Bool {
    if number(of: id) != 0 { return false }
    let count = state.pointee.count
    if count == state.pointee.capacity { grow() }
    if count > 0, state.pointee.ids[count - 1] > id.rawValue { state.pointee.isAscending = false }
    state.pointee.ids[count] = id.rawValue
    state.pointee.count = count + 1
    place(count)
    return true
  }

  /// Marks an object as visited; returns whether it was not before. Objects outside of the set are never visited.
  package func visit(_ id: ObjectID) -> Bool {
    let number = number(of: id)
    if number == 0 { return true }
    if state.pointee.isVisited[number - 1] { return false }
    state.pointee.isVisited[number - 1] = true
    return true
  }

  /// Calls `body` with the objects in insertion order, and whether each was visited.
  package func forEachVisit(_ body: (ObjectID, Bool) -> Void) {
    for index in 0..<count { body(ObjectID(rawValue: state.pointee.ids[index]), state.pointee.isVisited[index]) }
  }

  /// Ends the search: sorts the objects by id.
  package func finish() {
    if state.pointee.isAscending { return }
    var ids = UnsafeMutableBufferPointer(start: state.pointee.ids, count: count)
    ids.sort()
    state.pointee.slots.update(repeating: 0, count: state.pointee.mask + 1)
    for index in 0..<count { place(index) }
  }

  /// Whether the set contains an object.
  @inline(__always)
  package func contains(_ id: ObjectID) -> Bool { number(of: id) != 0 }

  /// An object's number, from 1: its index in `ids` plus one; 0 for other objects.
  @inline(__always)
  package func number(of id: ObjectID) -> Int {
    let (ids, slots, mask) = (state.pointee.ids, state.pointee.slots, state.pointee.mask)
    var slot = hash(id.rawValue)
    while true {
      let number = Int(slots[slot])
      if number == 0 || ids[number &- 1] == id.rawValue { return number }
      slot = (slot &+ 1) & mask
    }
  }

  /// Fibonacci hashing: spreads consecutive serials.
  @inline(__always)
  private func hash(_ id: UInt64) -> Int {
    Int(truncatingIfNeeded: (id &* 0x9E37_79B9_7F4A_7C15) &>> state.pointee.shift)
  }

  /// Stores an object in the first free slot of its probe sequence.
  private func place(_ index: Int) {
    var slot = hash(state.pointee.ids[index])
    while state.pointee.slots[slot] != 0 { slot = (slot &+ 1) & state.pointee.mask }
    state.pointee.slots[slot] = UInt16(truncatingIfNeeded: index + 1)
  }

  @inline(never)
  private func grow() {
    let old = state.pointee
    var new = Self.memory(capacityBits: UInt64(old.capacity.trailingZeroBitCount) + 3)
    new.count = old.count
    new.isAscending = old.isAscending
    new.ids.update(from: old.ids, count: old.count)
    new.isVisited.update(from: old.isVisited, count: old.count)
    state.pointee = new
    for index in 0..<old.count { place(index) }
    old.ids.deallocate()
  }
}
