package import KVCloneModel
package import KVCloneRecords

extension Session {
  /// Writes stored attributes of the object with the record in `scratch`, and everything that depends on them. Changes
  /// of derived attributes need no validation, except for uniqueness.
  package mutating func write(
    _ changed: [(attribute: CompiledAttribute, value: AttributeValue?)], to id: ObjectID, _ entity: CompiledEntity
  ) throws(StoreError) {
    let sources = try DerivedChanges.sources(id, entity, changed, in: self)
    let codes = entity.indexedCodes.intersection(changed.map(\.attribute.code))
    let oldKeys = try IndexEntries.keys(id, entity, of: codes, in: self)
    for (attribute, value) in changed { try put(value, in: attribute, of: id) }
    try refuseFullRecord(id)
    try store(id, entity)
    try IndexEntries.replace(oldKeys, id, entity, of: codes, in: &self)
    let needsValidation =
      !codes.isDisjoint(with: entity.uniqueCodes) || changed.contains { !$0.attribute.description.isDerived }
    for (attribute, _) in changed { noteUpdate(id, property: attribute.code, validates: needsValidation) }
    try DerivedChanges.attributesChanged(id, entity, changed, from: sources, in: &self)
  }

  /// Rejects values that leave no space in the record in `scratch` for the object's lists: links to it may be deferred,
  /// and the error could then no longer be reported to the caller that makes them (``DeferredInserts``).
  @inline(__always)
  borrowing func refuseFullRecord(_ id: ObjectID) throws(StoreError) {
    if scratch.hasRoomForLists() { return }
    throw StoreError(
      .limitExceeded, "\(scratchName(id)) cannot be stored: \(RecordError.recordTooLarge)",
      object: scratchName(id))
  }

  /// Puts a value into the record in `scratch`; large binary values become blobs, and the previous blob loses a
  /// reference.
  mutating func put(_ value: AttributeValue?, in attribute: CompiledAttribute, of id: ObjectID)
    throws(StoreError)
  {
    guard let field = attribute.field else {
      changes.transients[.init(object: id, attribute: attribute.path)] = value
      return
    }
    var value = value
    let isBinary = attribute.description.type == .binary || attribute.description.type == .transformable
    let old = isBinary && !scratch.view.isNull(field) ? scratch.view.blobReference(field) : nil
    switch value {
    case .binary(let data) where data.count > FormatLimits.inlineBlobLimit:
      value = .blob(try BlobValues.create(data, isTransformable: false, in: &self))
    case .transformable(let data) where data.count > FormatLimits.inlineBlobLimit:
      value = .blob(try BlobValues.create(data, isTransformable: true, in: &self))
    case .blob(let reference):
      try BlobValues.retain(reference, in: &self)
    default: break
    }
    do throws(RecordError) {
      try scratch.set(field, value)
    } catch {
      throw StoreError(
        error == .recordTooLarge ? .limitExceeded : .wrongType, "\(attribute.path) cannot be stored: \(error)",
        property: attribute.path, object: scratchName(id))
    }
    if let old { try releaseBlob(old) }
  }

  /// Records a change of a property of an object that existed before, for the commit and the history.
  mutating func noteUpdate(_ id: ObjectID, property: UInt16, validates: Bool = true) {
    if validates { changes.noteUpdate(id) } else { changes.isEmpty = false }
    state.history?.noteUpdate(id, property: property)
  }

  /// Returns the name of the object with the record in `scratch`.
  borrowing func scratchName(_ id: ObjectID) -> String {
    schema.entity(code: scratch.layout.entityCode).map { "\($0.name)/\(id.serial)" } ?? schema.rootName(of: id)
  }

  /// Returns a stored attribute's value, for an object of the declaring entity or of any subentity.
  package borrowing func storedValue(_ attribute: CompiledAttribute, _ id: ObjectID, _ view: borrowing RecordView)
    throws(StoreError) -> AttributeValue?
  {
    guard let field = view.layout.fieldIndex(ofProperty: attribute.code) else { return attribute.fill }
    do throws(RecordError) {
      return try view.value(field)
    } catch {
      throw schema.corrupted(id, error, view.layout)
    }
  }
}
