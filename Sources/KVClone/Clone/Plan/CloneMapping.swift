import KVCloneCore

/// The mapping of one concrete entity's objects: the identity within a store, otherwise by the bridge.
struct CloneMapping {
  /// The entity of the clones.
  let entity: CompiledEntity
  let bridge: EntityBridge?

  /// Why objects of the entity cannot be cloned.
  var errors: [CloneError] { bridge?.errors ?? [] }

  /// The clone's field for a field of the source's current layout; nil if it is not copied.
  func field(_ field: Int) -> Int? { bridge == nil ? field : bridge?.fields[field] }

  /// The index of the source's attribute that provides the value of a clone's attribute; nil if none does.
  func attribute(_ index: Int) -> Int? { bridge == nil ? index : bridge?.attributes[index] }

  /// The clone's relationship for a relationship of the source.
  func relationship(_ index: Int, _ step: CloneRuleBook.RelationshipPlan) -> CompiledRelationship {
    bridge?.relationships[index] ?? step.relationship
  }

  /// The code of the clone's hidden referrer list for one of the source's; nil if the destination has none.
  func referrers(_ code: UInt16) -> UInt16? { bridge == nil ? code : bridge?.referrers[code] }
}
