import Foundation
import KVClone
import KVCloneCore
import KVCloneCoreData
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

extension CoreDataImportRun {
  /// Imports a database into a new store.
  ///
  /// - Parameters:
  ///   - target: the directory to create; nil for a plan without one.
  ///   - isPlan: whether the new store is removed again.
  static func run(
    _ source: String, _ target: String?, _ options: CoreDataImportOptions,
    _ progress: (@Sendable (OperationProgress) -> Void)?, _ cancellation: Cancellation?, isPlan: Bool = false
  ) throws -> CoreDataImportReport {
    let path = target ?? FileManager.default.temporaryDirectory.path + "/kvclone-import-\(UUID().uuidString)"
    // Checked before the long read, and again when the copy begins.
    try storeErrors { () throws(LMDBError) in try OutputPath.requireNew(path) }
    // Cancellation of the caller's task.
    let isCancelled: @Sendable () -> Bool = { cancellation?.isCancelled == true || Task.isCancelled }
    progress?(OperationProgress(phase: .opening, completed: 0, total: nil))
    let opened = try CoreDataImportSource(source, options, isCancelled)
    let copy = try storeErrors { () throws(LMDBError) in try StoreCopy(to: path, copyOnWrite: .offUnlessMirrored) }
    let run = CoreDataImportRun(opened, options, scratch: copy.directory, progress, isCancelled)
    do {
      try run.fill(copy, path)
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

  private func fill(_ copy: borrowing StoreCopy, _ path: String) throws {
    let catalog = try StoreCatalog(new: layout.model)
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
    let store = try StoreOpening.assemble(engine, path: path, model: nil, options: StoreOptions())
    defer { store.close() }
    do {
      try store.write(label: "import") { transaction in
        transaction.operation = "import"
        try write(&transaction)
        try tell(.commit)
        if options.skipsBroken {
          try transaction.change { (session: inout Session) throws -> Void in
            try BrokenObjectKeeper.own(&session) { (keeper) throws -> Void in try keeper.keep(noteKept) }
          }
        }
      }
    } catch let error as ValidationError {
      guard let first = error.issues.first else { throw error }
      throw Self.refusal(first)
    }
  }

  /// Counts the values of an object that are in files or become blobs.
  func count(_ row: CoreDataRow, _ scan: SQLiteScan) throws {
    for case let value? in row.values.lazy.map(\.value) {
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
    let cursors = surveyLinks(transaction.session.schema)
    // The closure borrows what it changes.
    try withUnsafeMutablePointer(to: &transaction) { transaction in
      try forEachObject(cursors == nil ? .all : .attributes) { row, scan, hierarchy in
        try insert(row, scan, cursors ?? [], &transaction.pointee)
        try count(row, scan)
      }
      if cursors == nil { try gatherLinks() }
      try forEachList(where: { cursors == nil || !$0.isCompletelyKnown }) { table, owner, members in
        let schema = transaction.pointee.session.schema
        let ownerCode = try schema.entity(table.links.ownerRoot).rootCode
        let memberCode = try schema.entity(table.links.memberRoot).rootCode
        try transaction.pointee.setMembers(
          ObjectID(rootCode: ownerCode, serial: owner), table.links.relationship.name,
          members.map { ObjectID(rootCode: memberCode, serial: $0) })
      }
      for hierarchy in layout.hierarchies where hierarchy.maximumKey > 0 {
        let key = UInt64(min(hierarchy.maximumKey, CoreDataRows.maximumKey))
        try raiseSerials(of: hierarchy.root, above: key, &transaction.pointee)
      }
    }
  }

  private func insert(
    _ row: CoreDataRow, _ scan: SQLiteScan, _ cursors: [CoreDataLinkCursor], _ transaction: inout WriteTransaction
  ) throws {
    var property: String?
    do {
      let id = try restore(row, cursors, &transaction)
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

  /// Converts an error that the row causes to one with its name; a full disk and similar errors stay unchanged.
  ///
  /// - Parameter property: the property that was read.
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

  /// Inserts an object under its previous id; ids of one root entity come in ascending order. Calls no hooks.
  private func restore(
    _ row: CoreDataRow, _ cursors: [CoreDataLinkCursor], _ transaction: inout WriteTransaction
  ) throws(StoreError) -> ObjectID {
    try transaction.changeObjects(settles: false) { (session) throws(StoreError) in
      let entity = try session.schema.entity(row.entity.name)
      session.changes.nextSerials[entity.rootCode] = UInt64(row.key)
      var links: [(relationship: CompiledRelationship, targets: [ObjectID])] = []
      for cursor in cursors {
        if let found = try cursor.links(of: UInt64(row.key), entity) { links.append(found) }
      }
      return try session.insert(entity, try entity.assignments(row.values), [], ownSides: links)
    }
  }

  /// Raises the serials of new objects above the highest that was allocated before.
  private func raiseSerials(
    of entity: String, above serial: UInt64, _ transaction: inout WriteTransaction
  ) throws(StoreError) {
    try transaction.changeObjects { (session) throws(StoreError) in
      let code = try session.schema.entity(entity).rootCode
      session.changes.nextSerials[code] = max(session.changes.nextSerials[code] ?? 1, serial + 1)
    }
  }
}
