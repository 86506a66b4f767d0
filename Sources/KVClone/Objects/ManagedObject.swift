public import KVCloneModel
import KVCloneRecords

/// An object as a transaction read it: a value that may leave the transaction, be kept, changed and saved later.
///
/// Reading an attribute needs no open transaction; following a to-many relationship does. Setting an attribute changes
/// this value only; ``WriteTransaction/save(_:ifUnchanged:)`` writes what was set.
public struct ManagedObject: Sendable {
  /// The object's id.
  public let id: ObjectID
  let entity: CompiledEntity
  let schema: Schema
  private let record: RecordBox
  private let transients: [String: AttributeValue]
  /// What was set since the object was read.
  private(set) var pending: [String: AttributeValue?] = [:]
  /// What an editing context has done to its relationships.
  var links = ObjectValues()

  init(
    _ view: borrowing RecordView, id: ObjectID, entity: CompiledEntity, schema: Schema,
    transients: [String: AttributeValue]
  ) {
    self.id = id
    self.entity = entity
    self.schema = schema
    self.transients = transients
    record = RecordBox(view)
  }

  /// The concrete entity's name.
  public var entityName: String { entity.name }
  /// `Note/12`: the concrete entity and the serial.
  public var name: String { "\(entity.name)/\(id.serial)" }
  /// Whether the object is of an entity, or of one below it.
  func isKind(of other: String) -> Bool { entity.name == other || model.entity(entity.name, isKindOf: other) }
  /// The model that the object follows.
  var model: ManagedObjectModel { schema.model }
  /// The object as it was read.
  var withoutChanges: ManagedObject {
    var copy = self
    copy.pending = [:]
    copy.links = ObjectValues()
    return copy
  }
  /// The commit that last changed the object.
  public var commit: UInt64 { record.read { $0.commit } }
  /// Whether attributes were set since it was read.
  public var hasChanges: Bool { !pending.isEmpty }

  /// An attribute's value; nil also for names that the entity does not have (``value(_:)`` tells them apart).
  ///
  /// A large binary value is a reference, `AttributeValue.blob`: read its bytes in a transaction.
  public subscript(attribute: String) -> AttributeValue? {
    get { (try? value(attribute)) ?? nil }
    set {
      pending[attribute] = .some(newValue)
      // A composite is kept as its elements, so that it and they cannot say different things. What is none stays as it is,
      // for the save to refuse.
      guard entity.composite(at: attribute) != nil, let leaves = try? entity.assignments(attribute, newValue) else {
        return
      }
      pending[attribute] = nil
      for leaf in leaves { pending[leaf.attribute.path] = .some(leaf.value) }
    }
  }

  /// An attribute's value.
  ///
  /// - Throws: `unknownProperty`; `damaged` when the stored text is not UTF-8.
  public func value(_ attribute: String) throws(StoreError) -> AttributeValue? {
    if !pending.isEmpty {
      if let set = pending[attribute] { return set }
      if let composite = entity.composite(at: attribute),
        pending.keys.contains(where: { $0.hasPrefix(attribute + ".") })
      {
        return try withPending(composite, attribute)
      }
    }
    if !transients.isEmpty {
      if let transient = transients[attribute] { return transient }
      if let transient = entity.transientComposite(attribute, { transients[$0] }) { return transient }
    }
    return try record.read { (view) throws(StoreError) in
      try entity.value(named: attribute, in: view, id: id, schema: schema)
    }
  }

  /// A composite attribute some of whose elements were set.
  private func withPending(_ composite: AttributeDescription, _ path: String) throws(StoreError) -> AttributeValue? {
    var values: [String: AttributeValue] = [:]
    for element in composite.elements { values[element.name] = try value(path + "." + element.name) }
    return values.isEmpty ? nil : .composite(values)
  }

  /// The target of a to-one relationship when the object was read; nil for an empty or unknown one.
  public func toOne(_ relationship: String) -> ObjectID? {
    guard let compiled = try? entity.relationship(relationship), !compiled.isToMany else { return nil }
    if let target = links.targets[relationship] { return target }
    return record.read { view in
      entity.field(compiled.field, code: compiled.code, in: view).flatMap { view.toOne($0) }
    }
  }

  /// How many members a relationship had when the object was read; 0 for an unknown one.
  public func count(_ relationship: String) -> Int {
    guard let compiled = try? entity.relationship(relationship) else { return 0 }
    return record.read { view in
      guard let field = entity.field(compiled.field, code: compiled.code, in: view) else { return 0 }
      return compiled.isToMany ? view.head(field).count : view.toOne(field) == nil ? 0 : 1
    }
  }
}

/// A record in memory of its own. Immutable once made, so that it can be shared.
private final class RecordBox: @unchecked Sendable {
  private let buffer: RecordBuffer

  init(_ view: borrowing RecordView) {
    var copy = RecordBuffer()
    copy.load(view)
    buffer = copy
  }

  func read<R, E: Error>(_ body: (borrowing RecordView) throws(E) -> R) throws(E) -> R {
    try Self.read(buffer, body)
  }

  private static func read<R, E: Error>(
    _ buffer: borrowing RecordBuffer, _ body: (borrowing RecordView) throws(E) -> R
  ) throws(E) -> R {
    let view = buffer.view
    return try body(view)
  }
}
