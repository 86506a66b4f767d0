import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// The work on one plan: the result as differences from ours. The steps in other files fill it in the order of
/// ``MergePlanner``.
///
/// Of each change it keeps a few bits in memory, and the rest in scratch space (M8): entities are read again.
final class MergeRun {
  let schema: Schema
  let ours: MergeSideStates
  let theirs: MergeSideStates
  let space: ScratchSpace
  let ends: LinkEnds
  var book: MergeRuleBook
  var resolver: ConflictResolver
  private let check: (Int) throws -> Void
  private var stepCount = 0
  let issues = PlanReasons()

  /// The objects of both sides that theirs changed.
  var shared = ObjectSet()
  /// The objects that ours does not have and the result has, with their state in theirs.
  var inserted = ObjectSet()
  /// Those of them that ours had deleted.
  var restored = ObjectSet()
  /// The objects of ours that theirs had deleted, and that an answer keeps.
  var kept = ObjectSet()
  var deleted = DeletedObjects()
  /// The objects that delete rules would delete, and that stay.
  var keptAlong = ObjectSet()
  /// The objects with an open conflict about their existence. No other conflict follows from them, so that both
  /// directions have the same conflicts (M17).
  var undecided = ObjectSet()
  /// The properties with an open conflict.
  let undecidedPlaces: PropertySet
  let attributes: MergedAttributes
  let links: MergedLinks
  /// The to-one targets of one-to-one relationships, which depend on each other.
  let partnerWishes: PropertyMap<PartnerWish>
  /// The targets of these, with the code of the relationship that leads to them.
  let wishedPartners: PropertySet
  /// The objects that were united with another one.
  let united: ObjectMap
  let orders: MergedOrders

  struct PartnerWish: BitwiseCopyable {
    private let rawTarget: UInt64?
    /// Whether an answer names the target.
    let isChosen: Bool

    init(target: ObjectID?, isChosen: Bool) {
      rawTarget = target?.rawValue
      self.isChosen = isChosen
    }

    var target: ObjectID? { rawTarget.map(ObjectID.init(rawValue:)) }
  }

  init(
    _ schema: Schema, _ ours: MergeSideStates, _ theirs: MergeSideStates, _ options: MergeOptions,
    _ scratchDirectory: String
  ) throws {
    self.schema = schema
    self.ours = ours
    self.theirs = theirs
    space = ScratchSpace(directory: scratchDirectory)
    ends = LinkEnds.of(schema)
    book = try MergeRuleBook(schema, options)
    resolver = ConflictResolver(options, ConflictLog(in: ScratchSpace(directory: scratchDirectory)))
    undecidedPlaces = PropertySet(in: space)
    attributes = MergedAttributes(in: space)
    links = MergedLinks(in: space)
    partnerWishes = PropertyMap(in: space)
    wishedPartners = PropertySet(in: space)
    united = ObjectMap(in: space)
    orders = MergedOrders(in: space)
    check = options.check
  }

  /// Notes a step of the work, which is about one object.
  ///
  /// - Throws: the error of a cancelled merge.
  func step() throws {
    stepCount += 1
    if stepCount.isMultiple(of: 1024) { try check(stepCount) }
  }

  func states(_ side: MergeSide) -> MergeSideStates { side == .ours ? ours : theirs }

  // MARK: The result

  /// The entity of an object in the result; nil if the result does not have it.
  func entity(_ id: ObjectID) throws -> CompiledEntity? {
    if deleted.contains(id) || united[id] != nil { return nil }
    return try (inserted.contains(id) ? theirs : ours).now.entity(of: id)
  }

  /// The entity of an object in any state.
  func anyEntity(_ id: ObjectID) throws -> CompiledEntity? {
    if inserted.contains(id) { return try theirs.now.entity(of: id) }
    return try ours.now.entity(of: id) ?? theirs.now.entity(of: id)
  }

  /// The members of a relationship in the result, including objects that are about to be deleted: those of ours in
  /// their order, then new ones.
  func members(_ id: ObjectID, _ relationship: CompiledRelationship) throws -> [ObjectID] {
    let present = try ours.now.membersIfPresent(of: id, relationship)
    let place = PropertyPlace(owner: id, code: relationship.code)
    guard links.contains(place) else { return present }
    return present.filter { links.isAdded($0, at: place) != false } + links.members(true, at: place)
  }

  func target(_ id: ObjectID, _ relationship: CompiledRelationship) throws -> ObjectID? {
    try members(id, relationship).first
  }

  func hasMember(_ member: ObjectID, _ id: ObjectID, _ relationship: CompiledRelationship) throws -> Bool {
    if let isAdded = links.isAdded(member, at: PropertyPlace(owner: id, code: relationship.code)) { return isAdded }
    guard let entity = try ours.now.entity(of: id), entity.relationshipIndexByCode[relationship.code] != nil else {
      return false
    }
    return try ours.now.hasMember(member, id, relationship)
  }

  /// The attributes of an object in the result, by index in its entity.
  func values(_ id: ObjectID, _ entity: CompiledEntity) throws -> [AttributeValue?] {
    var values = try (inserted.contains(id) ? theirs : ours).now.values(of: id, entity)
    for index in values.indices {
      if let value = attributes.value(index, of: id) { values[index] = value }
    }
    return values
  }

  // MARK: Changing the result

  func addLink(_ id: ObjectID, _ relationship: CompiledRelationship, _ target: ObjectID) throws {
    if try !hasMember(target, id, relationship) { try links.add(id, relationship, target) }
  }

  func removeLink(_ id: ObjectID, _ relationship: CompiledRelationship, _ target: ObjectID) throws {
    if try hasMember(target, id, relationship) { try links.remove(id, relationship, target) }
  }

  func setTarget(_ id: ObjectID, _ relationship: CompiledRelationship, _ new: ObjectID?) throws {
    let old = try target(id, relationship)
    if old == new { return }
    if let old { try links.remove(id, relationship, old) }
    if let new { try links.add(id, relationship, new) }
  }

  // MARK: Iterating

  /// Calls `body` with the objects of both sides that theirs changed, ascending.
  func forEachShared(_ body: (ObjectID, CompiledEntity) throws -> Void) throws {
    try forEach(of: shared, entity: { try self.theirs.now.entity(of: $0) }, body)
  }

  /// Calls `body` with the objects of ours that theirs had deleted, and that the result keeps, ascending.
  func forEachKept(_ body: (ObjectID, CompiledEntity) throws -> Void) throws {
    try forEach(of: kept, entity: { try self.ours.now.entity(of: $0) }, body)
  }

  /// Calls `body` with the inserted objects, ascending.
  func forEachInserted(_ body: (ObjectID, CompiledEntity) throws -> Void) throws {
    try forEach(of: inserted, entity: { try self.theirs.now.entity(of: $0) }, body)
  }

  /// Calls `body` with the relationships of objects, ascending by object and code.
  func forEachRelationship(
    of owners: ObjectSet, _ body: (PropertyPlace, CompiledEntity, CompiledRelationship) throws -> Void
  ) throws {
    try forEach(of: owners, entity: anyEntity) { id, entity in
      for relationship in entity.relationships.sorted(by: { $0.code < $1.code }) {
        try body(PropertyPlace(owner: id, code: relationship.code), entity, relationship)
      }
    }
  }

  private func forEach(
    of ids: ObjectSet, entity: (ObjectID) throws -> CompiledEntity?,
    _ body: (ObjectID, CompiledEntity) throws -> Void
  ) throws {
    try ids.forEach { (id) throws -> Bool in
      if let entity = try entity(id) { try body(id, entity) }
      return true
    }
  }
}
