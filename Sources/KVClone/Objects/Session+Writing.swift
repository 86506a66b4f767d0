import KVCloneModel
import KVCloneRecords

extension Session {
  /// Makes an object whose attributes have their defaults unless they are given, links it, and answers its id.
  mutating func insert(
    _ entity: CompiledEntity, _ attributes: [String: AttributeValue?], _ relationships: [String: [ObjectID]]
  ) throws(StoreError) -> ObjectID {
    guard !entity.isAbstract else {
      throw StoreError(
        .abstractEntity, "\(entity.name) is abstract; insert an object of one of its sub-entities", entity: entity.name)
    }
    // Everything that the caller may have got wrong is found before anything changes.
    let assignments = try entity.assignments(attributes)
    let links = try firstLinks(entity, relationships)
    if waiting?.isFull ?? false { try settle() }
    let id = try nextID(entity)
    scratch.reset(entity.layout)
    for (attribute, value) in entity.defaults { try put(value, in: attribute, of: id) }
    for (attribute, value) in assignments where !attribute.isDerived { try put(value, in: attribute, of: id) }
    // Its own side is written with it; then every partner learns of it.
    for (relationship, targets) in links { try putMembers(targets, relationship, of: id) }
    try refuseFullRecord(id)
    try append(id, entity)
    changes.isEmpty = false
    changes.noteInsert(id)
    changes.history?.noteInserts(from: id, count: 1)
    try noteIndexEntries(id, entity)
    noteDerivedInsert(id, entity)
    for (relationship, targets) in links { try attachBack(id, relationship, targets) }
    return id
  }

  /// The other side of a new object's links; most may wait (``WaitingInserts``).
  private mutating func attachBack(_ id: ObjectID, _ relationship: CompiledRelationship, _ targets: [ObjectID])
    throws(StoreError)
  {
    if relationship.inverseMayWait {
      let waiting = waitingInserts()
      for target in targets { waiting.links.append(target, relationship.inverseCode, id) }
      return
    }
    // A partner that lets go of a target may be one that does not know of it yet.
    if !relationship.inverseIsToMany { try settle() }
    for target in targets { try attachBack(id, relationship, target) }
  }

  /// Sets attributes of an object. A value equal to the stored one changes nothing, the commit stamp included.
  mutating func set(_ id: ObjectID, _ attributes: [String: AttributeValue?]) throws(StoreError) {
    let entity = try entity(of: id)
    let assignments = try entity.assignments(attributes)
    try entity.refuseDerived(assignments, object: "\(entity.name)/\(id.serial)")
    _ = try load(id)
    var changed: [(attribute: CompiledAttribute, value: AttributeValue?)] = []
    for assignment in assignments {
      let old = try entity.value(of: assignment.attribute, in: scratch.view, id: id, schema: schema)
      if assignment.attribute.field == nil || old != assignment.value { changed.append(assignment) }
    }
    // Transient values live beside the record: the stored object stays what it was.
    for (attribute, value) in changed where attribute.field == nil { try put(value, in: attribute, of: id) }
    changed.removeAll { $0.attribute.field == nil }
    guard !changed.isEmpty else { return }
    try write(changed, to: id, entity)
  }

  /// Writes stored attributes of the object whose record is in `scratch`, with all that depends on them. What only derived
  /// attributes say needs no validation, unless it has to be unique.
  mutating func write(
    _ changed: [(attribute: CompiledAttribute, value: AttributeValue?)], to id: ObjectID, _ entity: CompiledEntity
  ) throws(StoreError) {
    let sources = try derivedSources(id, entity, changed)
    let codes = entity.indexedCodes.intersection(changed.map(\.attribute.code))
    let oldKeys = try indexKeys(id, entity, of: codes)
    for (attribute, value) in changed { try put(value, in: attribute, of: id) }
    try refuseFullRecord(id)
    try store(id, entity)
    try replaceIndexEntries(oldKeys, id, entity, of: codes)
    let needsValidation =
      !codes.isDisjoint(with: entity.uniqueCodes) || changed.contains { !$0.attribute.description.isDerived }
    for (attribute, _) in changed { noteUpdate(id, property: attribute.code, validates: needsValidation) }
    try attributesChanged(id, entity, changed, from: sources)
  }

  /// Refuses values that leave the record in `scratch` no room for the object's lists: links to it may wait, and whoever makes
  /// them then could not be told (``WaitingInserts``).
  @inline(__always)
  private borrowing func refuseFullRecord(_ id: ObjectID) throws(StoreError) {
    if scratch.hasRoomForLists() { return }
    throw StoreError(
      .limitExceeded, "\(scratchName(id)) cannot be stored: \(RecordError.recordTooLarge)",
      object: scratchName(id))
  }

  /// Puts a value into the record in `scratch`; large binary values become blobs, and the blob that was there loses a
  /// referrer.
  private mutating func put(_ value: AttributeValue?, in attribute: CompiledAttribute, of id: ObjectID)
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
      value = .blob(try createBlob(data, isTransformable: false))
    case .transformable(let data) where data.count > FormatLimits.inlineBlobLimit:
      value = .blob(try createBlob(data, isTransformable: true))
    case .blob(let reference):
      try retainBlob(reference)
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

  /// The next id of an entity's root. Serials are not used again, not even those of transactions that were given up in
  /// this process.
  mutating func nextID(_ entity: CompiledEntity) throws(StoreError) -> ObjectID {
    let serial = try reserveSerials(rootCode: entity.rootCode, count: 1)
    return ObjectID(rootCode: entity.rootCode, serial: serial)
  }

  /// The first of the next `count` serials that a root entity's objects get.
  ///
  /// - Throws: `limitExceeded` when there are not so many left.
  borrowing func nextSerial(rootCode: UInt16, count: UInt64 = 1) throws(StoreError) -> UInt64 {
    let next: UInt64
    if let known = changes.nextSerials[rootCode] {
      next = known
    } else {
      let stored = try Metadata.serial(storage, schema.tables.metadata, rootCode: rootCode)
      next = max(max(1, stored), serialFloor.next(rootCode: rootCode))
    }
    guard count <= ObjectID.maximumSerial, next <= ObjectID.maximumSerial - count + 1 else {
      throw StoreError(
        .limitExceeded,
        "entity \(schema.entity(code: rootCode)?.name ?? "") has used all of its 2^48 serials; dump the store, and load "
          + "the dump into a new one",
        entity: schema.entity(code: rootCode)?.name)
    }
    return next
  }

  /// Takes `count` consecutive serials of a root entity, and answers the first.
  mutating func reserveSerials(rootCode: UInt16, count: UInt64) throws(StoreError) -> UInt64 {
    let next = try nextSerial(rootCode: rootCode, count: count)
    if limits != nil { try takeObjectRoom(count) }
    changes.nextSerials[rootCode] = next + count
    return next
  }

  /// Takes serials from `first` on, which `nextSerial` has answered before for the commit that this transaction begins
  /// with; false where others were given out since.
  mutating func takeSerials(rootCode: UInt16, from first: UInt64, count: UInt64) -> Bool {
    if let next = changes.nextSerials[rootCode] {
      guard next == first else { return false }
    } else {
      guard serialFloor.next(rootCode: rootCode) <= first else { return false }
    }
    changes.nextSerials[rootCode] = first + count
    return true
  }

  /// The serial for a new blob.
  mutating func nextBlobSerial() throws(StoreError) -> UInt64 {
    let next: UInt64
    if let known = changes.nextBlobSerial {
      next = known
    } else {
      next = max(max(1, try counter(MetadataKey.blobSerial)), serialFloor.next(rootCode: 0))
    }
    changes.nextBlobSerial = next + 1
    return next
  }
}
