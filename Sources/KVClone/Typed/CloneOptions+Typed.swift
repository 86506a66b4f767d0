public import KVCloneCore
public import KVCloneModel

/// Options that name relationships and objects by their Swift types.
extension CloneOptions {
  /// Sets the rule of one relationship. It overrides the rules in the model's userInfo (R7).
  ///
  /// ```swift
  /// var options = CloneOptions()
  /// options.setRule(.reference, for: \TodoList.Fields.owner)
  /// ```
  ///
  /// - Parameters:
  ///   - rule: the rule; nil restores the rule of the model.
  ///   - relationship: the relationship. The key path of an attribute makes the clone fail with `unknownRelationship`.
  public mutating func setRule<Fields: EntityFields, Value>(
    _ rule: CloneRule?, for relationship: KeyPath<Fields, Value>
  ) {
    rules[Self.name(of: relationship)] = rule
  }

  /// Excludes a relationship on every level: it is not followed and stays empty on the clone (R5).
  ///
  /// ```swift
  /// options.exclude(\Item.Fields.photos)
  /// ```
  public mutating func exclude<Fields: EntityFields, Value>(_ relationship: KeyPath<Fields, Value>) {
    excludedRelationshipNames.append(Self.name(of: relationship))
  }

  /// Sets a closure that runs for every cloned object of a type with its clone, after ``didClone`` if that is set.
  ///
  /// - Parameters:
  ///   - type: the Swift type of the entity. `body` also receives objects of its subentities.
  ///   - body: may change the clone, in the transaction of the clone operation. Throwing rolls the transaction back.
  public mutating func didClone<Object: EntityObject>(
    _ type: Object.Type,
    _ body:
      @escaping @Sendable (
        inout WriteTransaction, _ source: TypedObjectID<Object>, _ clone: TypedObjectID<Object>
      ) throws -> Void
  ) {
    let before = didClone
    didClone = { transaction, source, clone in
      try before?(&transaction, source, clone)
      // An earlier hook may have deleted the clone.
      guard try transaction.exists(clone), try transaction.isKind(clone, of: Object.entity.name) else { return }
      try body(&transaction, TypedObjectID(source), TypedObjectID(clone))
    }
  }

  /// `Entity.relationship`. Other key paths are converted to their description, so that the clone's error contains it.
  private static func name<Fields: EntityFields, Value>(of path: KeyPath<Fields, Value>) -> String {
    let entity = Fields.Object.entity.name
    let property = Fields.name(of: path)
    return "\(entity).\(property ?? "\(path)")"
  }
}

extension ObjectReading where Self: ~Copyable {
  fileprivate borrowing func isKind(_ id: ObjectID, of entity: String) throws(StoreError) -> Bool {
    try _withSession { (session) throws(StoreError) in
      try session.entity(of: id).isKind(of: session.schema.entity(entity).code)
    }
  }
}
