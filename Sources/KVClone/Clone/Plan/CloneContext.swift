#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// One clone operation between its mark and its commit: the cloned objects, their new ids, and their values.
final class CloneContext {
  /// The schema of the sources.
  let schema: Schema
  let book: CloneRuleBook
  let mark: CloneMark
  let cancellation: CloneMonitor
  let ids: CloneIDs
  let key = KeyedUUID()
  /// The operation's single `now` (R16).
  let now: Date
  /// Followed values, cached at every 64th step of long chains of objects that follow one another.
  private var landmarks: [Followed: AttributeValue?] = [:]
  /// The mapping of sources to clones, if these are in another store or state (R35).
  let bridge: CloneBridge?
  let places: ClonePlaces
  /// The computed derived values.
  var futures = FutureValues()

  /// Blobs that clones in another store reference, by the source's serials: the planner finds them.
  var blobs = SerialSet()
  /// The approximate number of bytes that the clone will write, if the planner has counted them.
  var byteCount: UInt64?
  /// A lower bound of the bytes that it writes: if they were not counted, its records' headers, ids and keys.
  var leastByteCount: UInt64 { byteCount ?? UInt64(objectCount).saturatingMultiply(64) }

  /// An attribute that follows the parent's.
  private struct Followed: Hashable {
    let object: ObjectID
    let attribute: Int
  }

  /// The source of an attribute's value.
  private enum Source {
    case value(AttributeValue?)
    /// A derived value.
    case derived
    /// The parent's attribute with this name.
    case parent(String)
  }

  init(
    book: CloneRuleBook, mark: CloneMark, bridge: CloneBridge?, places: ClonePlaces, now: Date = Date(),
    cancellation: CloneMonitor
  ) {
    schema = book.schema
    self.book = book
    self.mark = mark
    self.bridge = bridge
    self.places = places
    self.now = now
    self.cancellation = cancellation
    ids = CloneIDs(mark.set, first: places.first)
  }

  /// The same clone, for the values of its second copy.
  func secondCopy() -> CloneContext {
    let other = CloneContext(
      book: book, mark: mark, bridge: bridge, places: places, now: now, cancellation: cancellation)
    other.select(copy: 1)
    return other
  }

  /// The number of copies (R32).
  var copies: Int { book.options.count }

  /// The number of objects that the operation creates, all copies together.
  var objectCount: Int { mark.count * copies }

  /// Whether the clones are in another store than their sources.
  var isForeign: Bool { bridge.map { !$0.isWithinStore } ?? false }

  /// The clone's id of a source; nil for objects outside the clone set.
  @inline(__always)
  func cloneID(of id: ObjectID) -> ObjectID? { ids.clone(of: id) }

  /// The clone's id of a source in one of the copies.
  func cloneID(of id: ObjectID, copy: Int) -> ObjectID? { ids.clone(of: id, copy: copy) }

  /// Whether this clone creates the object: its clones have the highest serials of their root entity.
  func isClone(_ id: ObjectID) -> Bool { ids.isClone(id) }

  /// Calls `body` with every source and its clones: sources by ascending id, copies in the order of their creation.
  func forEachClone(_ body: (_ source: ObjectID, _ clone: ObjectID) throws -> Void) throws {
    var done = 0
    try mark.set.forEach { source in
      for copy in 0..<copies {
        guard let clone = cloneID(of: source, copy: copy) else { throw schema.notFound(source) }
        try body(source, clone)
      }
      done += 1
      if done & 1023 == 0 { try cancellation.check() }
      return true
    }
  }

  /// The result of a finished stream, roots in the caller's order, copy after copy.
  func result(_ roots: [ObjectID], _ tally: CloneTally, _ duration: Duration) -> CloneResult {
    CloneResult(
      roots: (0..<copies).flatMap { copy in roots.compactMap { cloneID(of: $0, copy: copy) } },
      objectCount: tally.objects, counts: tally.countsByName(schema), affectedObjectCount: tally.touched.count,
      affectedObjectIDs: tally.firstTouched, blobsShared: tally.blobsShared, bytesShared: tally.bytesShared,
      bytesCopied: tally.bytesCopied, bytesWritten: tally.bytesWritten, duration: duration)
  }

  /// The mapping of a concrete entity.
  func mapping(of entity: CompiledEntity) -> CloneMapping {
    guard let bridge = bridge?.entity(entity) else { return CloneMapping(entity: entity, bridge: nil) }
    return CloneMapping(entity: bridge.destination, bridge: bridge)
  }

  /// The size of a list in chunks. Across stores and states, it is counted without chunks and keys.
  func listByteCount(_ count: Int) -> UInt64 { bridge == nil ? CloneTally.listBytes(count) : UInt64(count) * 8 }

  /// Selects the copy for ids and values.
  func select(copy: Int) {
    if copy == ids.copy { return }
    ids.select(copy: copy)
    landmarks.removeAll()
    futures.removeClones()
  }

  /// The value of an attribute on the clone of a source (R15 to R19).
  ///
  /// - Throws: `CloneError` `parentUnavailable`, `excludedAttributeIsRequired`.
  func value(
    of index: Int, _ plan: CloneRuleBook.EntityPlan, _ view: borrowing RecordView, _ id: ObjectID,
    _ session: borrowing Session
  ) throws -> AttributeValue? {
    switch try source(of: index, plan, view, id) {
    case .value(let value): return value
    case .derived:
      // The other store computes its own; and this one computes values that are not known in advance.
      if let bridge, !bridge.isWithinStore { return nil }
      do {
        return try derivedValue(of: plan.entity.attributes[index], id, session)
      } catch is FutureValues.Unknown {
        return nil
      }
    case .parent(let name):
      let value = try followed(name, Followed(object: id, attribute: index), plan, session)
      let attribute = plan.entity.attributes[index]
      // A composite that is followed as a whole may be nil as a whole; the commit validates the result.
      if value == nil, !attribute.description.isOptional, !followsAsWhole(attribute, plan.entity) {
        throw unavailable(attribute, plan.entity, id, name)
      }
      return value
    }
  }

  /// The length of the clone's record without its lists: the source's, minus replaced values, plus their replacements.
  func recordByteCount(
    _ plan: CloneRuleBook.EntityPlan, _ view: borrowing RecordView, _ id: ObjectID, _ session: borrowing Session
  ) throws(StoreError) -> Int {
    var count = view.byteCount
    if plan.replacedCodes.isEmpty { return count }
    for field in view.layout.variableFields where plan.replacedCodes.contains(view.layout[field].propertyCode) {
      count -= view.variableBytes(field).byteCount
    }
    for operation in plan.operations {
      switch operation {
      case .set(_, let value): count += value?.variableByteCount ?? 0
      case .compute(let index) where plan.entity.attributes[index].description.type.isVariable:
        // Errors are reported where the attribute's rules are checked.
        guard let value = try? value(of: index, plan, view, id, session) else { continue }
        count += value.variableByteCount
      case .compute, .uuid, .now: break
      }
    }
    return count
  }

  /// Whether the attribute is an element of a composite that follows its parent.
  private func followsAsWhole(_ attribute: CompiledAttribute, _ entity: CompiledEntity) -> Bool {
    attribute.composite.flatMap { entity.composites[$0] }?.cloneRule(book.options.userInfoKeys).followParent != nil
  }

  private func source(
    of index: Int, _ plan: CloneRuleBook.EntityPlan, _ view: borrowing RecordView, _ id: ObjectID
  ) throws(StoreError) -> Source {
    let attribute = plan.entity.attributes[index]
    let rule = plan.rules[index]
    if attribute.isDerived { return .derived }
    if rule.isCopied { return .value(try plan.entity.value(of: attribute, in: view, id: id, schema: schema)) }
    // A composite attribute that is nil stays nil, whatever its elements' own rules (R21).
    if let composite = attribute.composite, !followsAsWhole(attribute, plan.entity),
      try plan.entity.value(named: composite, in: view, id: id, schema: schema) == nil
    {
      return .value(nil)
    }
    if rule.isExcluded { return .value(attribute.description.defaultValue) }
    if let name = rule.followParent { return .parent(name) }
    return .value(try ownValue(of: index, plan, view, id))
  }

  /// The value of an attribute that does not follow a parent: rebuilt or copied.
  private func ownValue(
    of index: Int, _ plan: CloneRuleBook.EntityPlan, _ view: borrowing RecordView, _ id: ObjectID
  ) throws(StoreError) -> AttributeValue? {
    let attribute = plan.entity.attributes[index]
    switch plan.rules[index].rebuild {
    case .uuid: return cloneID(of: id).map { .uuid(key.uuid(object: $0.rawValue, attribute: attribute.code)) }
    case .now: return .date(now)
    case nil: return try plan.entity.value(of: attribute, in: view, id: id, schema: schema)
    }
  }

  /// Follows parents up to the first attribute that does not follow another (R17). Not recursive, and only every 64th
  /// value of a chain of a million objects is cached.
  private func followed(
    _ name: String, _ start: Followed, _ plan: CloneRuleBook.EntityPlan, _ session: borrowing Session
  ) throws -> AttributeValue? {
    var (current, name, plan) = (start, name, plan)
    var path: [Followed] = []
    let value: AttributeValue?
    while true {
      if let known = landmarks[current] {
        value = known
        break
      }
      path.append(current)
      // Parents are discovered before their children, except in corrupted files.
      guard path.count <= mark.count else { throw schema.corrupted(current.object, .badOrder) }
      guard let (parent, index, parentPlan) = try parent(of: current, named: name, plan, session) else {
        value = try valueWithoutParent(current, name, plan, session)
        break
      }
      let view = try session.existingRecord(parent)
      let source = try source(of: index, parentPlan, view, parent)
      if case .parent(let next) = source {
        (current, name, plan) = (Followed(object: parent, attribute: index), next, parentPlan)
        continue
      }
      guard case .derived = source else {
        value = try self.value(of: index, parentPlan, view, parent, session)
        break
      }
      do {
        value = try derivedValue(of: parentPlan.entity.attributes[index], parent, session)
      } catch is FutureValues.Unknown {
        value = try valueWithoutParent(current, name, plan, session)
      }
      break
    }
    // Starting at the requested object: lookups from objects below it then take fewer steps.
    for position in stride(from: 0, to: path.count, by: 64) where path.count >= 64 {
      landmarks[path[position]] = .some(value)
    }
    return value
  }

  /// The discovery parent with the followed attribute; nil if there is no such parent or attribute, or its type differs
  /// (R17).
  private func parent(
    of child: Followed, named name: String, _ plan: CloneRuleBook.EntityPlan, _ session: borrowing Session
  ) throws(StoreError) -> (parent: ObjectID, index: Int, plan: CloneRuleBook.EntityPlan)? {
    guard let parent = try mark.parents.parent(of: child.object, session),
      let parentPlan = book.plan(try session.entity(of: parent).code),
      let index = parentPlan.entity.attributeIndex[name], parentPlan.entity.attributes[index].field != nil,
      parentPlan.entity.attributes[index].description.type == plan.entity.attributes[child.attribute].description.type
    else { return nil }
    return (parent, index, parentPlan)
  }

  /// R18.
  private func valueWithoutParent(
    _ child: Followed, _ name: String, _ plan: CloneRuleBook.EntityPlan, _ session: borrowing Session
  ) throws -> AttributeValue? {
    let attribute = plan.entity.attributes[child.attribute]
    switch plan.rules[child.attribute].withoutParent {
    case .keep: return try ownValue(of: child.attribute, plan, try session.existingRecord(child.object), child.object)
    case .blank:
      if attribute.isNeverBlank { throw unavailable(attribute, plan.entity, child.object, name) }
      return attribute.description.defaultValue
    case .absent, .invalid: throw unavailable(attribute, plan.entity, child.object, name)
    }
  }

  private func unavailable(_ attribute: CompiledAttribute, _ entity: CompiledEntity, _ id: ObjectID, _ name: String)
    -> CloneError
  {
    let object = "\(entity.name)/\(id.serial)"
    return CloneError(
      .parentUnavailable,
      "\(object) has no parent with a value for \(attribute.path), which follows \(name) of the parent, and its rules "
        + "define no fallback (R17, R18); set withoutParent to keep, or to blank if the attribute is optional or has a "
        + "default",
      entity: entity.name, property: attribute.path, object: object)
  }
}

extension AttributeValue {
  /// The size of a value beyond its fixed slot in a record.
  var variableByteCount: Int {
    switch self {
    case .string(let text), .uri(let text): text.utf8.count
    case .binary(let data), .transformable(let data): data.count
    case .blob: 16
    default: 0
    }
  }
}
