package import KVCloneModel
package import KVCloneRecords

extension Session {
  /// The object, copied out of the transaction.
  package borrowing func object(_ id: ObjectID) throws(StoreError) -> ManagedObject {
    try managedObject(try existingRecord(id), id: id)
  }

  package borrowing func managedObject(_ view: borrowing RecordView, id: ObjectID) throws(StoreError) -> ManagedObject {
    let entity = try schema.entity(of: view, id: id)
    let transients = changes.transients.isEmpty ? [:] : transients(of: id, entity)
    return ManagedObject(view, id: id, entity: entity, schema: schema, transients: transients)
  }
}
