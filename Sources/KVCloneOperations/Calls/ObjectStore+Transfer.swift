public import KVClone
public import KVCloneCore

/// Reads and writes objects as files of other programs.
extension ObjectStore {
  /// Inserts and links the objects of an NDJSON text. Ids in the text connect its lines; the store allocates new ids.
  ///
  /// An id `"@Note/12"` in a relationship refers to an object that is already in the store. Without
  /// ``LoadOptions/batch``, the load is one write transaction, so it loads all lines or nothing.
  ///
  /// The write lock is never held while `source` is called. The text is first spooled to an unnamed temporary file in
  /// the directory of the store: all of it, or with ``LoadOptions/batch`` one batch at a time. The disk therefore needs
  /// space for the text in addition to the store. The file is removed when the load ends, with or without an error. It
  /// does not count against ``StoreOptions/maximumFileBytes``.
  ///
  /// - Parameters:
  ///   - options: the batch size, the header check and the progress closures.
  ///   - source: appends the next bytes of the text to the array, and returns false at its end. It runs outside of
  ///     transactions.
  /// - Returns: the number of inserted objects, and their ids.
  /// - Throws: ``TransferError`` with the line; ``StoreError`` for errors of the store, including `diskFull` if the
  ///   spooled text would leave less than a sixteenth of the disk, or 64 MiB, free; errors of `source`.
  @available(*, noasync)
  public func load(
    _ options: LoadOptions = LoadOptions(), from source: (inout [UInt8]) throws -> Bool
  ) throws -> LoadResult {
    try LoadRun(self, options).load(from: source)
  }

  /// Loads the objects of an NDJSON file. `{"file":"…"}` values are relative to the directory of the file.
  ///
  /// A regular file is read while the write lock is held. Anything else, such as a named pipe, is spooled first, as in
  /// ``load(_:from:)``, and with ``LoadOptions/skipsBroken`` a regular file, too.
  ///
  /// Without ``LoadOptions/batch`` and ``LoadOptions/skipsBroken``, the ids of all lines are read first, before the write
  /// lock is taken. A file that changes in between is rejected.
  ///
  /// - Returns: the number of inserted objects, and their ids.
  /// - Throws: ``TransferError`` with the line; ``StoreError`` for errors of the store.
  @available(*, noasync)
  public func load(contentsOf path: String, options: LoadOptions = LoadOptions()) throws -> LoadResult {
    try LoadRun.load(contentsOf: path, options, into: self)
  }

  /// Writes objects as NDJSON in one read transaction: a header line, then one object per line, by entity name and
  /// serial number.
  ///
  /// Stores with equal content produce equal text, apart from ids. Memory use is constant, except for one bit per
  /// object: blobs are written in chunks, so `sink` can receive part of a line.
  ///
  /// - Parameters:
  ///   - options: the objects to dump, and the treatment of blobs.
  ///   - sink: receives the next bytes of the text.
  /// - Returns: the number of written objects.
  /// - Throws: ``StoreError``; ``CloneError`` for ``DumpOptions/roots``; ``TransferError`` for the files of blobs;
  ///   errors of `sink`.
  @available(*, noasync)
  public func dump(_ options: DumpOptions = DumpOptions(), to sink: (RawSpan) throws -> Void) throws -> DumpResult {
    try DumpRun.dump(ReadTransaction(try readSession()), options, to: sink)
  }

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

  /// Imports a Core Data SQLite store into a new store: its model, objects, attributes and relationships, and external
  /// binary files.
  ///
  /// The database is only read. It is not locked, changed or executed, and its bytes are untrusted. Quit the app first,
  /// or copy the file with its `-wal`. If the database changes during the import, the import fails. The new store
  /// appears at `path` only when it is complete.
  ///
  /// **Ids.** An object keeps its key: the row of `ZNOTE` with `Z_PK` 12 becomes `Note/12`. Replace `x-coredata` by
  /// `x-kvclone` in a URI to find the object: `x-coredata://…/Note/p12` becomes `x-kvclone://…/Note/p12`.
  ///
  /// **Omissions.** The change history and the CloudKit mirror are not imported (``CoreDataImportReport/omissions``).
  /// Derived attributes are recomputed.
  ///
  /// Memory use is constant except for 1 bit per object: a page cache of 2 MiB, and a temporary file for the links.
  ///
  /// - Parameters:
  ///   - source: the path of the `.sqlite` file. Its `-wal` and its `.NAME_SUPPORT` folder are expected in the same
  ///     directory.
  ///   - path: the directory to create. Its parent must exist, and nothing may exist at the path.
  ///   - options: the model, and the treatment of broken rows.
  ///   - progress: receives progress on the thread that runs the import.
  ///   - cancellation: cancels the import from another thread.
  /// - Returns: the numbers of imported, skipped and omitted items.
  /// - Throws: ``CoreDataImportError``; ``StoreError``: `storeExists`, `invalidModel`, `diskFull`, `cancelled`, `io`.
  ///   No partial output remains.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public static func importCoreData(
    from source: String, to path: String, options: CoreDataImportOptions = CoreDataImportOptions(),
    progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation? = nil
  ) throws -> CoreDataImportReport {
    try CoreDataImportRun.run(source, path, options, progress, cancellation)
  }

  /// Imports a Core Data SQLite store from asynchronous code, on a separate thread.
  ///
  /// Cancelling the task ends the import with `cancelled` and removes partial output.
  @discardableResult
  public static func importCoreData(
    from source: String, to path: String, options: CoreDataImportOptions = CoreDataImportOptions(),
    progress: (@Sendable (OperationProgress) -> Void)? = nil,
    cancellation: Cancellation = Cancellation()
  ) async throws -> CoreDataImportReport {
    try await cancellation.onOwnThread {
      try CoreDataImportRun.run(source, path, options, progress, cancellation)
    }
  }

  /// Returns what an import would import, skip and omit, and all errors.
  ///
  /// The plan runs the import into a temporary store, which is then removed. If the plan skips nothing, the import
  /// succeeds. It needs the disk space of the import. With a `path`, the temporary store is in the same directory, so
  /// the plan also checks the path, its parent and the disk space. Without a path, it is in the directory for temporary
  /// files.
  ///
  /// Other parameters are those of the import.
  ///
  /// - Parameter path: the directory that the import would create; nil if it is unknown.
  /// - Returns: the report that the import would return.
  /// - Throws: the error that the import would throw for the first broken row or object. With
  ///   ``CoreDataImportOptions/skipsBroken``, the report lists these errors instead.
  @available(*, noasync, message: "call it on a separate thread")
  public static func planCoreDataImport(
    from source: String, to path: String? = nil, options: CoreDataImportOptions = CoreDataImportOptions(),
    progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation? = nil
  ) throws -> CoreDataImportReport {
    try CoreDataImportRun.run(source, path, options, progress, cancellation, isPlan: true)
  }
}

extension Snapshot {
  /// Writes the objects of the snapshot as NDJSON; see ``ObjectStore/dump(_:to:)``.
  ///
  /// - Throws: `snapshotNotFound`, and the errors of ``ObjectStore/dump(_:to:)``.
  @available(*, noasync)
  public func dump(_ options: DumpOptions = DumpOptions(), to sink: (RawSpan) throws -> Void) throws -> DumpResult {
    try read { transaction in try DumpRun.dump(transaction, options, to: sink) }
  }

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
    return try run.export(ReadTransaction(try session()))
  }
}
