public import KVCloneCore

/// Property access for generated source.
extension ManagedObject {
  /// Returns the value of an attribute, or nil.
  ///
  /// - Throws: `unknownProperty`; `wrongType` if the type cannot represent the value.
  public func decodeIfPresent<Value: AttributeConvertible>(_ attribute: String) throws(StoreError) -> Value? {
    guard let stored = try value(attribute) else { return nil }
    guard let value = Value(attributeValue: stored) else {
      throw StoreError.notConvertible(attribute, Value.self, entity: entityName, object: name)
    }
    return value
  }

  /// Returns the value of an attribute that must not be nil. A composite with only nil elements also counts as a value.
  ///
  /// - Throws: `unknownProperty`; `wrongType` for nil, and if the type cannot represent the value.
  public func decode<Value: AttributeConvertible>(_ attribute: String) throws(StoreError) -> Value {
    if let value: Value = try decodeIfPresent(attribute) { return value }
    if let value = Value.ofNothing { return value }
    throw isNil(attribute)
  }

  /// Returns the target of a to-one relationship, or nil.
  public func reference<Target>(_ relationship: String) -> TypedObjectID<Target>? {
    toOne(relationship).map { TypedObjectID($0) }
  }

  /// Returns the target of a to-one relationship that must not be empty.
  ///
  /// - Throws: `wrongType` if it is empty.
  public func requiredReference<Target>(_ relationship: String) throws(StoreError) -> TypedObjectID<Target> {
    guard let target: TypedObjectID<Target> = reference(relationship) else { throw isNil(relationship) }
    return target
  }

  /// Returns an unordered to-many relationship.
  public func members<Member>(_ relationship: String) -> ToMany<Member> { ToMany(list(relationship)) }

  /// Returns an ordered to-many relationship.
  public func orderedMembers<Member>(_ relationship: String) -> OrderedToMany<Member> {
    OrderedToMany(list(relationship))
  }

  private func list(_ relationship: String) -> MemberList {
    let stored = MemberList(owner: .init(id: id, relationship: relationship), count: count(relationship))
    return (links.members[relationship] ?? []).reduce(stored) { $0.adding($1) }
  }

  private func isNil(_ property: String) -> StoreError {
    StoreError(
      .wrongType,
      "\(name).\(property) is nil, but required in the model; set a value, or make it optional in the model",
      entity: entityName, property: property, object: name)
  }
}
