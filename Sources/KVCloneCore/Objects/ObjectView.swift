public import Foundation
public import KVCloneModel
package import KVCloneRecords

/// A view of an object in the store's memory map, valid within a closure. Nothing is copied, and only requested values
/// are read.
///
/// Use views to read few values of many objects. A ``ManagedObject`` is a full copy of an object, which can be kept,
/// changed and saved.
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
/// The checksum of the whole record is verified before the view is created, as for every other read.
public struct ObjectView: ~Escapable {
  /// The id of the object.
  public let id: ObjectID
  let record: RecordView
  /// The schema, which lives as long as the transaction: avoids reference counting for every object.
  private let schemaPlace: UnsafeRawPointer
  /// Transient attributes, from the transaction; usually nil.
  private let transients: [String: AttributeValue]?

  /// - Throws: `corrupted` if the record belongs to another root entity than the id.
  @_lifetime(copy record)
  package init(
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
      preconditionFailure("the entity of a viewed object must be known")
    }
    return entity
  }

  /// The name of the concrete entity.
  public var entityName: String { entity.name }
  /// The name of the object: its concrete entity and its serial, such as `Note/12`.
  public var name: String { "\(entity.name)/\(id.serial)" }
  /// The number of the commit that last changed the object.
  public var commit: UInt64 { record.commit }

  /// Returns a copy of the object, which may leave the transaction.
  public func managedObject() -> ManagedObject {
    ManagedObject(record, id: id, entity: entity, schema: schema, transients: transients ?? [:])
  }

  /// Returns the value of an attribute by its name, like ``ManagedObject/value(_:)``.
  ///
  /// - Throws: `unknownProperty`, `corrupted`.
  public func value(_ attribute: String) throws(StoreError) -> AttributeValue? {
    let entity = entity
    if let transients {
      if let transient = transients[attribute] { return transient }
      if let transient = entity.transientComposite(attribute, { transients[$0] }) { return transient }
    }
    return try entity.value(named: attribute, in: record, id: id, schema: schema)
  }

  /// Returns the first bytes of a text in the record, and its length in bytes, regardless of the length of the text;
  /// nil for other attributes, and for values that are not in the record.
  package func textBeginning(_ attribute: String, byteLimit: Int) -> (bytes: [UInt8], byteCount: Int)? {
    guard let found = entity.storedAttribute(attribute), let preset = found.field,
      [.string, .uri].contains(found.description.type),
      let field = entity.field(preset, code: found.code, in: record), !record.isNull(field)
    else { return nil }
    let text = record.variableBytes(field)
    let beginning = text.extracting(0..<min(text.byteCount, byteLimit))
    return (beginning.withUnsafeBytes { Array($0) }, text.byteCount)
  }

  /// Returns the target of a to-one relationship; nil if it is empty or the name is unknown.
  public func toOne(_ relationship: String) -> ObjectID? { entity.toOne(relationship, record) }

  /// Returns the number of members of a relationship; 0 for an unknown name.
  public func count(_ relationship: String) -> Int { entity.count(relationship, record) }

  // MARK: By key

  /// The field of a key's attribute; nil if the value has to be looked up by name.
  @inline(__always)
  private func field(_ place: AttributePlace) -> RecordField? {
    guard place.schemaNumber == schemaNumber, let field = place.field else { return nil }
    return record.layout == field.layout ? field : otherField(place)
  }

  /// The field in a record of a subentity, or of a record that is older than the attribute.
  private func otherField(_ place: AttributePlace) -> RecordField? {
    guard entity.isKind(of: place.entityCode) else { return nil }
    return RecordField(record.layout, property: place.code)
  }

  /// An attribute's value in the general case.
  ///
  /// - Throws: `unknownProperty` if the object's entity lacks the attribute; `wrongType`; `corrupted`.
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

  /// Returns the value of an attribute.
  ///
  /// - Throws: `unknownProperty` if the object's entity does not have the attribute; `wrongType` if the type cannot
  ///   represent the value; `corrupted` if text is not valid UTF-8.
  public func value<Value>(_ key: AttributeKey<Value>) throws(StoreError) -> Value? { try found(key.place) }

  /// An integer of any size that fits.
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

  /// Returns the value of an integer attribute.
  ///
  /// - Throws: `unknownProperty`; `wrongType` if the value does not fit the type; `corrupted`.
  public func value(_ key: AttributeKey<Int>) throws(StoreError) -> Int? { try integer(key.place) }

  /// Returns the value of an integer attribute.
  ///
  /// - Throws: `unknownProperty`; `wrongType` if the value does not fit the type; `corrupted`.
  public func value(_ key: AttributeKey<Int64>) throws(StoreError) -> Int64? { try integer(key.place) }

  /// Returns the value of an integer attribute.
  ///
  /// - Throws: `unknownProperty`; `wrongType` if the value does not fit the type; `corrupted`.
  public func value(_ key: AttributeKey<Int32>) throws(StoreError) -> Int32? { try integer(key.place) }

  /// Returns the value of an integer attribute.
  ///
  /// - Throws: `unknownProperty`; `wrongType` if the value does not fit the type; `corrupted`.
  public func value(_ key: AttributeKey<Int16>) throws(StoreError) -> Int16? { try integer(key.place) }

  /// Returns the value of a boolean attribute.
  ///
  /// - Throws: `unknownProperty`, `wrongType`, `corrupted`.
  public func value(_ key: AttributeKey<Bool>) throws(StoreError) -> Bool? {
    guard let field = field(key.place), field.kind == .boolean else { return try found(key.place) }
    return record.isNull(field) ? nil : record.integer(field) != 0
  }

  /// Returns the value of a double attribute.
  ///
  /// - Throws: `unknownProperty`, `wrongType`, `corrupted`.
  public func value(_ key: AttributeKey<Double>) throws(StoreError) -> Double? {
    guard let field = field(key.place), field.kind == .double else { return try found(key.place) }
    return record.isNull(field) ? nil : record.double(field)
  }

  /// Returns the value of a date attribute.
  ///
  /// - Throws: `unknownProperty`, `wrongType`, `corrupted`.
  public func value(_ key: AttributeKey<Date>) throws(StoreError) -> Date? {
    guard let field = field(key.place), field.kind == .date else { return try found(key.place) }
    return record.isNull(field) ? nil : Date(timeIntervalSinceReferenceDate: record.double(field))
  }

  /// Returns the value of a string attribute.
  ///
  /// - Throws: `unknownProperty`, `wrongType`; `corrupted` if the text is not valid UTF-8.
  public func value(_ key: AttributeKey<String>) throws(StoreError) -> String? {
    guard let field = field(key.place), field.kind == .string else { return try found(key.place) }
    if record.isNull(field) { return nil }
    do throws(RecordError) { return try record.string(field) } catch {
      throw schema.corrupted(id, error, record.layout)
    }
  }

  /// Calls `body` with the UTF-8 bytes of a string attribute in the memory map.
  ///
  /// The bytes are not validated again: they were valid when written, and the checksum of the record is verified. The
  /// bytes are a temporary copy for transient attributes, and for defaults of attributes that were added after the
  /// object was written.
  ///
  /// - Returns: the result of `body`, or nil if the attribute is nil.
  /// - Throws: `unknownProperty`, `wrongType`, `corrupted`, and the error of `body`.
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
  /// The error for a value that a Swift type cannot represent.
  package static func notConvertible(_ attribute: String, _ type: Any.Type, entity: String, object: String)
    -> StoreError
  {
    StoreError(
      .wrongType,
      "\(object).\(attribute) has a value that \(type) cannot represent; change the value, or use another type",
      entity: entity,
      property: attribute, object: object)
  }
}
