#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneModel
import KVCloneRecords

extension Session {
  /// The transient attributes of an object that has a record; nil where the transaction has none at all, as a rule.
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

  /// The object that one with an old id has become, over as many migrations as there were; nil where no word was left.
  borrowing func redirected(_ id: ObjectID) throws(StoreError) -> ObjectID? {
    var current = id
    // A file may say anything: nobody goes round in circles.
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

  /// Whether an object came into being in this transaction, as a clone too.
  borrowing func isNew(_ id: ObjectID) throws(StoreError) -> Bool {
    if changes.inserted.contains(id) { return true }
    // The counter moves on with the commit.
    return try id.serial >= max(1, counter(MetadataKey.serial(rootCode: id.rootCode)))
  }
}
