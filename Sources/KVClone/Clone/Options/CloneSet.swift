import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The objects that a clone copies: those of a small clone in one table, more in bits. It begins with the table, and goes
/// over to bits without losing anything where the table would grow beyond its limit.
struct CloneSet {
  /// Clones of so many objects are small: for them, what bits cost would be much of the whole.
  static let smallLimit = 1_000

  /// The objects of a small clone; nil once there are more.
  private var few: SmallObjectSet?
  /// The same, without counting references.
  private var table: FewObjectTable?
  private let limit: Int
  private var many = ObjectSet()
  private var visited = ObjectSet()
  /// The objects of each root entity that has some, by ascending code, once `finish` was called.
  private(set) var roots: [CloneMembers] = []

  /// - Parameter limit: how many objects may be few; 0 for bits from the beginning.
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

  /// How many objects are in the set.
  var count: Int { table?.count ?? many.count }

  /// Adds an object; whether it is new.
  @inline(__always)
  mutating func insert(_ id: ObjectID) -> Bool {
    guard let table else { return many.insert(id) }
    guard table.insert(id) else { return false }
    if table.count > limit { spread() }
    return true
  }

  /// Notes that an object's edges are looked at; whether they were not before.
  @inline(__always)
  mutating func visit(_ id: ObjectID) -> Bool { table?.visit(id) ?? visited.insert(id) }

  /// Whether an object is in the set.
  @inline(__always)
  func contains(_ id: ObjectID) -> Bool { table?.contains(id) ?? many.contains(id) }

  /// Goes over to bits.
  @inline(never)
  private mutating func spread() {
    table?.forEachVisit { id, isVisited in
      _ = many.insert(id)
      if isVisited { _ = visited.insert(id) }
    }
    table = nil
    few = nil
  }

  /// Ends the search. Nothing is added from now on.
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

  /// The members of one root entity; nil where it has none. Once `finish` was called.
  func set(rootCode: UInt16) -> CloneMembers? { roots.first { $0.rootCode == rootCode } }

  /// The same set, of one in bits.
  var bits: ObjectSet { many }

  /// The members, by root entity and then serial, until `body` answers false. Once `finish` was called.
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

  /// What tells ranks: the objects of a small clone, else nil.
  var fewObjects: SmallObjectSet? { few }
}

/// The objects of one root entity that a clone copies. Whoever walks through them counts no references.
struct CloneMembers {
  let rootCode: UInt16
  let count: Int
  /// Keeps the memory that the others point to.
  private let owner: AnyObject
  private let bits: SerialBits?
  /// The raw ids, ascending, where there are no bits.
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

  /// The same for those who go on: `place`, which is theirs to keep, begins with 0.
  @inline(__always)
  func next(from serial: UInt64, _ place: inout Int) -> UInt64? {
    if let bits { return bits.next(from: serial) }
    // As raw ids: what is beyond the greatest serial counts as an object of the next root entity.
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
