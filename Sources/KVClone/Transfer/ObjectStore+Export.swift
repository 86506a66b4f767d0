import KVCloneModel

extension ObjectStore {
  /// Writes the store's model and objects into a folder that Core Data's own tools and ``load(contentsOf:options:)`` can read: the way back.
  ///
  /// The folder has the model as a bundle of Xcode's, named as the model is; `objects.ndjson`, which is what
  /// ``dump(_:to:)`` writes; `blobs`, with a file for each large value; and `README.txt`, which says how to load all that again. It is
  /// of the state that is committed when the call begins. It gets its name when it is complete and on the disk, so there is
  /// either a whole one or none; files are for their owner alone (0600, folders 0700). Large values pass through in pieces;
  /// a bit is remembered of each.
  ///
  /// ```swift
  /// let result = try store.export(to: "notes-export")
  /// print(result.objectCount, result.modelBundle)
  /// ```
  ///
  /// Snapshots, the history of changes, ids and the store's UUID are not part of it: a backup has those. See <doc:Exporting>.
  ///
  /// - Parameters:
  ///   - path: the folder to make; its parent is there, and nothing else at the path.
  ///   - progress: is told how far it has come, on the thread that exports.
  ///   - cancellation: ends it from another thread.
  /// - Throws: `fileExists`; `invalidModel`, with entity and property, where the model says something that Xcode's files cannot (see
  ///   `ManagedObjectModel.contentsText()`); `diskFull`, `io`; `cancelled`; `damaged`, `readersFull`, `closed`. Nothing is left then.
  @available(*, noasync, message: "it waits for the disk: call it on a thread of your own")
  @discardableResult
  public func export(
    to path: String, progress: (@Sendable (ExportProgress) -> Void)? = nil, cancellation: Cancellation? = nil
  ) throws(StoreError) -> ExportResult {
    let run = ExportRun(path, progress, cancellation)
    return try run.export(ReadTransaction(try readSession()))
  }
}

extension Snapshot {
  /// Writes what the snapshot shows into a folder, with the version of the model that it was made under; see
  /// ``ObjectStore/export(to:progress:cancellation:)``.
  ///
  /// - Throws: `snapshotNotFound`, and what the store's own `export` throws.
  @available(*, noasync, message: "it waits for the disk: call it on a thread of your own")
  @discardableResult
  public func export(
    to path: String, progress: (@Sendable (ExportProgress) -> Void)? = nil, cancellation: Cancellation? = nil
  ) throws(StoreError) -> ExportResult {
    let run = ExportRun(path, progress, cancellation)
    return try run.export(ReadTransaction(try store.snapshotSession(info.name, epoch: info.epoch)))
  }
}
