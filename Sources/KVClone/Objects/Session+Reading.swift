#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneModel
import KVCloneRecords

extension Session {
  /// The object, copied out of the transaction.
  borrowing func object(_ id: ObjectID) throws(StoreError) -> ManagedObject {
    try managedObject(try existingRecord(id), id: id)
  }

  borrowing func managedObject(_ view: borrowing RecordView, id: ObjectID) throws(StoreError) -> ManagedObject {
    let entity = try schema.entity(of: view, id: id)
    let transients = changes.transients.isEmpty ? [:] : transients(of: id, entity)
    return ManagedObject(view, id: id, entity: entity, schema: schema, transients: transients)
  }

  /// The transient attributes of an object that has a record; nil where the transaction has none at all, as a rule.
  @inline(__always)
  borrowing func transients(of id: ObjectID) throws(StoreError) -> [String: AttributeValue]? {
    changes.transients.isEmpty ? nil : transients(of: id, try entity(of: id))
  }

  private borrowing func transients(of id: ObjectID, _ entity: CompiledEntity) -> [String: AttributeValue] {
    var values: [String: AttributeValue] = [:]
    for attribute in entity.attributes where attribute.field == nil {
      values[attribute.path] = changes.transients[.init(object: id, attribute: attribute.path)]
    }
    return values
  }

  borrowing func exists(_ id: ObjectID) throws(StoreError) -> Bool {
    guard let table = schema.objectTable(rootCode: id.rootCode) else { return false }
    let key = ShortKey.object(id)
    return try storage.get(table, key.bytes) != nil
  }

  borrowing func value(_ id: ObjectID, _ attribute: String) throws(StoreError) -> AttributeValue? {
    let view = try existingRecord(id)
    let entity = try schema.entity(of: view, id: id)
    if let transient = changes.transients[.init(object: id, attribute: attribute)] { return transient }
    if !changes.transients.isEmpty,
      let transient = entity.transientComposite(attribute, { changes.transients[.init(object: id, attribute: $0)] })
    {
      return transient
    }
    return try entity.value(named: attribute, in: view, id: id, schema: schema)
  }

  borrowing func name(of id: ObjectID) throws(StoreError) -> String {
    "\(try entity(of: id).name)/\(id.serial)"
  }

  /// `Note/12`, or `x-kvclone://STORE-UUID/Note/p12`. The entity may be the concrete one or one above it.
  borrowing func objectID(named text: String) throws(StoreError) -> ObjectID {
    let id: ObjectID
    let entity: CompiledEntity
    do throws(StoreError) {
      (id, entity) = try parse(text)
      if try isObject(id, of: entity) { return id }
      if let moved = try formerObject(named: text) { return moved }
    } catch {
      guard error.kind == .unknownEntity, let moved = try formerObject(named: text) else { throw error }
      return moved
    }
    if try !exists(id) { throw schema.notFound(id, entity) }
    throw StoreError(.objectNotFound, "there is no object \(text); it was deleted, or never existed", object: text)
  }

  /// The object that had the name in an earlier version of the model, the latest one first.
  private borrowing func formerObject(named text: String) throws(StoreError) -> ObjectID? {
    let (name, serial) = try schema.split(text, storeUUID: storeUUID)
    guard schema.codes.former != nil else { return nil }
    var number = schema.catalogNumber
    while number > 1 {
      number -= 1
      let then = try schema.formerCatalogs.catalog(number, storage, schema.tables.metadata)
      guard let rootCode = then.model.rootEntity(of: name).flatMap({ then.codes.entities[$0] }) else { continue }
      let id = ObjectID(rootCode: rootCode, serial: serial)
      let now = try redirected(id) ?? id
      guard try exists(now) else { continue }
      // One that a mapping model made is of an entity that there was not yet.
      let code = try entity(of: now).code
      let before = then.codes.entities.first { $0.value == code }?.key
      if let before, !then.model.entity(before, isKindOf: name) { continue }
      return now
    }
    return nil
  }

  private borrowing func isObject(_ id: ObjectID, of entity: CompiledEntity) throws(StoreError) -> Bool {
    guard let table = schema.objectTable(rootCode: id.rootCode) else { return false }
    let key = ShortKey.object(id)
    guard let bytes = try storage.get(table, key.bytes) else { return false }
    return try schema.entity(of: try schema.view(of: bytes, id: id), id: id).isKind(of: entity.code)
  }

  borrowing func parse(_ text: String) throws(StoreError) -> (id: ObjectID, entity: CompiledEntity) {
    try schema.parse(text, storeUUID: storeUUID)
  }

  /// How many objects each concrete entity of a root's table has, by entity code. Reads headers only.
  borrowing func counts(rootCode: UInt16) throws(StoreError) -> [UInt16: Int] {
    guard let table = schema.objectTable(rootCode: rootCode) else { return [:] }
    var counts: [UInt16: Int] = [:]
    let key = ShortKey.object(ObjectID(rootCode: rootCode, serial: 0))
    let schema = schema
    // Neighbours are of one entity, as a rule.
    var last: (names: UInt32, code: UInt16, count: Int) = (0, 0, 0)
    try storage.scan(table, from: key.bytes) { (key, value) throws(StoreError) in
      let names: UInt32
      do throws(RecordError) { names = try RecordView.layoutAndEntity(of: copy value) } catch {
        throw schema.corrupted(try schema.objectID(key), error)
      }
      if names != last.names || last.count == 0 {
        if last.count > 0 { counts[last.code, default: 0] += last.count }
        last = (names, try schema.entityCode(names, of: copy value, try schema.objectID(key)), 0)
      }
      last.count += 1
      return true
    }
    if last.count > 0 { counts[last.code, default: 0] += last.count }
    return counts
  }

  /// How many entries a small table has.
  borrowing func countEntries(_ table: StorageTable) throws(StoreError) -> Int {
    var count = 0
    let first: [UInt8] = [0]
    try storage.scan(table, from: first.span.bytes) { (_, _) throws(StoreError) in
      count += 1
      return true
    }
    return count
  }

  /// How many objects an entity has.
  borrowing func count(of entity: CompiledEntity, includesSubentities: Bool) throws(StoreError) -> Int {
    let wanted = includesSubentities ? entity.concreteCodes : [entity.code]
    return try counts(rootCode: entity.rootCode).reduce(0) { $0 + (wanted.contains($1.key) ? $1.value : 0) }
  }

  /// The records of an entity's objects by ascending serial, until `body` answers false.
  borrowing func forEachRecord(
    of entity: CompiledEntity, includesSubentities: Bool, from start: UInt64 = 0,
    _ body: (ObjectID, borrowing RecordView) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let key = ShortKey.object(ObjectID(rootCode: entity.rootCode, serial: start))
    let schema = schema
    var known = KnownLayout(entity.wantedCodes(includesSubentities: includesSubentities))
    try storage.scan(entity.table, from: key.bytes) { (key, value) throws(StoreError) in
      let id = try schema.objectID(key)
      guard let layout = try known.layout(of: copy value, id, schema) else { return true }
      return try body(id, try schema.view(of: copy value, layout, id: id))
    }
  }
}

extension Session {
  /// The same for those of which a filter holds. Most of what it does not let through is dropped by its bytes.
  borrowing func forEachRecord(
    of entity: CompiledEntity, includesSubentities: Bool, through filter: inout RecordFilter,
    _ body: (ObjectID, borrowing RecordView) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let key = ShortKey.object(ObjectID(rootCode: entity.rootCode, serial: 0))
    let schema = schema
    var known = KnownLayout(entity.wantedCodes(includesSubentities: includesSubentities))
    try storage.scan(entity.table, from: key.bytes) { (key, value) throws(StoreError) in
      let verdict = filter.judge(copy key, copy value)
      if case .dropped = verdict { return true }
      let id = try schema.objectID(key)
      guard let layout = try known.layout(of: copy value, id, schema) else { return true }
      var isIntact = false
      if case .kept = verdict { isIntact = true }
      let view =
        isIntact
        ? try schema.view(ofIntact: copy value, layout, id: id) : try schema.view(of: copy value, layout, id: id)
      guard try filter.holds(id, view, self) else { return true }
      return try body(id, view)
    }
  }
}

/// The layout of the record that a scan was at last: neighbours are of one entity and layout, as a rule.
private struct KnownLayout {
  /// Codes of the entities whose records are wanted.
  private let wanted: Set<UInt16>
  /// The layout and entity that the last record's header named, and what that means.
  private var last: UInt32?
  private var layout: RecordLayout?

  init(_ wanted: Set<UInt16>) {
    self.wanted = wanted
  }

  /// The layout of an object's record; nil where the record is not wanted.
  @inline(__always)
  mutating func layout(of record: borrowing RawSpan, _ id: ObjectID, _ schema: Schema) throws(StoreError)
    -> RecordLayout?
  {
    let names: UInt32
    do throws(RecordError) { names = try RecordView.layoutAndEntity(of: copy record) } catch {
      throw schema.corrupted(id, error)
    }
    if names != last {
      layout = try schema.layout(names, of: copy record, id, ifOf: wanted)
      last = names
    }
    return layout
  }
}

extension Schema {
  /// An object's name, `Note/12` or its URI: the id and the entity that the name gives. Whether there is such an object is not
  /// looked up.
  func parse(_ text: String, storeUUID: UUID) throws(StoreError) -> (id: ObjectID, entity: CompiledEntity) {
    let (name, serial) = try split(text, storeUUID: storeUUID)
    let entity = try self.entity(nowOrBefore: name)
    return (ObjectID(rootCode: entity.rootCode, serial: serial), entity)
  }

  /// The two parts of an object's name.
  fileprivate func split(_ text: String, storeUUID: UUID) throws(StoreError) -> (entity: String, serial: UInt64) {
    let prefix = "x-kvclone://"
    var rest = text[...]
    var serialPrefix = ""
    if text.hasPrefix(prefix) {
      rest = text.dropFirst(prefix.count)
      guard let slash = rest.firstIndex(of: "/"), rest[..<slash].lowercased() == storeUUID.uuidString.lowercased()
      else {
        throw StoreError(.objectNotFound, "\(text) belongs to another store; open that store", object: text)
      }
      rest = rest[rest.index(after: slash)...]
      serialPrefix = "p"
    }
    guard let slash = rest.lastIndex(of: "/"), rest[rest.index(after: slash)...].hasPrefix(serialPrefix) else {
      throw invalidName(text)
    }
    let digits = rest[rest.index(after: slash)...].dropFirst(serialPrefix.count)
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }), let serial = UInt64(digits),
      serial > 0, serial <= ObjectID.maximumSerial
    else { throw invalidName(text) }
    return (String(rest[..<slash]), serial)
  }

  /// The entity with a name, or that had the name in an earlier version of the model and none has now.
  private func entity(nowOrBefore name: String) throws(StoreError) -> CompiledEntity {
    if entitiesByName[name] == nil, let code = codes.former?.entities[name], let entity = entity(code: code) {
      return entity
    }
    return try entity(name)
  }

  private func invalidName(_ text: String) -> StoreError {
    StoreError(
      .invalidObjectName, "\(text) is not the name of an object; write Entity/serial, such as Note/12", object: text)
  }

  /// The layout of records whose headers say this (`RecordView.layoutAndEntity`); nil for those of entities that are not
  /// among `codes`.
  fileprivate func layout(
    _ names: UInt32, of record: RawSpan, _ id: ObjectID, ifOf codes: Set<UInt16>
  ) throws(StoreError) -> RecordLayout? {
    let code = UInt16(truncatingIfNeeded: names >> 16)
    guard codes.contains(code) else {
      _ = try entityCode(names, of: record, id)
      guard entity(code: code) != nil else { throw unknownLayout(of: record, id) }
      return nil
    }
    guard let layout = layout(id: UInt16(truncatingIfNeeded: names)) else { throw unknownLayout(of: record, id) }
    return layout
  }

  /// The code of the entity that a record's header names, which its layout names too. Who passes over a record, or counts it, for
  /// its entity alone does not look at its checksum; so a flipped bit would make it an object of another entity.
  fileprivate func entityCode(_ names: UInt32, of record: RawSpan, _ id: ObjectID) throws(StoreError) -> UInt16 {
    guard let layout = layout(id: UInt16(truncatingIfNeeded: names)) else { throw unknownLayout(of: record, id) }
    let code = UInt16(truncatingIfNeeded: names >> 16)
    guard layout.entityCode == code else { throw corrupted(id, .wrongLayout) }
    return code
  }

  /// The id in an object table's key.
  func objectID(_ key: borrowing RawSpan) throws(StoreError) -> ObjectID {
    do throws(RecordError) {
      return try NumberKey.objectID(copy key)
    } catch {
      throw StoreError(.corrupted, "an object table has a malformed key; run `check` to see the extent")
    }
  }
}
