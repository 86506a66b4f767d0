import Foundation
package import KVCloneCore
import KVCloneLMDB
package import KVCloneModel

/// One load: reads lines, inserts objects, and links them when a batch is complete.
///
/// Links wait until then because they may point forwards. What is kept per object is a number and a few words, in scratch
/// space, so that memory stays flat.
final class LoadSession {
  let schema: LoadSchema
  let options: LoadOptions
  let modelHash: String
  private var reader = LineReader()
  /// The line being read, from 1.
  private var lineNumber = 0
  /// What is kept of the file is there.
  let space: ScratchSpace
  var labels: LoadLabels
  private var blobs: LoadBlobs
  /// By pair, then side.
  var links: [[LoadLinks]]
  var result = LoadResult()
  /// Numbers below this one belong to earlier batches.
  var batchStart: UInt32 = 0
  /// Objects that earlier batches have committed.
  var committedCount = 0
  private var isInBatch = false
  /// The line being read and its object, for errors that know neither.
  private(set) var currentObject: String?

  /// - Parameter directory: where scratch space is made when there are many lines.
  init(model: ManagedObjectModel, modelHash: String, options: LoadOptions, directory: String) {
    let schema = LoadSchema(model)
    let space = ScratchSpace(directory: directory)
    self.schema = schema
    self.space = space
    self.modelHash = modelHash
    self.options = options
    labels = LoadLabels(in: space)
    blobs = LoadBlobs(in: space)
    // Each with arrays of its own.
    links = schema.pairs.map { $0.sides.map { _ in LoadLinks(in: space) } }
  }

  /// Reads and links the lines of one batch that was spooled; false when that was the last one.
  func loadSpooled(_ transaction: inout WriteTransaction, from spool: LoadSpool) throws -> Bool {
    reader.resume()
    return try loadBatch(&transaction) { buffer in try spool.read(into: &buffer) }
  }

  /// Reads and links the lines of one batch; false when that was the last one.
  func loadBatch(_ transaction: inout WriteTransaction, from source: LineReader.Source) throws -> Bool {
    if isInBatch {
      throw TransferError(
        .rejected, "the transaction was restarted, but the lines that it read are no longer available; load again")
    }
    isInBatch = true
    batchStart = UInt32(labels.count)
    let limit = options.batch ?? Int.max
    var lines = 0
    var hasMore = true
    while lines < limit {
      // The reader is being changed while the line is read: the line's number is kept outside it.
      let wasLine = try reader.next(from: source) { line, number in
        lineNumber = number
        try load(line, &transaction)
      }
      if !wasLine {
        hasMore = false
        break
      }
      lines += 1
      if lineNumber & 1023 == 0 { options.progress?(lineNumber, reader.byteCount) }
    }
    currentObject = nil
    try refuseDanglingLabels(hasMore: hasMore)
    for pair in schema.pairs.indices { try link(pair, in: &transaction) }
    return hasMore
  }

  /// The batch is committed.
  func endBatch() {
    isInBatch = false
    committedCount = result.objectCount
    for pair in links.indices {
      for side in links[pair].indices { links[pair][side].endBatch() }
    }
  }

  private func refuseDanglingLabels(hasMore: Bool) throws {
    for number in Int(batchStart)..<labels.count where !labels.isDefined(UInt32(number)) {
      let advice =
        hasMore
        ? "no line up to the end of its batch has this id; raise --batch, or move that line forward"
        : "no line has this id"
      throw TransferError(
        .danglingID, "it refers to \(label(UInt32(number))), but \(advice)", line: Int(labels.lines[number]),
        object: label(UInt32(number)))
    }
  }

  /// The id as the file writes it.
  func label(_ number: UInt32) -> String {
    let entity = labels.entities[Int(number)]
    return entity == LoadLabels.stored
      ? "@\(labels.ids[Int(number)])" : "\(schema.entities[Int(entity)].name)/\(labels.serials[Int(number)])"
  }

  /// An error of the store or the model as one of the load, with the line and the file's own id.
  func transferError(_ error: any Error) -> any Error {
    if let error = error as? TransferError {
      return error.completed(line: nil, object: nil, committedCount: committedCount)
    }
    if let error = error as? ValidationError, let refusal = refusal(error) { return refusal }
    // Without a line it is no fault of the data: a lock, a disk. Such an error keeps its type.
    guard let error = error as? any KVCloneError, let currentObject else { return error }
    return TransferError(
      .rejected, error.message, line: lineNumber, entity: error.entity, property: error.property,
      object: currentObject, kindName: error.kindName
    ).completed(line: nil, object: nil, committedCount: committedCount)
  }

  /// What the commit refused, as the fault of a line: the first one, but of two equal values the later.
  private func refusal(_ error: ValidationError) -> TransferError? {
    var places: [(number: Int, issue: ValidationIssue)] = []
    // Finding an object's line is a search, and nobody reads the thousandth issue.
    for issue in error.issues.prefix(100) {
      guard let name = LoadName(issue.object[...]), let entity = schema.entitiesByName[String(name.entity)],
        let number = labels.number(of: name.serial, entity: UInt16(entity))
      else { continue }
      places.append((number, issue))
    }
    places.sort { labels.lines[$0.number] < labels.lines[$1.number] }
    guard var chosen = places.first else { return nil }
    if chosen.issue.kind == .uniquenessConflict {
      let twin = places.dropFirst().first {
        $0.issue.other == chosen.issue.object
      }
      chosen = twin ?? chosen
    }
    // The store's names of objects that will not be are of no use to anybody. Marks first: a label may look like one.
    var message = chosen.issue.message
    for (index, place) in places.prefix(2).enumerated() {
      message = message.replacingOccurrences(of: "\(place.issue.object) ", with: "\u{0}\(index) ")
    }
    for (index, place) in places.prefix(2).enumerated() {
      message = message.replacingOccurrences(of: "\u{0}\(index) ", with: "\(label(UInt32(place.number))) ")
    }
    if error.issues.count > 1 { message += " (and \(error.issues.count - 1) more)" }
    return TransferError(
      .rejected, message, line: Int(labels.lines[chosen.number]), entity: chosen.issue.entity,
      property: chosen.issue.property, object: label(UInt32(chosen.number)), kindName: chosen.issue.kind.rawValue
    ).completed(line: nil, object: nil, committedCount: committedCount)
  }
}

// MARK: - Lines

extension LoadSession {
  private func failure(
    _ kind: TransferError.Kind, _ reason: String, entity: String? = nil, property: String? = nil
  ) -> TransferError {
    TransferError(
      kind, reason, line: lineNumber, entity: entity, property: property, object: currentObject)
  }

  private func load(_ line: Span<UInt8>, _ transaction: inout WriteTransaction) throws {
    currentObject = nil
    let start = try markLength(line)
    let line = line.extracting(start..<line.count)
    if isBlank(line) { return }
    let object = try objectLine(line)
    if lineNumber == 1 {
      if let version = object.members["kvclone"] { return try checkHeader(object.members, version) }
      if options.isStrict { throw missingHeader }
    }
    try load(object, line, &transaction)
  }

  /// The bytes of a byte order mark before the line's JSON. The text may begin with that of UTF-8.
  private func markLength(_ line: Span<UInt8>) throws -> Int {
    switch EncodingMark.find(line) {
    case nil: return 0
    case .utf8(let length):
      if lineNumber == 1 { return length }
      throw failure(
        .malformedLine,
        "the line begins with a byte order mark, which is only valid at the start of the text; remove it")
    case .wide:
      if lineNumber > 1 { return 0 }
      throw failure(
        .malformedLine,
        "the text is UTF-16 or UTF-32, judging by its byte order mark or zero bytes; convert it to UTF-8 "
          + "(iconv -f UTF-16 -t UTF-8)"
      )
    }
  }

  private func objectLine(_ line: Span<UInt8>) throws -> ObjectLine {
    var other = JSONValue.null
    do {
      if let object = try ObjectLine(line, other: &other) { return object }
    } catch {
      throw failure(.malformedLine, error.reason)
    }
    throw failure(.malformedLine, "\(other.kind) instead of an object")
  }

  private func isBlank(_ line: Span<UInt8>) -> Bool {
    for index in 0..<line.count {
      guard line[index] == 0x20 || line[index] == 0x09 || line[index] == 0x0D else { return false }
    }
    return true
  }

  /// Refuses a first line that the load would refuse for its header, before the rest of a slow source is waited for. What is
  /// no object is left to the load, which knows more about lines.
  func checkHeader(ahead line: Span<UInt8>) throws {
    var other = JSONValue.null
    guard let object = try? ObjectLine(line, other: &other) else { return }
    lineNumber = 1
    if let version = object.members["kvclone"] { return try checkHeader(object.members, version) }
    if options.isStrict { throw missingHeader }
  }

  private var missingHeader: TransferError {
    failure(.incompatibleHeader, "the header is missing, but --strict requires it")
  }

  private func checkHeader(_ header: JSONObject, _ version: JSONValue) throws {
    guard version == .integer(1) else {
      throw failure(.incompatibleHeader, "the version of the text is unknown to this library; use a newer library")
    }
    if options.isStrict, header["modelHash"] != .string(modelHash) {
      throw failure(
        .incompatibleHeader, "the text belongs to another model; migrate the store, or load without --strict")
    }
  }

  private func load(_ object: ObjectLine, _ line: Span<UInt8>, _ transaction: inout WriteTransaction) throws {
    var id: JSONValue?
    var attributes: JSONObject?
    for member in object.members.members {
      switch (member.name, member.value) {
      case ("id", let value): id = value
      case ("attributes", .object(let value)): attributes = value
      case ("relationships", _) where object.relationships != nil: break
      case ("attributes", let value), ("relationships", let value):
        throw failure(.malformedLine, "\(value.kind) instead of the object of \(member.name)")
      default: throw failure(.malformedLine, "a member other than id, attributes and relationships")
      }
    }
    guard case .string(let label)? = id, label.utf8.count <= LoadName.lengthLimit, let name = LoadName(label[...])
    else {
      throw failure(.malformedLine, #"no "id" of the form "Entity/serial""#)
    }
    currentObject = label
    guard let index = schema.entitiesByName[String(name.entity)] else {
      throw failure(.unknownEntity, "the model does not have the entity of this id", entity: String(name.entity))
    }
    let entity = schema.entities[index]
    if entity.isAbstract {
      throw failure(.abstractEntity, "\(entity.name) is abstract; use one of its subentities", entity: entity.name)
    }
    let number = try labels.number(entity: entity.index, serial: name.serial, line: lineNumber)
    if labels.isDefined(number) {
      throw failure(.duplicateID, "line \(labels.lines[Int(number)]) already has this id", entity: entity.name)
    }
    let inserted = try insert(entity, attributes, &transaction)
    labels.define(number, as: inserted, line: lineNumber)
    try postpone(object, line, of: number, entity, transaction)
    result.objectCount += 1
    result.counts[entity.name, default: 0] += 1
    if result.ids.count < options.idLimit { result.ids[label] = "\(entity.name)/\(inserted.serial)" }
  }

  private func insert(
    _ entity: LoadEntity, _ given: JSONObject?, _ transaction: inout WriteTransaction
  ) throws -> ObjectID {
    var attributes = AttributeJSON.Attributes()
    for member in given?.members ?? [] {
      guard let attribute = entity.attributes[member.name] else {
        throw failure(
          .unknownProperty, "\(entity.name) has no attribute \(ErrorText.shown(member.name))", entity: entity.name,
          property: ErrorText.shown(member.name))
      }
      if attribute.isDerived || attribute.isTransient { continue }
      do {
        try AttributeJSON.read(member.value, for: attribute, into: &attributes)
      } catch {
        throw failure(error.kind, "\(error.path): \(error.reason)", entity: entity.name, property: error.path)
      }
    }
    let id = try transaction.restore(entity.name, attributes.values)
    for file in attributes.files {
      do {
        try load(file, as: id, &transaction)
      } catch let error as TransferError {
        throw failure(error.kind, error.reason, entity: entity.name, property: error.property)
      }
    }
    return id
  }

  /// Sets an attribute to the bytes of a file, or to the blob that the file has become already.
  private func load(
    _ file: AttributeJSON.FileValue, as id: ObjectID, _ transaction: inout WriteTransaction
  ) throws {
    let place = try blobs.place(of: file.file, line: lineNumber)
    if let place, let serial = blobs.serial(at: place) {
      // In the meantime others may have deleted the object that had it.
      let isShared = try transaction.changeObjects { (session) throws(StoreError) in
        try session.setBlob(id, file.path, serial: serial, byteCount: file.size)
      }
      if isShared { return }
    }
    try transaction.setFile(id, file, below: options.baseDirectory)
    if let place, case .blob(let blob)? = try transaction.value(id, file.path) {
      blobs.note(blob.id, at: place, line: lineNumber)
    }
  }

  private func postpone(
    _ object: ObjectLine, _ line: Span<UInt8>, of owner: UInt32, _ entity: LoadEntity,
    _ transaction: borrowing WriteTransaction
  ) throws {
    for (member, list) in zip(object.relationships?.members ?? [], object.lists) {
      guard let relationship = entity.relationships[member.name] else {
        throw failure(
          .unknownProperty, "\(entity.name) has no relationship \(ErrorText.shown(member.name))", entity: entity.name,
          property: ErrorText.shown(member.name))
      }
      var targets: [UInt32] = []
      switch member.value {
      case .array where relationship.description.isToMany:
        guard let list else { break }
        do {
          try ObjectLine.forEachMember(of: line, from: list) { value in
            targets.append(try target(value, relationship, transaction))
          }
        } catch let error as JSONError {
          throw failure(.malformedLine, error.reason)
        }
      case .string where !relationship.description.isToMany:
        targets.append(try target(member.value, relationship, transaction))
      case .null where !relationship.description.isToMany: break
      default:
        let expected = relationship.description.isToMany ? "an array of ids" : "an id or null"
        throw failure(
          .wrongType, "\(member.name): \(member.value.kind) instead of \(expected)", entity: entity.name,
          property: member.name)
      }
      try links[relationship.pair][relationship.side].append(owner: owner, targets: targets, line: lineNumber)
    }
  }

  private func target(
    _ value: JSONValue, _ relationship: LoadRelationship, _ transaction: borrowing WriteTransaction
  ) throws -> UInt32 {
    let property = relationship.description.name
    guard case .string(let text) = value else {
      throw failure(.wrongType, "\(property): \(value.kind) instead of an id", property: property)
    }
    let isStored = text.hasPrefix("@")
    let plain = isStored ? text.dropFirst() : text[...]
    var entityName = LoadName(plain)?.entity
    var id: ObjectID?
    if isStored {
      let found = try transaction.objectID(named: String(plain))
      id = found
      if entityName == nil { entityName = LoadName(try transaction.name(of: found)[...])?.entity }
    }
    guard let name = entityName, let index = schema.entitiesByName[String(name)], relationship.accepts[index] else {
      throw failure(
        .wrongDestination,
        "\(property): the id does not belong to the entity \(relationship.description.destinationEntityName)",
        property: property)
    }
    if let id { return try labels.number(stored: id, line: lineNumber) }
    guard let serial = LoadName(plain)?.serial else {
      throw failure(.wrongDestination, "\(property): the id does not have the form Entity/serial", property: property)
    }
    return try labels.number(entity: UInt16(index), serial: serial, line: lineNumber)
  }
}

extension WriteTransaction {
  /// Sets an attribute to the bytes of a file; they pass through in pieces.
  package mutating func setFile(_ id: ObjectID, _ value: AttributeJSON.FileValue, below directory: String) throws {
    do {
      let file = try TransferFiles(directory: directory).open(value.file)
      if let expected = value.size, expected != file.byteCount {
        throw TransferError(.invalidFile, "the file has \(file.byteCount) bytes instead of \(expected)")
      }
      try setData(id, value.path) { writer in
        try TransferFiles.read(file) { try writer.append($0) }
      }
    } catch let error as TransferError {
      throw TransferError(error.kind, "\(value.path): \(error.reason)", property: value.path)
    }
  }
}
