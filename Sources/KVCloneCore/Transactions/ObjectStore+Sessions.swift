import KVCloneRecords

/// How the transactions of a store begin.
extension ObjectStore {
  /// What the read sessions of the store share. Hooks concern writes only.
  package var context: StoreContext {
    StoreContext(uuid: uuid, serialFloor: serialFloor, engine: engine, hooks: nil, limits: limits)
  }

  package func readSession() throws(StoreError) -> Session {
    let storage = StorageTransaction(try engine.beginRead())
    guard try schema.catalogWatch.isReadable(schema, storage, schema.tables.metadata) else {
      throw StoreError(
        .incompatibleModel,
        "another process has migrated the store at \(path) to another model version; close the store and open it again"
      )
    }
    return context.session(storage, schema)
  }

  /// Throws `readOnly` if the store was opened read-only.
  package func requireWritable() throws(StoreError) {
    if options.isReadOnly {
      throw StoreError(.readOnly, "the store at \(path) was opened read-only; open it without isReadOnly to write")
    }
  }

  /// Begins a write transaction, which a dry run can only abort.
  package func writeSession(label: String, timeout: Duration? = nil, isDryRun: Bool = false) throws(StoreError)
    -> Session
  {
    try requireWritable()
    let storage = StorageTransaction(
      try engine.beginWrite(label: label, timeout: timeout ?? options.busyTimeout, isDryRun: isDryRun))
    guard try schema.catalogWatch.isCurrent(schema, storage, schema.tables.metadata) else {
      throw StoreError(
        .incompatibleModel,
        "another process has changed the model, fetch indexes or derived attributes of the store at \(path), and this "
          + "process cannot maintain them; close the store and open it again")
    }
    let commit = try Metadata.counter(storage, schema.tables.metadata, MetadataKey.commitCounter)
    var session = writeContext.session(storage, schema, commit: commit + 1)
    try session.beginWrite(author: options.author)
    return session
  }

  /// What the write sessions of the store share.
  var writeContext: StoreContext {
    StoreContext(uuid: uuid, serialFloor: serialFloor, engine: engine, hooks: hooks.withLock { $0 }, limits: limits)
  }
}

extension Session {
  /// Prepares a new write session: for snapshots, limits and the history.
  mutating func beginWrite(author: String) throws(StoreError) {
    try storage.record(schema, commit: commit)
    try StoreLimits.begin(in: &self)
    try HistoryWriter.begin(author: author, in: &self)
  }
}
