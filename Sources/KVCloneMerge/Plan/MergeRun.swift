import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The work on one plan: the result as differences from ours. The steps in other files fill it in the order of
/// ``MergePlanner``.
final class MergeRun {
  let schema: Schema
  let ours: MergeSideStates
  let theirs: MergeSideStates
  let ends: LinkEnds
  var book: MergeRuleBook
  var resolver: ConflictResolver
  let issues = PlanReasons()

  /// The objects of both sides that theirs changed.
  var shared: [ObjectID: CompiledEntity] = [:]
  /// The objects that ours does not have and the result has, with their state in theirs.
  var inserted: [ObjectID: CompiledEntity] = [:]
  /// Those of them that ours had deleted.
  var restored: Set<ObjectID> = []
  /// The objects that the result does not have and one side has, with the side that deleted them.
  var deleted: [ObjectID: MergeSide] = [:]
  /// The objects that delete rules would take along, and that stay.
  var keptAlong: Set<ObjectID> = []
  /// The objects with an open conflict about their existence. No other conflict follows from them, so that both
  /// directions have the same conflicts (M17).
  var undecided: Set<ObjectID> = []
  /// The properties with an open conflict.
  var undecidedPlaces: Set<LinkPlace> = []
  /// The attributes that the result changes, by index in the entity.
  var attributes: [ObjectID: [Int: AttributeValue?]] = [:]
  var links = MergedLinks()
  /// The to-one targets of one-to-one relationships, which depend on each other.
  var partnerWishes: [LinkPlace: PartnerWish] = [:]
  /// The targets of these, with the code of the relationship that leads to them.
  var wishedPartners: Set<LinkPlace> = []
  /// The objects that were united with another one.
  var united: [ObjectID: ObjectID] = [:]
  /// The lists with another order than that of ours.
  var orders: [LinkPlace: [ObjectID]] = [:]

  struct PartnerWish {
    let relationship: CompiledRelationship
    let target: ObjectID?
    /// Whether an answer names the target.
    let isChosen: Bool
  }

  init(_ schema: Schema, _ ours: MergeSideStates, _ theirs: MergeSideStates, _ options: MergeOptions) throws {
    self.schema = schema
    self.ours = ours
    self.theirs = theirs
    ends = LinkEnds.of(schema)
    book = try MergeRuleBook(schema, options)
    resolver = ConflictResolver(options)
  }

  func states(_ side: MergeSide) -> MergeSideStates { side == .ours ? ours : theirs }

  // MARK: The result

  /// The entity of an object in the result; nil if the result does not have it.
  func entity(_ id: ObjectID) throws -> CompiledEntity? {
    if deleted[id] != nil || united[id] != nil { return nil }
    return try inserted[id] ?? ours.now.entity(of: id)
  }

  /// The entity of an object in any state.
  func anyEntity(_ id: ObjectID) throws -> CompiledEntity? {
    try inserted[id] ?? ours.now.entity(of: id) ?? theirs.now.entity(of: id)
  }

  /// The members of a relationship in the result, including objects that are about to be deleted: those of ours in
  /// their order, then new ones.
  func members(_ id: ObjectID, _ relationship: CompiledRelationship) throws -> [ObjectID] {
    let present = try ours.now.membersIfPresent(of: id, relationship)
    guard let difference = links[id, relationship] else { return present }
    return present.filter { !difference.removed.contains($0) } + difference.added.sorted()
  }

  func target(_ id: ObjectID, _ relationship: CompiledRelationship) throws -> ObjectID? {
    try members(id, relationship).first
  }

  func hasMember(_ member: ObjectID, _ id: ObjectID, _ relationship: CompiledRelationship) throws -> Bool {
    if let difference = links[id, relationship] {
      if difference.added.contains(member) { return true }
      if difference.removed.contains(member) { return false }
    }
    guard let entity = try ours.now.entity(of: id), entity.relationshipIndexByCode[relationship.code] != nil else {
      return false
    }
    return try ours.now.hasMember(member, id, relationship)
  }

  /// The attributes of an object in the result, by index in its entity.
  func values(_ id: ObjectID, _ entity: CompiledEntity) throws -> [AttributeValue?] {
    var values = try (inserted[id] == nil ? ours : theirs).now.values(of: id, entity)
    for (index, value) in attributes[id] ?? [:] { values[index] = value }
    return values
  }

  // MARK: Changing the result

  func addLink(_ id: ObjectID, _ relationship: CompiledRelationship, _ target: ObjectID) throws {
    if try !hasMember(target, id, relationship) { links.add(id, relationship, target) }
  }

  func removeLink(_ id: ObjectID, _ relationship: CompiledRelationship, _ target: ObjectID) throws {
    if try hasMember(target, id, relationship) { links.remove(id, relationship, target) }
  }

  func setTarget(_ id: ObjectID, _ relationship: CompiledRelationship, _ new: ObjectID?) throws {
    let old = try target(id, relationship)
    if old == new { return }
    if let old { links.remove(id, relationship, old) }
    if let new { links.add(id, relationship, new) }
  }
}
