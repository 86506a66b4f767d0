#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneModel
import KVCloneRecords

extension Session {
  /// Returns the transient attributes of an object with a record; nil if the transaction has none at all, which is the
  /// usual case.
  @inline(__always)
  package borrowing func transients(of id: ObjectID) throws(StoreError) -> [String: AttributeValue]? {
    changes.transients.isEmpty ? nil : transients(of: id, try entity(of: id))
  }

  borrowing func transients(of id: ObjectID, _ entity: CompiledEntity) -> [String: AttributeValue] {
    var values: [String: AttributeValue] = [:]
    for attribute in entity.attributes where attribute.field == nil {
      values[attribute.path] = changes.transients[.init(object: id, attribute: attribute.path)]
    }
    return values
  }

  package borrowing func exists(_ id: ObjectID) throws(StoreError) -> Bool {
    guard let table = schema.objectTable(rootCode: id.rootCode) else { return false }
    let key = ShortKey.object(id)
    return try storage.get(table, key.bytes) != nil
  }

  package borrowing func value(_ id: ObjectID, _ attribute: String) throws(StoreError) -> AttributeValue? {
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

  package borrowing func name(of id: ObjectID) throws(StoreError) -> String {
    "\(try entity(of: id).name)/\(id.serial)"
  }

  /// Parses `Note/12` or `x-kvclone://STORE-UUID/Note/p12`. The entity may be the concrete one or a super-entity.
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

  /// Returns the object that had the name in an earlier version of the model, latest version first.
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
      // An object that a mapping model created has an entity that did not exist before.
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

  /// Returns the object that replaced one with an old id, over any number of migrations; nil if no redirect is stored.
  borrowing func redirected(_ id: ObjectID) throws(StoreError) -> ObjectID? {
    var current = id
    // The limit prevents an endless loop over a corrupted file.
    for _ in 0..<1000 {
      let key = ShortKey.object(current)
      guard let value = try storage.get(schema.tables.redirects, key.bytes) else { break }
      do throws(RecordError) {
        let seed = ValueEnvelope.seed(tableCode: .redirects, objectID: current)
        current = try RedirectValue(stored: value, seed: seed).target
      } catch {
        throw schema.corrupted(current, error)
      }
    }
    return current == id ? nil : current
  }

  /// Returns whether an object was inserted in this transaction, including clones.
  borrowing func isNew(_ id: ObjectID) throws(StoreError) -> Bool {
    if changes.inserted.contains(id) { return true }
    // The counter is written with the commit.
    return try id.serial >= max(1, counter(MetadataKey.serial(rootCode: id.rootCode)))
  }
}
