import KVCloneModel

/// Deferred inverse links and index entries of inserted objects.
///
/// A transaction that inserts many objects changes the same lists, and the same pages of an index, again and again.
/// Deferred changes are sorted first, so that a list is written once for all its new members, and an index
/// sequentially. Reads and other changes apply them first (``Session/settle()``), so that deferring is not observable.
final class DeferredInserts {
  /// 3 MiB of links, and about as much of keys: beyond that, they are written before others are added.
  private static let linkLimit = 1 << 17
  private static let keyByteLimit = 3 << 20

  let links = DeferredLinks()
  var keys = DeferredKeys()
  /// The list chunk that is being changed.
  let chunk = ChunkBuffer()
  private var targets = KnownTargets()

  var isEmpty: Bool { links.count == 0 && keys.isEmpty }
  var isFull: Bool { links.count >= Self.linkLimit || keys.byteCount >= Self.keyByteLimit }

  /// The cached entity of an object, since objects were last deleted; nil if unknown.
  @inline(__always)
  func entityCode(of target: ObjectID) -> UInt16? { targets.entityCode(of: target) }

  /// Caches the entity of an existing object.
  func note(_ target: ObjectID, _ entityCode: UInt16) { targets.note(target, entityCode) }

  /// Clears the cache before objects are deleted, which is the only way that they disappear.
  func forgetTargets() { targets.removeAll() }
}

/// The keys of index entries, contiguous in memory.
struct DeferredKeys {
  private struct Place {
    /// The key's first sixteen bytes, as a number: most keys differ there.
    let start: UInt128
    let offset: Int
    let count: Int
  }

  private var bytes: [UInt8] = []
  private var places: [Place] = []

  var isEmpty: Bool { places.isEmpty }
  var count: Int { places.count }
  /// The memory that they take, including their places, which are larger than short keys.
  var byteCount: Int { bytes.count + places.count * MemoryLayout<Place>.stride }

  mutating func append(_ key: [UInt8]) {
    var start: UInt128 = 0
    for index in 0..<16 { start = start << 8 | UInt128(index < key.count ? key[index] : 0) }
    places.append(Place(start: start, offset: bytes.count, count: key.count))
    bytes.append(contentsOf: key)
  }

  /// Calls `body` with each key, ascending, and removes them.
  mutating func drain(_ body: (RawSpan) throws(StoreError) -> Void) throws(StoreError) {
    let (bytes, places) = (self.bytes, sorted)
    (self.bytes, self.places) = ([], [])
    let span = bytes.span.bytes
    for place in places { try body(span.extracting(place.offset..<place.offset + place.count)) }
  }

  private var sorted: [Place] {
    let span = bytes.span.bytes
    return places.sorted { left, right in
      left.start == right.start ? Self.precedes(span, left, right) : left.start < right.start
    }
  }

  private static func precedes(_ bytes: RawSpan, _ left: Place, _ right: Place) -> Bool {
    let left = bytes.extracting(left.offset..<left.offset + left.count)
    let right = bytes.extracting(right.offset..<right.offset + right.count)
    return left.withUnsafeBytes { left in right.withUnsafeBytes { left.lexicographicallyPrecedes($0) } }
  }
}

/// A cache of existing objects with their entities, with one object per slot.
private struct KnownTargets {
  private static let slotCount = 4096
  private var slots: [(id: UInt64, entityCode: UInt16)] = []

  private static func slot(_ id: ObjectID) -> Int {
    Int(truncatingIfNeeded: (id.rawValue &* 0x9E37_79B9_7F4A_7C15) >> 52)
  }

  @inline(__always)
  func entityCode(of id: ObjectID) -> UInt16? {
    if slots.isEmpty { return nil }
    let found = slots[Self.slot(id)]
    return found.id == id.rawValue ? found.entityCode : nil
  }

  mutating func note(_ id: ObjectID, _ entityCode: UInt16) {
    if slots.isEmpty { slots = Array(repeating: (0, 0), count: Self.slotCount) }
    slots[Self.slot(id)] = (id.rawValue, entityCode)
  }

  mutating func removeAll() { slots.removeAll() }
}
