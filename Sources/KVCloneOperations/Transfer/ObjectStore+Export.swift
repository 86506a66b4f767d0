public import KVClone
public import KVCloneCore

extension ObjectStore {
  /// Exports the model and the objects to a folder for Core Data tools and ``load(contentsOf:options:)``.
  ///
  /// The folder contains:
  ///
  /// - the model as an Xcode bundle with the name of the model
  /// - `objects.ndjson`, the output of ``dump(_:to:)``
  /// - `blobs`, with one file for each blob
  /// - `README.txt`, with instructions for loading
  ///
  /// The export contains the latest commit at the start of the call. The folder appears at `path` only when it is
  /// complete and durable. Files are readable by their owner only (mode 0600, folders 0700). Blobs are copied in
  /// chunks, and memory use is one bit per blob.
  ///
  /// ```swift
  /// let result = try store.export(to: "notes-export")
  /// print(result.objectCount, result.modelBundle)
  /// ```
  ///
  /// Snapshots, the change history, ids and the UUID of the store are not exported; use a backup for these. See
  /// <doc:Exporting>.
  ///
  /// - Parameters:
  ///   - path: the folder to create. Its parent must exist, and nothing may exist at the path.
  ///   - progress: receives progress on the thread that runs the export.
  ///   - cancellation: cancels the export from another thread.
  /// - Returns: the names of the model, and the number of objects, files and bytes.
  /// - Throws: `fileExists`; `invalidModel`, with entity and property, if Xcode's file format cannot express the model
  ///   (see `ManagedObjectModel.contentsText()`); `diskFull`, `io`; `cancelled`; `corrupted`, `readersFull`, `closed`.
  ///   No partial output remains.
  @available(*, noasync, message: "it waits for fsync: call it on a separate thread")
  @discardableResult
  public func export(
    to path: String, progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation? = nil
  ) throws(StoreError) -> ExportResult {
    let run = ExportRun(path, progress, cancellation)
    return try run.export(ReadTransaction(try readSession()))
  }
}

extension Snapshot {
  /// Exports the snapshot to a folder, with the model version of the snapshot; see
  /// ``ObjectStore/export(to:progress:cancellation:)``.
  ///
  /// - Throws: `snapshotNotFound`, and the errors of the export of a store.
  @available(*, noasync, message: "it waits for fsync: call it on a separate thread")
  @discardableResult
  public func export(
    to path: String, progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation? = nil
  ) throws(StoreError) -> ExportResult {
    let run = ExportRun(path, progress, cancellation)
    return try run.export(ReadTransaction(try store.snapshotSession(info.name, epoch: info.epoch)))
  }
}
