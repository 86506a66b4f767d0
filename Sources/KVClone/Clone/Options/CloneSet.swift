import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The set of objects that a clone copies: a hash table for a small clone, otherwise a bitmap. It starts as the table,
/// and is converted when the table would exceed its limit.
struct CloneSet {
  /// The maximum number of objects in a small clone: for fewer, the cost of bitmaps would dominate.
  static let smallLimit = 1_000

  /// The objects of a small clone; nil once there are more.
  private var few: SmallObjectSet?
  /// The same, without reference counting.
  private var table: FewObjectTable?
  private let limit: Int
  private var many = ObjectSet()
  private var visited = ObjectSet()
  /// The objects of each root entity that has some, by ascending code, after `finish`.
  private(set) var roots: [CloneMembers] = []

  /// - Parameter limit: the maximum size of the table; 0 starts with the bitmap.
  init(smallLimit limit: Int) {
    self.limit = min(limit, FewObjectTable.maximumCount - 1)
    if limit > 0 {
      let few = SmallObjectSet()
      self.few = few
      table = few.table
    }
  }

  /// Whether this is the set of a small clone.
  var isSmall: Bool { table != nil }

  /// The number of objects.
  var count: Int { table?.count ?? many.count }

  /// Adds an object; returns whether it is new.
  @inline(__always)
  mutating func insert(_ id: ObjectID) -> Bool {
    guard let table else { return many.insert(id) }
    guard table.insert(id) else { return false }
    if table.count > limit { spread() }
    return true
  }

  /// Marks an object as visited; returns whether it was not before.
  @inline(__always)
  mutating func visit(_ id: ObjectID) -> Bool { table?.visit(id) ?? visited.insert(id) }

  /// Whether the set contains an object.
  @inline(__always)
  func contains(_ id: ObjectID) -> Bool { table?.contains(id) ?? many.contains(id) }

  /// Converts the table to bitmaps.
  @inline(never)
  private mutating func spread() {
    table?.forEachVisit { id, isVisited in
      _ = many.insert(id)
      if isVisited { _ = visited.insert(id) }
    }
    table = nil
    few = nil
  }

  /// Ends the search. Nothing can be added afterwards.
  mutating func finish() {
    visited = ObjectSet()
    guard let few, let table else {
      roots = many.sets.enumerated().compactMap { code, set in
        set.map { CloneMembers(rootCode: UInt16(code), $0) }
      }
      return
    }
    table.finish()
    roots.reserveCapacity(4)
    let ids = table.ids
    var start = 0
    while start < ids.count {
      let code = ObjectID(rawValue: ids[start]).rootCode
      var end = start + 1
      while end < ids.count, ObjectID(rawValue: ids[end]).rootCode == code { end += 1 }
      roots.append(CloneMembers(rootCode: code, few, start..<end))
      start = end
    }
  }

  /// The members of one root entity; nil if there are none. Call after `finish`.
  func set(rootCode: UInt16) -> CloneMembers? { roots.first { $0.rootCode == rootCode } }

  /// The set as a bitmap.
  var bits: ObjectSet { many }

  /// Calls `body` with the members, by root entity and then serial, until it returns false. Call after `finish`.
  func forEach<E: Error>(_ body: (ObjectID) throws(E) -> Bool) throws(E) {
    for members in roots {
      var place = 0
      var serial = members.next(from: 0, &place)
      while let current = serial {
        guard try body(ObjectID(rootCode: members.rootCode, serial: current)) else { return }
        serial = members.next(from: current + 1, &place)
      }
    }
  }

  /// The set of a small clone, which knows ranks; else nil.
  var fewObjects: SmallObjectSet? { few }
}

/// The objects of one root entity that a clone copies. Iterating over them counts no references.
struct CloneMembers {
  let rootCode: UInt16
  let count: Int
  /// Retains the memory of the other properties.
  private let owner: AnyObject
  private let bits: SerialBits?
  /// The raw ids, ascending, if there is no bitmap.
  private let ids: UnsafeBufferPointer<UInt64>

  init(rootCode: UInt16, _ set: SerialSet) {
    self.rootCode = rootCode
    count = set.count
    owner = set
    bits = set.bits
    ids = UnsafeBufferPointer(start: nil, count: 0)
  }

  init(rootCode: UInt16, _ few: SmallObjectSet, _ range: Range<Int>) {
    self.rootCode = rootCode
    count = range.count
    owner = few
    bits = nil
    ids = UnsafeBufferPointer(rebasing: few.table.ids[range])
  }

  /// The least serial that is at least `serial`.
  @inline(__always)
  func next(from serial: UInt64) -> UInt64? {
    var place = 0
    return next(from: serial, &place)
  }

  /// Iterates: the caller keeps `place`, which starts at 0.
  @inline(__always)
  func next(from serial: UInt64, _ place: inout Int) -> UInt64? {
    if let bits { return bits.next(from: serial) }
    // As raw ids: serials beyond the greatest one count as objects of the next root entity.
    let wanted = UInt64(rootCode) << 48 &+ serial
    while place < ids.count {
      let id = ids[place]
      if id >= wanted { return id & ObjectID.maximumSerial }
      place &+= 1
    }
    return nil
  }

  /// Announces the next objects to the storage engine, and returns the first serial after them.
  func announce(from start: UInt64, to session: borrowing Session) -> UInt64 {
    let window = session.prefetchWindow(isAscending: true)
    guard window > 1 else { return .max }
    var ids: [ObjectID] = []
    var place = 0
    var serial = next(from: start, &place)
    while let current = serial, ids.count < window {
      ids.append(ObjectID(rootCode: rootCode, serial: current))
      serial = next(from: current + 1, &place)
    }
    session.prefetch(ids[...])
    return serial ?? .max
  }
}
