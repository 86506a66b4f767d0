import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Finds the destination's counterpart of an object that a clone links to and that is not cloned (R35): the object with
/// equal values under a uniqueness constraint.
///
/// The constraints of the outside object's entity are tried in the model's order, if the destination has them with the
/// same attributes; the first one with all values present, and with a match, decides. A to-one relationship in a
/// constraint is compared by its target's counterpart.
///
/// In a clone from a snapshot, an object is its own counterpart, if it still exists.
///
/// A class instead of a part of the planner or the stream, because it is used while these are being modified.
final class OutsideMatcher {
  /// The number of cached results: links usually lead to the same few shared objects.
  private static let cacheLimit = 1 << 14
  /// The maximum depth of to-one relationships in constraints.
  private static let depthLimit = 4

  private let context: CloneContext
  private let bridge: CloneBridge
  private let policy: CloneOptions.OutsideObjects
  private var cache: [ObjectID: ObjectID?] = [:]
  /// By the source's entity code.
  private var pairs: [UInt16: [Pair]] = [:]

  /// A constraint that both models have.
  private struct Pair {
    let source: CompiledConstraint
    let destination: CompiledConstraint
  }

  /// Nil within a store, where an object is its own counterpart.
  init?(_ context: CloneContext) {
    guard let bridge = context.bridge else { return nil }
    self.bridge = bridge
    self.context = context
    policy = context.book.options.outsideObjects
  }

  /// The destination's object for an outside object of the source, if the destination's `relationship` can lead to it.
  func match(
    _ id: ObjectID, _ relationship: CompiledRelationship, _ source: borrowing Session, _ destination: borrowing Session
  ) throws(StoreError) -> ObjectID? {
    if bridge.isWithinStore { return try survivor(id, source, destination) }
    guard policy == .match || policy == .matchOrLeaveEmpty else { return nil }
    guard let found = try find(id, source, destination, depth: 0) else { return nil }
    return try destination.entity(of: found).isKind(of: relationship.destinationCode) ? found : nil
  }

  /// The object of a snapshot, if the store still has it.
  private func survivor(
    _ id: ObjectID, _ source: borrowing Session, _ destination: borrowing Session
  ) throws(StoreError) -> ObjectID? {
    if let known = cache[id] { return known }
    var found: ObjectID?
    if let now = try destination.record(id), try source.entity(of: id).code == now.layout.entityCode { found = id }
    if cache.count >= Self.cacheLimit { cache.removeAll(keepingCapacity: true) }
    cache[id] = .some(found)
    return found
  }

  private func find(
    _ id: ObjectID, _ source: borrowing Session, _ destination: borrowing Session, depth: Int
  ) throws(StoreError) -> ObjectID? {
    if let known = cache[id] { return known }
    let view = try source.existingRecord(id)
    let entity = try source.schema.entity(of: view, id: id)
    var found: ObjectID?
    for pair in pairs(of: entity) {
      guard let values = try values(pair, entity, view, id, source, destination, depth: depth),
        let builder = pair.destination.builder(for: values),
        let holder = try IndexEntries.holder(
          of: pair.destination, builder, values: values, otherThan: nil, in: destination),
        !context.isClone(holder)
      else { continue }
      found = holder
      break
    }
    // What was not found because of the depth may be found from a nearer object.
    if depth > 0 { return found }
    if cache.count >= Self.cacheLimit { cache.removeAll(keepingCapacity: true) }
    cache[id] = .some(found)
    return found
  }

  /// The values that the counterpart has to have; nil if one is missing.
  private func values(
    _ pair: Pair, _ entity: CompiledEntity, _ view: borrowing RecordView, _ id: ObjectID, _ source: borrowing Session,
    _ destination: borrowing Session, depth: Int
  ) throws(StoreError) -> [AttributeValue?]? {
    var values: [AttributeValue?] = []
    for column in pair.source.columns {
      switch column {
      case .attribute(let index):
        values.append(try entity.value(of: entity.attributes[index], in: view, id: id, schema: source.schema))
      case .toOne(let index):
        let relationship = entity.relationships[index]
        guard depth < Self.depthLimit,
          let target = entity.field(relationship.field, code: relationship.code, in: view).flatMap({ view.toOne($0) }),
          let found = try find(target, source, destination, depth: depth + 1)
        else { return nil }
        values.append(CompiledConstraint.column(found))
      }
      if values.last == .some(nil) { return nil }
    }
    return values
  }

  private func pairs(of entity: CompiledEntity) -> [Pair] {
    if let known = pairs[entity.code] { return known }
    var found: [Pair] = []
    if let other = bridge.destination.entitiesByName[entity.name] {
      for constraint in entity.constraints {
        guard let match = other.constraints.first(where: { $0.name == constraint.name }),
          zip(constraint.columns, match.columns).allSatisfy({ column, its in
            switch (column, its) {
            case (.attribute(let index), .attribute(let itsIndex)):
              entity.attributes[index].description.type == other.attributes[itsIndex].description.type
            case (.toOne, .toOne): true
            default: false
            }
          })
        else { continue }
        found.append(Pair(source: constraint, destination: match))
      }
    }
    pairs[entity.code] = found
    return found
  }

  /// Why a link is omitted, if that is not an error, as text that follows "because it is".
  func reason(for id: ObjectID, _ source: borrowing Session) throws(StoreError) -> String {
    guard bridge.isWithinStore else {
      let advice = policy == .leaveEmpty ? "; --outside match-or-empty links to matching objects" : ""
      return "left without outside objects (R35\(advice))"
    }
    return "left without \(try source.name(of: id)), which no longer exists"
  }

  /// Why a clone may not omit a link to an outside object without a counterpart; nil if it may.
  func refusal(
    of id: ObjectID, _ relationship: CompiledRelationship, linkedFrom name: String, _ source: borrowing Session
  ) throws(StoreError) -> CloneError? {
    if bridge.isWithinStore || policy == .leaveEmpty || policy == .matchOrLeaveEmpty { return nil }
    let entity = try source.entity(of: id)
    let target = "\(entity.name)/\(id.serial)"
    let constraints = pairs(of: entity).map(\.source.name)
    let reason =
      if policy == .refuse {
        "and outside objects are not allowed"
      } else if constraints.isEmpty {
        "and the two models share no uniqueness constraint to match it by"
      } else {
        "and no object of the destination entity there has the same \(constraints.joined(separator: ", or "))"
      }
    return CloneError(
      .outsideObjectUnmatched,
      "\(relationship.name) of \(name) leads to \(target), which is not cloned into the other store, \(reason) (R35); "
        + "insert a matching object there, exclude the relationship, or leave outside links empty "
        + "(CloneOptions.outsideObjects, --outside match-or-empty or empty)", entity: entity.name,
      property: relationship.name, object: target)
  }
}
