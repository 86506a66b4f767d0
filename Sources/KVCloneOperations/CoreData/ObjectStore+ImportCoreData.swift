import Foundation
import KVClone
public import KVCloneCore
import KVCloneCoreData
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

extension ObjectStore {
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
    try runImport(source, path, options, progress, cancellation)
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
    try await cancellation.onOwnThread { try runImport(source, path, options, progress, cancellation) }
  }

  /// Returns what an import would import, skip and omit, and all errors.
  ///
  /// The plan runs the import into a temporary store, which is then removed. If the plan skips nothing, the import
  /// succeeds. It needs the disk space of the import. With a `path`, the temporary store is in the same directory, so
  /// the plan also checks the path, its parent and the disk space. Without a path, it is in the directory for temporary
  /// files.
  ///
  /// - Parameters:
  ///   - source: the path of the SQLite database.
  ///   - path: the directory that the import would create; nil if it is unknown.
  ///   - options: the options of the import.
  ///   - progress: receives the phase and the number of completed rows.
  ///   - cancellation: cancels the plan from another thread.
  /// - Returns: the report that the import would return.
  /// - Throws: the error that the import would throw for the first broken row or object. With
  ///   ``CoreDataImportOptions/skipsBroken``, the report lists these errors instead.
  @available(*, noasync, message: "call it on a separate thread")
  public static func planCoreDataImport(
    from source: String, to path: String? = nil, options: CoreDataImportOptions = CoreDataImportOptions(),
    progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation? = nil
  ) throws -> CoreDataImportReport {
    let place = path ?? FileManager.default.temporaryDirectory.path + "/kvclone-import-\(UUID().uuidString)"
    return try runImport(source, place, options, progress, cancellation, isPlan: true)
  }

  /// Whether the caller, or the task that the caller runs in, does not want it any more.
  private static func isCancelled(_ cancellation: Cancellation?) -> @Sendable () -> Bool {
    { cancellation?.isCancelled == true || Task.isCancelled }
  }

  private static func runImport(
    _ source: String, _ path: String, _ options: CoreDataImportOptions,
    _ progress: (@Sendable (OperationProgress) -> Void)?, _ cancellation: Cancellation?, isPlan: Bool = false
  ) throws -> CoreDataImportReport {
    // Before the long reading, and again when the copy begins.
    try storeErrors { () throws(LMDBError) in try OutputPath.requireNew(path) }
    let isCancelled = Self.isCancelled(cancellation)
    progress?(OperationProgress(phase: .opening, completed: 0, total: nil))
    let opened = try CoreDataImportSource(source, options, isCancelled)
    let copy = try storeErrors { () throws(LMDBError) in try StoreCopy(to: path, copyOnWrite: .offUnlessMirrored) }
    let run = CoreDataImportRun(opened, options, scratch: copy.directory, progress, isCancelled)
    do {
      try fill(copy, path, run)
      try opened.requireUnchanged()
    } catch {
      throw opened.translated(error)
    }
    copy.removeReaderLock()
    try run.tell(.sync)
    try storeErrors { () throws(LMDBError) in try copy.sync(isForgotten: false) }
    try run.check()
    run.report.byteCount = copy.byteCount
    if !isPlan {
      do throws(LMDBError) { try copy.publish() } catch { throw StoreError(error) }
    }
    run.report.duration = ContinuousClock.now - run.start
    return run.report
  }

  private static func fill(_ copy: borrowing StoreCopy, _ path: String, _ run: CoreDataImportRun) throws {
    let catalog = try StoreCatalog(new: run.layout.model)
    let environment = try storeErrors { () throws(LMDBError) in
      try copy.openEnvironment(tables: catalog.tableCodes.compactMap(\.name))
    }
    defer { environment.close() }
    let engine = LMDBEngine(environment)
    let metadata = try engine.openTables([.metadata], create: false)[0]
    var storage = StorageTransaction(try engine.beginWrite(label: "import", timeout: .seconds(5)))
    for (key, value) in try catalog.entries(uuid: UUID(), created: Date()) {
      try storage.put(metadata, key.span.bytes, value.span.bytes)
    }
    try storage.commit()
    let store = try assemble(engine, path: path, model: nil, options: StoreOptions())
    defer { store.close() }
    run.beginPass()
    do {
      try store.write(label: "import") { transaction in
        transaction.operation = "import"
        try run.write(&transaction)
        try run.tell(.commit)
        if run.options.skipsBroken {
          try transaction.change { (session: inout Session) throws -> Void in
            try BrokenObjectKeeper.own(&session) { (keeper) throws -> Void in try keeper.keep(run.noteKept) }
          }
        }
      }
    } catch let error as ValidationError {
      guard let first = error.issues.first else { throw error }
      throw CoreDataImportRun.refusal(first)
    }
  }
}

extension CoreDataImportRun {
  /// Notes what an object has that is kept in files or as a blob.
  func count(_ row: CoreDataRow, _ scan: SQLiteScan) throws {
    for case let value? in row.values.values {
      switch value {
      case .binary(let data), .transformable(let data): report.binaryByteCount += UInt64(data.count)
      default: break
      }
    }
    for (_, stream) in row.streams {
      switch stream {
      case .column(let column, let skipped):
        if let front = try scan.front(column, 0) { report.binaryByteCount += UInt64(front.byteCount - skipped) }
      case .file(_, let byteCount):
        report.binaryByteCount += byteCount
        report.externalByteCount += byteCount
        report.externalFileCount += 1
      }
    }
  }

  /// Writes all objects and links.
  func write(_ transaction: inout WriteTransaction) throws {
    // The closure borrows what it changes.
    try withUnsafeMutablePointer(to: &transaction) { transaction in
      try forEachObject { row, scan, _ in
        try insert(row, scan, &transaction.pointee)
        try count(row, scan)
      }
      try gatherLinks()
      try forEachList { table, owner, members in
        let schema = transaction.pointee.session.schema
        let ownerCode = try schema.entity(table.links.ownerRoot).rootCode
        let memberCode = try schema.entity(table.links.memberRoot).rootCode
        try transaction.pointee.setMembers(
          ObjectID(rootCode: ownerCode, serial: owner), table.links.relationship.name,
          members.map { ObjectID(rootCode: memberCode, serial: $0) })
      }
      for hierarchy in layout.hierarchies where hierarchy.maximumKey > 0 {
        let key = UInt64(min(hierarchy.maximumKey, CoreDataRows.maximumKey))
        try transaction.pointee.raiseSerials(of: hierarchy.root, above: key)
      }
    }
  }

  private func insert(_ row: CoreDataRow, _ scan: SQLiteScan, _ transaction: inout WriteTransaction) throws {
    var property: String?
    do {
      let id = try transaction.restore(row.entity.name, serial: UInt64(row.key), row.values)
      for (attribute, stream) in row.streams {
        property = attribute
        try transaction.setData(id, attribute) { writer in
          switch stream {
          case .column(let column, let skipped):
            var rest = skipped
            try scan.readChunks(column) { piece in
              let part = piece.dropFirst(rest)
              rest -= piece.count - part.count
              try writer.append(part.span.bytes)
            }
          case .file(let name, let byteCount):
            try external.read(name, byteCount) {
              try writer.append($0)
              try check()
            }
          }
        }
      }
    } catch {
      throw Self.named(error, row, property)
    }
  }

  /// An error that is the row's fault, with its name; a full disk and the like stay what they are.
  ///
  /// - Parameter property: whose value was read.
  private static func named(_ error: any Error, _ row: CoreDataRow, _ property: String?) -> any Error {
    if let error = error as? TransferError {
      return CoreDataImportError(
        .invalidFile, "\(row.name) \(property ?? ""): \(error.reason)", entity: row.entity.name, property: property,
        object: row.name)
    }
    if let error = error as? SQLiteError { return CoreDataImportError.named(error, row, property ?? "") }
    guard let error = error as? StoreError, [.limitExceeded, .wrongType, .outOfRange].contains(error.kind) else {
      return error
    }
    return CoreDataImportError(
      .rejected, error.message, entity: row.entity.name, property: error.property,
      object: row.name,
      kindName: error.kindName)
  }
}

extension WriteTransaction {
  /// Makes an object that had its id before; ids of one root entity come in ascending order. No hook is called.
  mutating func restore(
    _ entity: String, serial: UInt64, _ attributes: [String: AttributeValue?]
  ) throws(StoreError) -> ObjectID {
    try changeObjects(settles: false) { (session) throws(StoreError) in
      let compiled = try session.schema.entity(entity)
      session.changes.nextSerials[compiled.rootCode] = serial
      return try session.insert(compiled, attributes, [:])
    }
  }

  /// Has new objects get serials above one that was given out before.
  mutating func raiseSerials(of entity: String, above serial: UInt64) throws(StoreError) {
    try changeObjects { (session) throws(StoreError) in
      let code = try session.schema.entity(entity).rootCode
      session.changes.nextSerials[code] = max(session.changes.nextSerials[code] ?? 1, serial + 1)
    }
  }
}
