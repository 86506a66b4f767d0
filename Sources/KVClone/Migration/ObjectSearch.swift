import KVCloneCore
import KVCloneModel
import KVCloneQuery
import KVCloneRecords

/// Finds objects of a migration's transaction.
enum ObjectSearch {
  /// Objects of an entity that match a predicate, by ascending serial.
  static func ids(
    _ session: borrowing Session, of entity: CompiledEntity, includesSubentities: Bool = false,
    where predicate: QueryPredicate?, from start: UInt64,
    below end: UInt64 = .max, limit: Int
  ) throws(StoreError) -> [ObjectID] {
    var compiler = QueryCompiler(entity, in: session)
    var condition: QueryCondition?
    if let predicate {
      if predicate.isTooDeep { throw compiler.tooDeep }
      condition = try compiler.condition(predicate)
    }
    let evaluator = QueryEvaluator(session.schema)
    var ids: [ObjectID] = []
    try session.forEachRecord(of: entity, includesSubentities: includesSubentities, from: start) {
      (id, view) throws(StoreError) in
      if id.serial >= end { return false }
      if let condition, try !evaluator.holds(condition, id, view, session) { return true }
      ids.append(id)
      return ids.count < limit
    }
    return ids
  }

  /// An object of exactly this entity without a value in an attribute, an element of a composite one or a relationship;
  /// nil if all have one.
  static func first(
    _ session: borrowing Session, of name: String, without path: String
  ) throws(StoreError) -> ObjectID? {
    let entity = try session.schema.entity(name)
    if entity.isAbstract { return nil }
    let top = path.split(separator: ".").first.map(String.init) ?? path
    let isRelationship = (try? entity.relationship(path)) != nil
    let schema = session.schema
    var found: ObjectID?
    try session.forEachRecord(of: entity, includesSubentities: false) { (id, view) throws(StoreError) in
      if isRelationship {
        if entity.count(path, view) == 0 { found = id }
      } else if try entity.value(named: path, in: view, id: id, schema: schema) == nil {
        // A required element must be present only if its composite is.
        if path == top { found = id }
        if path != top, try entity.value(named: top, in: view, id: id, schema: schema) != nil { found = id }
      }
      return found == nil
    }
    return found
  }
}

/// Reads the objects of a root's table in batches, between which the transaction may change everything.
///
/// Each batch is a scope of reads: bytes that are read while it is processed are valid until the next one.
struct ObjectBatches: ~Copyable {
  /// The number of objects per batch.
  private static let batchCount = 1024

  private let end: UInt64
  private var start: ObjectID?
  private var windows: ReadWindows

  /// - Parameter end: the serial to stop at.
  init(_ session: borrowing Session, rootCode: UInt16, below end: UInt64 = .max) {
    windows = ReadWindows(session.storage)
    self.end = end
    start = ObjectID(rootCode: rootCode, serial: 0)
  }

  /// Returns the next objects of some entities; nil after the last.
  mutating func next(
    _ session: borrowing Session, where isWanted: (UInt16) -> Bool
  ) throws(StoreError) -> [(id: ObjectID, entity: UInt16)]? {
    while let start {
      windows.renew()
      let batch = try gather(session, from: start, isWanted)
      if !batch.isEmpty { return batch }
    }
    return nil
  }

  private mutating func gather(
    _ session: borrowing Session, from start: ObjectID, _ isWanted: (UInt16) -> Bool
  ) throws(StoreError) -> [(id: ObjectID, entity: UInt16)] {
    var next: ObjectID?
    var found: [(id: ObjectID, entity: UInt16)] = []
    let (schema, end) = (session.schema, end)
    defer { self.start = next }
    guard let table = schema.objectTable(rootCode: start.rootCode) else { return found }
    found.reserveCapacity(Self.batchCount)
    let key = ShortKey.object(start)
    let stop = ShortKey.object(ObjectID(rootCode: start.rootCode, serial: min(end, ObjectID.maximumSerial)))
    let isBounded = end <= ObjectID.maximumSerial
    try session.storage.scan(table, from: key.bytes, before: isBounded ? stop.bytes : RawSpan()) {
      (key, value) throws(StoreError) in
      let id = try schema.objectID(key)
      if id.serial >= end { return false }
      if found.count == Self.batchCount {
        next = id
        return false
      }
      let code: UInt16
      do throws(RecordError) { code = try RecordView.entityCode(of: copy value) } catch {
        throw schema.corrupted(id, error)
      }
      if isWanted(code) { found.append((id, code)) }
      return true
    }
    return found
  }
}
