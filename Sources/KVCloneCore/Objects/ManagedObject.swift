public import KVCloneModel
package import KVCloneRecords

/// A copy of an object as a transaction read it. It may leave the transaction, and can be changed and saved later.
///
/// Reading an attribute does not need an open transaction; following a to-many relationship does. Setting an attribute
/// changes only this value. ``WriteTransaction/save(_:ifUnchanged:)->_`` writes the changes.
public struct ManagedObject: Sendable {
  /// The id of the object.
  public let id: ObjectID
  package let entity: CompiledEntity
  let schema: Schema
  package let record: RecordCopy
  private var extras = ManagedObjectExtras.none

  init(
    _ view: borrowing RecordView, id: ObjectID, entity: CompiledEntity, schema: Schema,
    transients: [String: AttributeValue]
  ) {
    self.id = id
    self.entity = entity
    self.schema = schema
    record = RecordCopy(view)
    if !transients.isEmpty { extras = .some(.init(transients: transients)) }
  }

  /// The values that were set since the object was read.
  var pending: [String: AttributeValue?] { extras.values.pending }
  /// The changes of its relationships by an editing context.
  package var links: ObjectValues {
    get { extras.values.links }
    set { extras.change { $0.links = newValue } }
  }

  /// The name of the concrete entity.
  public var entityName: String { entity.name }
  /// The name of the object: its concrete entity and its serial, such as `Note/12`.
  public var name: String { "\(entity.name)/\(id.serial)" }
  /// Whether the object belongs to an entity, or to a descendant of it.
  package func isKind(of other: String) -> Bool { entity.name == other || model.entity(entity.name, isKindOf: other) }
  /// The model of the object.
  package var model: ManagedObjectModel { schema.model }
  /// The object in the state that was read.
  package var withoutChanges: ManagedObject {
    var copy = self
    copy.extras = extras.values.transients.isEmpty ? .none : .some(.init(transients: extras.values.transients))
    return copy
  }
  /// The number of the commit that last changed the object.
  public var commit: UInt64 { record.view.commit }
  /// Whether attributes were set after the object was read.
  public var hasChanges: Bool { !pending.isEmpty }

  /// The value of an attribute.
  ///
  /// The value is nil for unknown names; ``value(_:)`` throws for those. For a blob, the value is the reference
  /// `AttributeValue.blob`; read its bytes in a transaction.
  public subscript(attribute: String) -> AttributeValue? {
    get { (try? value(attribute)) ?? nil }
    set {
      // A composite is stored as its elements, so that it and they cannot contradict each other. An invalid one stays
      // unchanged, for the save to reject.
      let leaves = entity.composite(at: attribute).flatMap { _ in try? entity.assignments(attribute, newValue) }
      extras.change { values in
        guard let leaves else { return values.pending[attribute] = .some(newValue) }
        values.pending[attribute] = nil
        for leaf in leaves { values.pending[leaf.attribute.path] = .some(leaf.value) }
      }
    }
  }

  /// Returns the value of an attribute.
  ///
  /// - Throws: `unknownProperty`; `corrupted` if stored text is not valid UTF-8.
  public func value(_ attribute: String) throws(StoreError) -> AttributeValue? {
    if case .some(let values) = extras {
      if let set = values.pending[attribute] { return set }
      if !values.pending.isEmpty, let composite = entity.composite(at: attribute),
        values.pending.keys.contains(where: { $0.hasPrefix(attribute + ".") })
      {
        return try withPending(composite, attribute)
      }
      if let transient = values.transients[attribute] { return transient }
      if !values.transients.isEmpty,
        let transient = entity.transientComposite(attribute, { values.transients[$0] })
      {
        return transient
      }
    }
    let view = record.view
    return try entity.value(named: attribute, in: view, id: id, schema: schema)
  }

  /// A composite attribute with the elements that were set.
  private func withPending(_ composite: AttributeDescription, _ path: String) throws(StoreError) -> AttributeValue? {
    var values: [String: AttributeValue] = [:]
    for element in composite.elements { values[element.name] = try value(path + "." + element.name) }
    return values.isEmpty ? nil : .composite(values)
  }

  /// Returns the target of a to-one relationship at the time of the read; nil if it is empty or the name is unknown.
  public func toOne(_ relationship: String) -> ObjectID? {
    if case .some(let values) = extras, let target = values.links.targets[relationship] { return target }
    let view = record.view
    return entity.toOne(relationship, view)
  }

  /// Returns the number of members of a relationship at the time of the read; 0 for an unknown name.
  public func count(_ relationship: String) -> Int {
    let view = record.view
    return entity.count(relationship, view)
  }
}

/// Rare data in addition to the record; takes no memory if empty.
private indirect enum ManagedObjectExtras: Sendable {
  struct Values: Sendable {
    /// The values that were set since the object was read.
    var pending: [String: AttributeValue?] = [:]
    /// The changes of its relationships by an editing context.
    var links = ObjectValues()
    /// Transient attributes, from the transaction.
    var transients: [String: AttributeValue] = [:]
  }

  case none
  case some(Values)

  var values: Values {
    if case .some(let values) = self { return values }
    return Values()
  }

  mutating func change(_ body: (inout Values) -> Void) {
    var values = values
    // Released first, so that a unique reference is modified in place.
    self = .none
    body(&values)
    self = .some(values)
  }
}
