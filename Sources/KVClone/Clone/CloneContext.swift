#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneModel
import KVCloneRecords

/// One clone operation between its mark and its commit: who is cloned, under which new ids, with which values.
final class CloneContext {
  let schema: Schema
  let book: CloneRuleBook
  let mark: CloneMark
  let cancellation: CloneCancellation
  /// Root code → serial of the first clone. A clone's serial is this plus its source's rank.
  private let bases: [UInt64]
  /// By root code.
  private let ranks: [SerialRanks?]
  let key = KeyedUUID()
  /// The operation's one `now` (R16).
  let now: Date
  /// (child, parent) by child.
  private let parents: [(child: ObjectID, parent: ObjectID)]
  /// Followed values that are followed further; every other one is found again where it is needed.
  private var resolved: [ResolvedKey: AttributeValue?] = [:]

  /// About how many bytes the clone will write, where somebody counted.
  var byteCount: UInt64?

  private enum ParentValue {
    case found(AttributeValue?)
    case missing
  }

  private struct ResolvedKey: Hashable {
    let object: ObjectID
    let attribute: Int
  }

  init(
    schema: Schema, book: CloneRuleBook, mark: CloneMark, bases: [UInt16: UInt64], now: Date,
    cancellation: CloneCancellation
  ) {
    self.schema = schema
    self.book = book
    self.mark = mark
    self.now = now
    self.cancellation = cancellation
    ranks = mark.set.sets.map { $0.map { SerialRanks($0) } }
    var byRoot = [UInt64](repeating: 0, count: Int(schema.codes.lastEntity) + 1)
    for (root, base) in bases { byRoot[Int(root)] = base }
    self.bases = byRoot
    parents = mark.parents.sorted { $0.child < $1.child }
  }

  /// The clone's id of a source; nil for objects outside the clone set.
  @inline(__always)
  func cloneID(of id: ObjectID) -> ObjectID? {
    let root = Int(id.rootCode)
    guard root < ranks.count, let rank = ranks[root]?.rank(of: id.serial) else { return nil }
    return ObjectID(rootCode: id.rootCode, serial: bases[Int(id.rootCode)] + rank)
  }

  /// Whether this clone makes the object: its clones have the highest serials of their root entity.
  func isClone(_ id: ObjectID) -> Bool {
    let root = Int(id.rootCode)
    return root < ranks.count && ranks[root] != nil && id.serial >= bases[root]
  }

  /// The serial of the first clone of a root entity.
  func base(rootCode: UInt16) -> UInt64 { bases[Int(rootCode)] }

  /// The object that a source was discovered from; nil for roots.
  func parent(of id: ObjectID) -> ObjectID? {
    var low = 0
    var high = parents.count
    while low < high {
      let middle = (low + high) / 2
      if parents[middle].child < id { low = middle + 1 } else { high = middle }
    }
    return low < parents.count && parents[low].child == id ? parents[low].parent : nil
  }

  /// Finds, parents first, the values that are followed by somebody who is followed too.
  func resolveChains(_ session: borrowing Session) throws {
    let followed = Set(
      book.allPlans.flatMap { $0.rules.compactMap { $0.isExcluded ? nil : $0.followParent } })
    let chains = book.allPlans.contains { plan in
      plan.entity.attributes.enumerated().contains { index, attribute in
        plan.rules[index].followParent != nil && followed.contains(attribute.path)
      }
    }
    guard chains else { return }
    for root in mark.roots { try resolve(root, followed, session) }
    for (child, _) in mark.parents { try resolve(child, followed, session) }
  }

  private func resolve(_ id: ObjectID, _ followed: Set<String>, _ session: borrowing Session) throws {
    let view = try session.existingRecord(id)
    guard let plan = book.plan(try schema.entity(of: view, id: id).code) else { return }
    for (index, attribute) in plan.entity.attributes.enumerated()
    where plan.rules[index].followParent != nil && !plan.rules[index].isExcluded && followed.contains(attribute.path) {
      let key = ResolvedKey(object: id, attribute: index)
      resolved[key] = .some(try value(of: index, plan, view, id, session))
    }
  }

  /// The value that an attribute has on the clone of a source (R15 to R19).
  ///
  /// - Throws: `CloneError` `parentUnavailable`, `excludedAttributeIsRequired`.
  func value(
    of index: Int, _ plan: CloneRuleBook.EntityPlan, _ view: borrowing RecordView, _ id: ObjectID,
    _ session: borrowing Session
  ) throws -> AttributeValue? {
    let attribute = plan.entity.attributes[index]
    let rule = plan.rules[index]
    if attribute.description.isDerived { return nil }
    if rule.isCopied { return try plan.entity.value(of: attribute, in: view, id: id, schema: schema) }
    // A composite attribute that is nil stays nil, whatever its elements' own rules (R21).
    let follows = attribute.composite.flatMap { plan.entity.composites[$0] }.flatMap {
      $0.cloneRule(book.options.userInfoKeys).followParent
    }
    if let composite = attribute.composite, follows == nil,
      try plan.entity.value(named: composite, in: view, id: id, schema: schema) == nil
    {
      return nil
    }
    if rule.isExcluded { return attribute.description.defaultValue }
    if let name = rule.followParent {
      if let known = resolved[ResolvedKey(object: id, attribute: index)] { return known }
      switch try parentValue(named: name, of: id, type: attribute.description.type, session) {
      case .found(let value):
        // A composite that is followed as a whole may be nil as a whole; the commit looks at what came of it.
        if value == nil, !attribute.description.isOptional, follows == nil {
          throw unavailable(attribute, plan.entity, id, name)
        }
        return value
      case .missing: break
      }
      switch rule.withoutParent {
      case .keep: break
      case .blank:
        if attribute.isNeverBlank { throw unavailable(attribute, plan.entity, id, name) }
        return attribute.description.defaultValue
      case .absent, .invalid: throw unavailable(attribute, plan.entity, id, name)
      }
    }
    switch rule.rebuild {
    case .uuid: return cloneID(of: id).map { .uuid(key.uuid(object: $0.rawValue, attribute: attribute.code)) }
    case .now: return .date(now)
    case nil: return try plan.entity.value(of: attribute, in: view, id: id, schema: schema)
    }
  }

  private func unavailable(_ attribute: CompiledAttribute, _ entity: CompiledEntity, _ id: ObjectID, _ name: String)
    -> CloneError
  {
    let object = "\(entity.name)/\(id.serial)"
    return CloneError(
      .parentUnavailable,
      "\(object) has no parent with a value for \(attribute.path) (it follows \(name)), and its rules leave no other "
        + "(R17, R18); set withoutParent to keep, or to blank where the attribute may be nil or has a default",
      entity: entity.name, property: attribute.path, object: object)
  }

  /// The value of the discovery parent's clone; nil where there is no such parent or attribute, or its type is another
  /// (R17).
  private func parentValue(named name: String, of id: ObjectID, type: AttributeType, _ session: borrowing Session)
    throws
    -> ParentValue
  {
    guard let parent = parent(of: id) else { return .missing }
    let view = try session.existingRecord(parent)
    guard let plan = book.plan(try schema.entity(of: view, id: parent).code),
      let index = plan.entity.attributeIndex[name], plan.entity.attributes[index].field != nil,
      plan.entity.attributes[index].description.type == type
    else { return .missing }
    return .found(try value(of: index, plan, view, parent, session))
  }

  /// What becomes of one link of a relationship whose mode is dynamic.
  func mode(
    _ step: CloneRuleBook.RelationshipPlan, _ id: ObjectID, _ target: ObjectID, _ session: borrowing Session
  ) throws(StoreError) -> CloneRuleBook.LinkMode {
    let isRoot = mark.rootSet.contains(id)
    let disposition = (isRoot ? step.rootDecision : step.decision).disposition
    guard mark.set.contains(target) else { return disposition == .exclude ? .drop : .stop }
    let entity = try session.entity(of: target)
    guard let inverse = entity.inverse(of: step.relationship), let plan = book.plan(entity.code),
      let index = entity.relationshipIndexByCode[inverse.code]
    else { return book.answer(disposition, nil) }
    let back = plan.relationships[index]
    let backDecision = mark.rootSet.contains(target) ? back.rootDecision : back.decision
    return book.answer(disposition, backDecision.disposition)
  }
}
