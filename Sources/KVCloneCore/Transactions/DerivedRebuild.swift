import KVCloneModel
import KVCloneRecords

/// Stores whose derived attributes were never computed, or by other expressions: written by an older library, or opened with
/// a model that differs in nothing else.
package enum DerivedRebuild {
  /// Computes all derived attributes of the store, where a look into its metadata says that they are not what its model says:
  /// in one write transaction, in memory that stays flat.
  ///
  /// A store that is opened read-only keeps the values that it has.
  package static func run(_ store: ObjectStore) throws(StoreError) {
    let schema = store.schema
    guard let fingerprint = schema.derivations.fingerprint else { return }
    let wanted = Metadata.derivations(fingerprint)
    let isTrue = try DerivedRefresh.hasValues(in: store.readSession())
    if isTrue { return }
    if store.options.isReadOnly {
      store.options.logger?.warning(
        "derived attributes were not computed for this model version; open the store for writing once")
      return
    }
    do throws(StoreError) {
      try onceMoreIfMapFull { () throws(StoreError) in
        var session = try store.writeSession(label: "derived attributes")
        try DerivedRefresh.noteAll(in: &session)
        try DerivedRefresh.refreshAll(in: &session)
        try Metadata.put(&session.storage, schema.tables.metadata, MetadataKey.derivations, wanted)
        try HistoryWriter.finish(in: &session)
        try session.writeCounters()
        try session.storage.commit()
        store.commitSignal.noteCommit()
      }
    } catch {
      // Nothing that keeps a store from being opened, if only to make room in it, or to save what is left of it.
      guard [.corrupted, .busy, .diskFull, .mapFull].contains(error.kind) else { throw error }
      store.options.logger?.warning(
        "derived attributes could not be computed; the next opening retries: \(error.kindName)")
    }
  }
}

extension DerivedRefresh {
  /// Whether the store's derived attributes are those of its model, maintained by every write.
  package static func hasValues(in session: borrowing Session) -> Bool {
    guard let fingerprint = session.schema.derivations.fingerprint else { return true }
    let stored = try? Metadata.get(
      session.storage, session.schema.tables.metadata, MetadataKey.derivations, as: BytesValue.self)
    return stored == Metadata.derivations(fingerprint)
  }

  /// Notes every object that has derived attributes.
  ///
  /// - Parameter includesTimes: whether `now()` is one of them.
  package static func noteAll(includesTimes: Bool = true, in session: inout Session) throws(StoreError) {
    for entity in session.schema.entities where !entity.isAbstract {
      let all = session.schema.derivations.entity(entity.code)?.own ?? []
      let own = all.filter { includesTimes || $0.derivation.function != .now }
      if own.isEmpty { continue }
      var found = PendingDerivations()
      swap(&found, &session.changes.derived)
      try session.forEachRecord(of: entity, includesSubentities: false) { (id, _) throws(StoreError) in
        for (derivation, _) in own { found.insert(derivation, hop: 0, id) }
        return true
      }
      swap(&found, &session.changes.derived)
    }
  }
}
