public import Foundation
public import KVCloneModel
import KVCloneRecords

/// An object where it is stored, for the length of a closure: nothing is copied, and only what is asked for is read.
///
/// It is what to use where many objects are looked at and few of their values kept; a ``ManagedObject`` is a copy of all of
/// an object, which may be kept, changed and saved.
///
/// ```swift
/// let price = try store.attribute("Item", "price", as: Double.self)
/// try store.read { tx in
///   try tx.forEachView(matching: request) { item in
///     total += try item.value(price) ?? 0
///     return true
///   }
/// }
/// ```
///
/// Its record was verified as a whole before, as for every other way to read.
public struct ObjectView: ~Escapable {
  /// The object's id.
  public let id: ObjectID
  let record: RecordView
  /// The schema, which lives as long as the transaction: its references are not counted for every object.
  private let schemaPlace: UnsafeRawPointer
  /// Transient attributes, as the transaction has them; nil as a rule.
  private let transients: [String: AttributeValue]?

  /// - Throws: `damaged` where the record is of another root entity than the id.
  @_lifetime(copy record)
  init(
    _ record: consuming RecordView, id: ObjectID, _ schema: Schema, transients: [String: AttributeValue]?
  ) throws(StoreError) {
    guard schema.rootCode(ofEntity: record.layout.entityCode) == id.rootCode else {
      throw schema.corrupted(id, .wrongLayout)
    }
    self.id = id
    schemaPlace = UnsafeRawPointer(Unmanaged.passUnretained(schema).toOpaque())
    self.transients = transients
    self.record = record
  }

  private var schema: Schema { Unmanaged<Schema>.fromOpaque(schemaPlace).takeUnretainedValue() }

  @inline(__always)
  private var schemaNumber: UInt64 {
    Unmanaged<Schema>.fromOpaque(schemaPlace)._withUnsafeGuaranteedRef { $0.number }
  }

  private var entity: CompiledEntity {
    guard let entity = schema.entity(code: record.layout.entityCode) else {
      preconditionFailure("a view is made of objects whose entity is known")
    }
    return entity
  }

  /// The concrete entity's name.
  public var entityName: String { entity.name }
  /// `Note/12`: the concrete entity and the serial.
  public var name: String { "\(entity.name)/\(id.serial)" }
  /// The commit that last changed the object.
  public var commit: UInt64 { record.commit }

  /// A copy of all of it, which may leave the transaction.
  public func managedObject() -> ManagedObject {
    ManagedObject(record, id: id, entity: entity, schema: schema, transients: transients ?? [:])
  }

  /// An attribute's value by its name, as ``ManagedObject/value(_:)`` gives it.
  ///
  /// - Throws: `unknownProperty`; `damaged`.
  public func value(_ attribute: String) throws(StoreError) -> AttributeValue? {
    let entity = entity
    if let transients {
      if let transient = transients[attribute] { return transient }
      if let transient = entity.transientComposite(attribute, { transients[$0] }) { return transient }
    }
    return try entity.value(named: attribute, in: record, id: id, schema: schema)
  }

  /// The target of a to-one relationship; nil for an empty or unknown one.
  public func toOne(_ relationship: String) -> ObjectID? { entity.toOne(relationship, record) }

  /// How many members a relationship has; 0 for an unknown one.
  public func count(_ relationship: String) -> Int { entity.count(relationship, record) }

  // MARK: By key

  /// The field that holds a key's attribute; nil where the value has to be found by name.
  @inline(__always)
  private func field(_ place: AttributePlace) -> RecordField? {
    guard place.schemaNumber == schemaNumber, let field = place.field else { return nil }
    return record.layout == field.layout ? field : otherField(place)
  }

  /// The field in a record of a sub-entity, or from before an attribute was added to the entity.
  private func otherField(_ place: AttributePlace) -> RecordField? {
    guard entity.isKind(of: place.entityCode) else { return nil }
    return RecordField(record.layout, property: place.code)
  }

  /// An attribute's value in whatever way it can be found.
  ///
  /// - Throws: `unknownProperty` where the object is of an entity without the attribute; `wrongType`; `damaged`.
  private func found<Value: AttributeConvertible>(_ place: AttributePlace) throws(StoreError) -> Value? {
    let entity = entity
    guard place.schemaNumber != schemaNumber || entity.isKind(of: place.entityCode) else {
      throw entity.unknownAttribute("\(place.entityName).\(place.path)")
    }
    guard let stored = try value(place.path) else { return nil }
    guard let value = Value(attributeValue: stored) else { throw mismatch(place, Value.self) }
    return value
  }

  @inline(never)
  private func mismatch(_ place: AttributePlace, _ type: Any.Type) -> StoreError {
    StoreError.notConvertible(place.path, type, entity: entityName, object: name)
  }

  /// An attribute's value.
  ///
  /// - Throws: `unknownProperty` where the object is of an entity without the attribute; `wrongType` for a value that the type
  ///   cannot have; `damaged` for a text that is not UTF-8.
  public func value<Value>(_ key: AttributeKey<Value>) throws(StoreError) -> Value? { try found(key.place) }

  /// A whole number of any size that fits.
  ///
  /// - Throws: see the others.
  @inline(__always)
  private func integer<Value: AttributeConvertible & FixedWidthInteger>(_ place: AttributePlace) throws(StoreError)
    -> Value?
  {
    guard let field = field(place) else { return try found(place) }
    if record.isNull(field) { return nil }
    guard field.kind.isInteger else { return try found(place) }
    let number = record.integer(field)
    guard let value = Value(exactly: number) else { throw mismatch(place, Value.self) }
    return value
  }

  /// An integer attribute's value.
  public func value(_ key: AttributeKey<Int>) throws(StoreError) -> Int? { try integer(key.place) }

  /// An integer attribute's value.
  public func value(_ key: AttributeKey<Int64>) throws(StoreError) -> Int64? { try integer(key.place) }

  /// An integer attribute's value.
  public func value(_ key: AttributeKey<Int32>) throws(StoreError) -> Int32? { try integer(key.place) }

  /// An integer attribute's value.
  public func value(_ key: AttributeKey<Int16>) throws(StoreError) -> Int16? { try integer(key.place) }

  /// A boolean attribute's value.
  public func value(_ key: AttributeKey<Bool>) throws(StoreError) -> Bool? {
    guard let field = field(key.place), field.kind == .boolean else { return try found(key.place) }
    return record.isNull(field) ? nil : record.integer(field) != 0
  }

  /// A double attribute's value.
  public func value(_ key: AttributeKey<Double>) throws(StoreError) -> Double? {
    guard let field = field(key.place), field.kind == .double else { return try found(key.place) }
    return record.isNull(field) ? nil : record.double(field)
  }

  /// A date attribute's value.
  public func value(_ key: AttributeKey<Date>) throws(StoreError) -> Date? {
    guard let field = field(key.place), field.kind == .date else { return try found(key.place) }
    return record.isNull(field) ? nil : Date(timeIntervalSinceReferenceDate: record.double(field))
  }

  /// A text attribute's value.
  ///
  /// - Throws: `damaged` where it is not UTF-8.
  public func value(_ key: AttributeKey<String>) throws(StoreError) -> String? {
    guard let field = field(key.place), field.kind == .string else { return try found(key.place) }
    if record.isNull(field) { return nil }
    do throws(RecordError) { return try record.string(field) } catch { throw schema.corrupted(id, error, record.layout) }
  }

  /// Calls `body` with a text's bytes where they are stored, in UTF-8, which is not checked again: it was when the text was
  /// written, and the record's checksum is right. Not for a default of an attribute that was added since the object was written,
  /// nor for a transient attribute, which have no such place: their bytes are made.
  ///
  /// - Returns: what `body` does; nil where the attribute is nil.
  /// - Throws: see `value`, and what `body` throws.
  public func withUTF8<Result>(_ key: AttributeKey<String>, _ body: (borrowing RawSpan) throws -> Result) throws
    -> Result?
  {
    guard let field = field(key.place), field.kind == .string else {
      guard let text: String = try found(key.place) else { return nil }
      return try body(Array(text.utf8).span.bytes)
    }
    return record.isNull(field) ? nil : try body(record.bytes(field))
  }
}

extension StoreError {
  /// The error for a value that a Swift type does not have.
  static func notConvertible(_ attribute: String, _ type: Any.Type, entity: String, object: String) -> StoreError {
    StoreError(
      .wrongType, "\(object).\(attribute) holds a value that \(type) cannot have; set it to one that it can",
      entity: entity,
      property: attribute, object: object)
  }
}
