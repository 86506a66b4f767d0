import Foundation
import KVCloneCore
import KVCloneLMDB
import KVCloneModel

/// The state of one load: reads lines, inserts objects, and links them at the end of a batch.
///
/// Links are deferred because they may point forwards. For each object, a number and a few words are kept in scratch
/// space, so memory stays flat.
final class LoadSession {
  let schema: LoadSchema
  let options: LoadOptions
  let parser: LineParser
  var reader = LineReader()
  /// The line being read, from 1.
  private var lineNumber = 0
  /// The scratch space for data that is kept of the file.
  let space: ScratchSpace
  let labels: LoadLabels
  private let blobs: LoadBlobs
  /// By pair, then side.
  let links: [[LoadLinks]]
  var result = LoadResult()
  /// Numbers of the store's objects, by their names in lines.
  private var storedNumbers: [StoredName: UInt32] = [:]
  private static let storedNumberLimit = 1 << 16
  /// By index of the entity: the numbers of the ids that were read ahead, if it is a root entity.
  var linesAhead: [ScratchArray<UInt32>] = []
  /// The same with their first serials, by the code of the root entity: known in the transaction.
  var ownLines: [UInt16: OwnLines] = [:]
  /// Labels with numbers below this one occurred in earlier batches.
  private(set) var batchStart: UInt32 = 0
  /// The first line of the batch.
  private(set) var batchFirstLine = 1
  /// The state of the reader at the start of the batch, to load it again.
  private var batchReader = LineReader()
  private var committedCounts: [String: Int] = [:]
  /// The number of objects that earlier batches have committed.
  var committedCount = 0
  private var isInBatch = false
  /// The skipped lines and links, with ``LoadOptions/skipsBroken``.
  var skipped: SkippedLines
  /// Whether a line of this or an earlier batch may have referred to an id without a line.
  var mayHaveDanglingLinks = false
  /// By entity; nil until the batch has an object of it.
  private var compiled: [CompiledEntity?] = []
  /// The object of the line being read, for errors that contain neither.
  private(set) var currentObject: String?

  private struct StoredName: Hashable {
    let entity: UInt16
    let serial: UInt64
  }

  /// - Parameter directory: the directory for scratch space, which many lines need.
  init(model: ManagedObjectModel, modelHash: String, options: LoadOptions, directory: String) {
    let schema = LoadSchema(model)
    let space = ScratchSpace(directory: directory)
    self.schema = schema
    self.space = space
    self.options = options
    parser = LineParser(schema: schema, modelHash: modelHash, isStrict: options.isStrict)
    labels = LoadLabels(in: space, keepsDefined: options.skipsBroken)
    blobs = LoadBlobs(in: space, keepsDefined: options.skipsBroken)
    skipped = SkippedLines(limit: options.skippedLimit)
    // Each has arrays of its own.
    links = schema.pairs.map { $0.sides.map { _ in LoadLinks(in: space) } }
  }

  /// Inserts and links the lines of one spooled batch; returns false after the last batch.
  func loadSpooled(_ transaction: inout WriteTransaction, from spool: LoadSpool) throws -> Bool {
    reader.resume()
    return try ParsedLines.read(&reader, from: { buffer in try spool.read(into: &buffer) }, parser) { lines in
      try loadBatch(&transaction, from: lines)
    }
  }

  /// Inserts and links the lines of one batch; returns false after the last batch.
  func loadBatch(_ transaction: inout WriteTransaction, from source: ParsedLines) throws -> Bool {
    if isInBatch {
      throw TransferError(
        .rejected, "the transaction was restarted, but the lines that it read are no longer available; load again")
    }
    isInBatch = true
    // Ids that were read ahead belong to the only batch.
    batchStart = readsAhead ? 0 : UInt32(labels.count)
    batchFirstLine = lineNumber + 1
    compiled = Array(repeating: nil, count: schema.entities.count)
    transaction.session.state.rejection = { session, issues in self.rejection(of: issues, in: session) }
    try placeLabels(transaction)
    let limit = options.batch ?? Int.max
    var lines = 0
    var hasMore = true
    while lines < limit {
      guard let (number, line) = try source.next() else {
        hasMore = false
        break
      }
      lineNumber = number
      currentObject = nil
      switch line {
      case .blank, .header: break
      case .object(let object) where options.skipsBroken: try loadUnlessBroken(object, &transaction)
      case .object(let object): try load(object, try labelNumber(of: object), &transaction)
      case .failure(let error) where options.skipsBroken: skipped.noteLine(error)
      case .failure(let error), .refusal(let error): throw error
      }
      lines += 1
      if lineNumber & 1023 == 0 { options.progress?(lineNumber, source.byteCount) }
    }
    currentObject = nil
    if options.skipsBroken {
      try dropDanglingLinks(hasMore: hasMore, transaction)
    } else {
      try refuseDanglingLabels(hasMore: hasMore)
    }
    try link(in: &transaction)
    if options.skipsBroken { try skipBrokenObjects(&transaction) }
    return hasMore
  }

  /// Completes a batch after its commit.
  func endBatch() {
    isInBatch = false
    committedCount = result.objectCount
    if options.skipsBroken {
      committedCounts = result.counts
      batchReader = reader
      skipped.endBatch(&result)
      labels.endBatch()
      blobs.endBatch()
      // Other writers may delete the objects before the next batch.
      storedNumbers = [:]
    }
    for pair in links.indices {
      for side in links[pair].indices { links[pair][side].endBatch() }
    }
  }

  /// Discards the state of the batch's transaction, which was rolled back, except for the lines to skip.
  func restartBatch() {
    isInBatch = false
    reader = batchReader
    lineNumber = reader.lineNumber
    if options.idLimit > 0 { labels.forEachDefined { result.ids.removeValue(forKey: label($0)) } }
    result.objectCount = committedCount
    result.counts = committedCounts
    labels.restartBatch()
    blobs.restartBatch()
    storedNumbers = [:]
    for pair in links.indices {
      for side in links[pair].indices { links[pair][side].restartBatch() }
    }
    skipped.restartBatch()
    mayHaveDanglingLinks = true
  }

  /// Returns whether an earlier batch has created the object, and it was deleted since.
  func wasDeleted(_ number: UInt32, _ transaction: borrowing WriteTransaction) throws(StoreError) -> Bool {
    guard batchFirstLine > 1, labels.isDefined(number), !labels.isStored(number), !isOfBatch(number) else {
      return false
    }
    return try !transaction.session.exists(labels.ids[Int(number)])
  }

  /// Returns whether a line of this batch has created the object.
  func isOfBatch(_ number: UInt32) -> Bool {
    !labels.isStored(number) && labels.isDefined(number)
      && labels.lines[Int(number)] >= UInt32(clamping: batchFirstLine)
  }

  private func refuseDanglingLabels(hasMore: Bool) throws {
    for number in Int(batchStart)..<labels.count where !labels.isDefined(UInt32(number)) {
      if labels.isKnown(UInt32(number)) { throw TransferFiles.changed }
      throw TransferError(
        .danglingID, "it refers to \(label(UInt32(number))), but \(missingLine(hasMore: hasMore))",
        line: Int(labels.lines[number]), object: label(UInt32(number)))
    }
  }

  func missingLine(hasMore: Bool) -> String {
    hasMore
      ? "no line up to the end of its batch has this id; raise --batch, or move that line forward"
      : "no line has this id"
  }

  /// Returns the id in the notation of the file.
  func label(_ number: UInt32) -> String {
    let entity = labels.entities[Int(number)]
    return entity == LoadLabels.stored
      ? "@\(labels.ids[Int(number)])" : "\(schema.entities[Int(entity)].name)/\(labels.serials[Int(number)])"
  }

  /// Converts an error of the store or the model to one of the load, with the line and the file's own id.
  func transferError(_ error: any Error) -> any Error {
    if let error = error as? TransferError {
      return error.completed(line: nil, object: nil, committedCount: committedCount)
    }
    // An error without a line is not caused by the data, but by a lock or a disk. It keeps its type.
    guard let error = error as? any KVCloneError, let currentObject else { return error }
    return TransferError(
      .rejected, error.message, line: lineNumber, entity: error.entity, property: error.property,
      object: currentObject, kindName: error.kindName
    ).completed(line: nil, object: nil, committedCount: committedCount)
  }
}

// MARK: - Objects

extension LoadSession {
  private func failure(
    _ kind: TransferError.Kind, _ reason: String, entity: String? = nil, property: String? = nil
  ) -> TransferError {
    TransferError(
      kind, reason, line: lineNumber, entity: entity, property: property, object: currentObject)
  }

  private func labelNumber(of object: ParsedObject) throws(StoreError) -> UInt32 {
    currentObject = object.label
    return try labels.number(
      entity: schema.entities[object.entity].index, serial: object.serial, line: lineNumber)
  }

  /// Loads the object of a line; with ``LoadOptions/skipsBroken``, skips it if the line itself is broken.
  private func loadUnlessBroken(_ object: ParsedObject, _ transaction: inout WriteTransaction) throws {
    let number = try labelNumber(of: object)
    let line = UInt32(clamping: lineNumber)
    if labels.isDefined(number) || skipped.contains(number) && labels.lines[Int(number)] != line {
      return skipped.noteLine(repeatedID(number, of: object))
    }
    if skipped.contains(number) { return skipped.noteLine(number) }
    let before = transaction.session.storage.changeCount
    let needsSavepoint = skipped.needsSavepoints && object.hasBytes
    do {
      if needsSavepoint {
        try transaction.savepoint { transaction in try load(object, number, &transaction) }
      } else {
        try load(object, number, &transaction)
      }
    } catch {
      guard let error = lineError(error), !labels.isDefined(number) else { throw error }
      labels.lines[Int(number)] = line
      skipped.insert(number, error, isLoaded: false)
      if needsSavepoint || transaction.session.storage.changeCount == before { return skipped.noteLine(number) }
      // A part of the object exists.
      skipped.needsSavepoints = true
      throw LoadRestart()
    }
  }

  /// Returns an error that the line causes; nil for one of the store, of the disk or of a limit.
  private func lineError(_ error: any Error) -> TransferError? {
    if let error = error as? TransferError {
      if error.line != nil { return error }
      return failure(
        error.kind, error.reason, entity: error.entity ?? currentObject.map { String($0.prefix { $0 != "/" }) },
        property: error.property)
    }
    guard let error = error as? StoreError else { return nil }
    switch error.kind {
    case .objectNotFound, .invalidObjectName, .unknownEntity, .abstractEntity, .unknownProperty, .wrongType,
      .outOfRange, .wrongDestination:
      break
    // A record that is too large; errors for limits of the store have no object.
    case .limitExceeded where error.object != nil: break
    default: return nil
    }
    return TransferError(
      .rejected, error.message, line: lineNumber, entity: error.entity, property: error.property,
      object: currentObject, kindName: error.kindName)
  }

  private func repeatedID(_ number: UInt32, of object: ParsedObject) -> TransferError {
    failure(
      .duplicateID, "line \(labels.lines[Int(number)]) already has this id",
      entity: schema.entities[object.entity].name)
  }

  private func load(_ object: ParsedObject, _ number: UInt32, _ transaction: inout WriteTransaction) throws {
    let entity = schema.entities[object.entity]
    if labels.isDefined(number) { throw repeatedID(number, of: object) }
    if let failure = object.attributeFailure { throw failure }
    var statements: [LoadStatement] = []
    var missing: [TransferError] = []
    var missingCount = 0
    for statement in object.statements {
      var targets: [UInt32] = []
      targets.reserveCapacity(statement.targets.count)
      for target in statement.targets {
        do {
          targets.append(try self.number(of: target, object, statement.relationship, transaction))
        } catch let error as StoreError where error.kind == .objectNotFound && options.skipsBroken {
          missingCount += 1
          // A line may have millions of them.
          guard missing.count < options.skippedLimit else { continue }
          missing.append(missingObject(error, entity, statement.relationship))
        }
      }
      statements.append(
        LoadStatement(
          relationship: statement.relationship, targets: targets,
          writing: try writing(of: statement.relationship, targets, transaction)))
    }
    if let failure = object.relationshipFailure { throw failure }
    let inserted = try insert(entity, object, statements, &transaction)
    // An id that was read ahead is final, unless another process has written the file since.
    if labels.isKnown(number), labels.ids[Int(number)] != inserted { throw TransferFiles.changed }
    try labels.define(number, as: inserted, line: lineNumber)
    for statement in statements {
      let relationship = statement.relationship
      try links[relationship.pair][relationship.side].append(
        owner: number, targets: statement.writing == .atOnce ? [] : statement.targets, line: lineNumber,
        isWritten: statement.writing != .atEnd)
    }
    result.objectCount += 1
    result.counts[entity.name, default: 0] += 1
    if result.ids.count < options.idLimit { result.ids[object.label] = "\(entity.name)/\(inserted.serial)" }
    for error in missing { skipped.noteLink(error) }
    skipped.noteLinks(missingCount - missing.count)
  }

  private func missingObject(_ error: StoreError, _ entity: LoadEntity, _ relationship: LoadRelationship)
    -> TransferError
  {
    TransferError(
      .rejected, "\(relationship.description.name): \(error.message)", line: lineNumber, entity: entity.name,
      property: relationship.description.name, object: currentObject, kindName: error.kindName)
  }

  private func insert(
    _ entity: LoadEntity, _ object: ParsedObject, _ statements: [LoadStatement], _ transaction: inout WriteTransaction
  ) throws -> ObjectID {
    let files = options.skipsBroken ? try openFiles(of: object) : []
    let id = try transaction.changeObjects(settles: false) { (session) throws(StoreError) in
      let compiled = try compiledEntity(entity, session.schema)
      let assignments = try compiled.assignments(object.values)
      var links: [(relationship: CompiledRelationship, targets: [ObjectID])] = []
      var ownSides = links
      for statement in statements where statement.writing != .atEnd {
        let relationship = try compiled.relationship(statement.relationship.description.name)
        let targets = statement.targets.map { labels.ids[Int($0)] }
        if statement.writing == .ownSide {
          ownSides.append((relationship, targets))
        } else {
          links.append((relationship, try RelationshipLinks.firstTargets(compiled, relationship, targets, in: session)))
        }
      }
      return try session.insert(compiled, assignments, links, ownSides: ownSides)
    }
    for (index, file) in object.files.enumerated() {
      do {
        try load(file, files.isEmpty ? nil : files[index], as: id, &transaction)
      } catch let error as TransferError {
        throw failure(error.kind, error.reason, entity: entity.name, property: error.property)
      }
    }
    return id
  }

  private func compiledEntity(_ entity: LoadEntity, _ schema: Schema) throws(StoreError) -> CompiledEntity {
    if let known = compiled[Int(entity.index)] { return known }
    let found = try schema.entity(entity.name)
    compiled[Int(entity.index)] = found
    return found
  }

  /// Opens the files of a line that are not blobs yet. With ``LoadOptions/skipsBroken``, they are opened before the
  /// object is inserted, so that a missing file leaves no change to undo.
  private func openFiles(of object: ParsedObject) throws -> [TransferFiles.OpenFile?] {
    try object.files.map { file in
      if let place = try blobs.place(of: file.file, line: lineNumber), blobs.serial(at: place) != nil { return nil }
      return try file.open(below: options.baseDirectory)
    }
  }

  /// Returns the number of a target. Looks up objects of the store.
  private func number(
    of target: ParsedObject.Target, _ object: ParsedObject, _ relationship: LoadRelationship,
    _ transaction: borrowing WriteTransaction
  ) throws -> UInt32 {
    switch target.kind {
    case .label: return try labels.number(entity: target.entity, serial: target.serial, line: lineNumber)
    case .stored:
      let name = StoredName(entity: target.entity, serial: target.serial)
      if let known = storedNumbers[name], relationship.accepts[Int(target.entity)] { return known }
      let id = try transaction.objectID(named: "\(schema.entities[Int(target.entity)].name)/\(target.serial)")
      guard relationship.accepts[Int(target.entity)] else { throw wrongDestination(relationship) }
      let number = try number(of: id)
      if storedNumbers.count < Self.storedNumberLimit { storedNumbers[name] = number }
      return number
    case .text:
      let id = try transaction.objectID(named: object.texts[Int(target.serial)])
      guard let entity = LoadName(try transaction.name(of: id)[...])?.entity,
        let index = schema.entityIndex(entity), relationship.accepts[index]
      else { throw wrongDestination(relationship) }
      return try number(of: id)
    }
  }

  /// Returns the number of an object that exists: its line's number if an earlier line has inserted it.
  private func number(of id: ObjectID) throws(StoreError) -> UInt32 {
    if let number = ownLines[id.rootCode]?.number(of: id) { return number }
    return try labels.number(stored: id, line: lineNumber)
  }

  private func wrongDestination(_ relationship: LoadRelationship) -> TransferError {
    let property = relationship.description.name
    return failure(
      .wrongDestination,
      "\(property): the id does not belong to the entity \(relationship.description.destinationEntityName)",
      property: property)
  }

  /// Sets an attribute to the bytes of a file, or to the blob that was already created from the file.
  ///
  /// - Parameter open: the file, if it is open.
  private func load(
    _ file: AttributeJSON.FileValue, _ open: TransferFiles.OpenFile?, as id: ObjectID,
    _ transaction: inout WriteTransaction
  ) throws {
    let place = try blobs.place(of: file.file, line: lineNumber)
    if let place, let serial = blobs.serial(at: place) {
      // The object with the blob may have been deleted since.
      let isShared = try transaction.changeObjects { (session) throws(StoreError) in
        try BlobAssignment.setBlob(id, file.path, serial: serial, byteCount: file.size, in: &session)
      }
      if isShared { return }
    }
    try file.set(id, to: try open ?? file.open(below: options.baseDirectory), in: &transaction)
    if let place, case .blob(let blob)? = try transaction.value(id, file.path) {
      try blobs.note(blob.id, at: place, line: lineNumber)
    }
  }
}
