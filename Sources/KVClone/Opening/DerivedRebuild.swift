import KVCloneCore
import KVCloneRecords

/// Computes the derived attributes of stores that were written by a library without them, or opened with a model in
/// which only their expressions differ.
enum DerivedRebuild {
  /// Computes all derived attributes in one write transaction and in constant memory, if the store's metadata name
  /// other expressions than its model. A store that is opened read-only keeps its values.
  static func run(_ store: ObjectStore) throws(StoreError) {
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
      try retryIfMapFull { () throws(StoreError) in
        var session = try store.writeSession(label: "derived attributes")
        try DerivedRefresh.noteAll(in: &session)
        try DerivedRefresh.refreshAll(in: &session)
        try Metadata.put(&session.storage, schema.tables.metadata, MetadataKey.derivations, wanted)
        try HistoryWriter.finish(in: &session)
        try session.writeCounters()
        try session.commitStorage()
        store.commitSignal.noteCommit()
      }
    } catch {
      // The store opens nevertheless, so that space in it can be freed or its objects salvaged.
      guard [.corrupted, .busy, .diskFull, .mapFull].contains(error.kind) else { throw error }
      store.options.logger?.warning(
        "derived attributes could not be computed; the next opening retries: \(error.kindName)")
    }
  }
}
