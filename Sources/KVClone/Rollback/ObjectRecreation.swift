package import KVCloneCore
package import KVCloneModel
import KVCloneRecords

/// Inserts objects under their ids, from another state of the same store.
package enum ObjectRecreation {
  /// Inserts an object under its id, with the values and the provenance that it has in another state, and without links.
  ///
  /// - Parameter past: a session on the other state, by the present schema.
  /// - Throws: `objectNotFound` if the other state does not have the object.
  package static func recreate(_ id: ObjectID, from past: borrowing Session, in session: inout Session)
    throws(StoreError)
  {
    let bytes: [UInt8]
    do {
      let key = ShortKey.object(id)
      guard let table = session.schema.objectTable(rootCode: id.rootCode),
        let value = try past.storage.get(table, key.bytes)
      else { throw session.schema.notFound(id) }
      bytes = value.withUnsafeBytes { Array($0) }
    }
    let view = try session.schema.view(of: bytes.span.bytes, id: id)
    let entity = try session.schema.entity(of: view, id: id)
    try Session.load(&session.scratch, view, entity, id)
    // Those of the record in the current layout, in which it is stored.
    for blob in entity.blobs(in: session.scratch.view) {
      try session.blobTables.addReference(to: blob, &session.storage, describedIn: past.storage)
    }
    for relationship in entity.relationships {
      if relationship.isToMany {
        session.scratch.setHead(relationship.field, ListHead(count: 0, isChunked: true))
        try session.edit(id) { (record) throws(RecordError) in
          try record.setInlineIDs(relationship.field, [] as [ObjectID])
        }
      } else {
        session.scratch.setToOne(relationship.field, nil)
      }
    }
    try session.store(id, entity)
    session.changes.isEmpty = false
    session.changes.noteInsert(id)
    try IndexEntries.add(id, entity, in: &session)
    DerivedChanges.noteInsert(id, entity, in: &session)
    try restoreProvenance(of: id, past, in: &session)
  }

  private static func restoreProvenance(of id: ObjectID, _ past: borrowing Session, in session: inout Session)
    throws(StoreError)
  {
    let key = ShortKey.object(id)
    guard let value = try past.storage.get(session.schema.tables.provenance, key.bytes) else { return }
    let bytes = value.withUnsafeBytes { Array($0) }
    try session.storage.put(session.schema.tables.provenance, key.bytes, bytes.span.bytes)
    session.state.hasProvenance = true
  }
}
