import Foundation
package import KVCloneCore
package import KVCloneModel
import KVCloneRecords

/// Writes objects as NDJSON lines: names sorted, unordered members by id, without nil and empty values.
package struct ObjectLineWriter {
  /// Buffered bytes are passed on when there are more than this many.
  private static let flushSize = 1 << 18

  package typealias Sink = (RawSpan) throws -> Void

  private let model: ManagedObjectModel
  private let files: TransferFiles?
  private let filePrefix: String
  private let onBlobFile: (@Sendable (Bool, Int) throws -> Void)?
  /// Sorted; nil writes every link alike.
  private let insideIDs: [ObjectID]?
  /// Blobs with a file: a bit each, because there may be millions.
  private let writtenBlobs = SerialSet()
  private var plans: [UInt16: ObjectLinePlan] = [:]
  /// The plan of the last record: neighbours usually have the same layout.
  private var lastPlan: ObjectLinePlan?
  private var names = KnownObjectNames()
  package var json = JSONWriter()

  /// Creates a writer for the objects of one transaction that does not change them.
  package init(model: ManagedObjectModel, options: DumpOptions = DumpOptions(), insideIDs: [ObjectID]? = nil) {
    self.model = model
    self.insideIDs = insideIDs
    onBlobFile = options.onBlobFile
    files = options.blobsDirectory.map { TransferFiles(directory: $0) }
    filePrefix =
      options.blobsPath.isEmpty || options.blobsPath.hasSuffix("/") ? options.blobsPath : options.blobsPath + "/"
  }

  /// The first line of a dump.
  mutating func writeHeader(_ model: ManagedObjectModel, _ store: UUID) {
    json.beginObject()
    json.member("kvclone", 1)
    json.member("model", model.name)
    json.member("modelVersion", model.versionIdentifier)
    json.member("modelHash", model.modelHash.hex)
    json.member("store", store.uuidString)
    json.endObject()
    json.newLine()
  }

  /// One line with its line feed.
  mutating func writeLine(
    _ id: ObjectID, _ record: borrowing RecordView, in session: borrowing Session, to sink: Sink
  ) throws {
    json.beginObject()
    try writeMembers(id, record, in: session, to: sink)
    json.endObject()
    json.newLine()
    try flushIfLarge(to: sink)
  }

  /// Writes the members of an object's JSON object, so that a caller may add others.
  package mutating func writeMembers<T: ObjectReading & ~Copyable>(
    _ object: ManagedObject, in transaction: borrowing T, to sink: Sink
  ) throws {
    try transaction._withSession { session in
      try writeMembers(object.id, object.record.view, in: session, to: sink)
    }
  }

  private mutating func writeMembers(
    _ id: ObjectID, _ record: borrowing RecordView, in session: borrowing Session, to sink: Sink
  ) throws {
    let plan = try plan(of: record, id, session.schema)
    names.insert(id, plan.entity)
    json.key("id")
    try write(id, isOutside: false, in: session)
    json.key("attributes")
    json.beginObject()
    for (index, step) in plan.attributeSteps.enumerated() {
      if let field = step.field {
        try write(field, step, plan, index, record, id, in: session, to: sink)
      } else {
        let attribute = plan.attributes[index]
        let value = try plan.entity.value(named: attribute.name, in: record, id: id, schema: session.schema)
        if value == nil && !step.writesNil { continue }
        plan.writeName(step, to: &json)
        try write(value, attribute, attribute.name, of: id, in: session, to: sink)
      }
    }
    json.endObject()
    json.key("relationships")
    json.beginObject()
    for (index, step) in plan.relationshipSteps.enumerated() {
      try write(plan.relationships[index], step, plan, record, id, in: session, to: sink)
    }
    json.endObject()
  }

  /// Passes on the buffered bytes if there are many.
  package mutating func flushIfLarge(to sink: Sink) throws {
    if json.bytes.count >= ObjectLineWriter.flushSize { try flush(to: sink) }
  }

  /// Passes on the buffered bytes.
  package mutating func flush(to sink: Sink) throws {
    if json.bytes.isEmpty { return }
    try sink(json.bytes.span.bytes)
    json.removeWritten()
  }

  private mutating func plan(
    of record: borrowing RecordView, _ id: ObjectID, _ schema: Schema
  ) throws(StoreError) -> ObjectLinePlan {
    if let lastPlan, lastPlan.layout == record.layout, lastPlan.entity.rootCode == id.rootCode { return lastPlan }
    let entity = try schema.entity(of: record, id: id)
    let plan = plans[record.layout.id] ?? ObjectLinePlan(record.layout, entity, model)
    plans[record.layout.id] = plan
    lastPlan = plan
    return plan
  }

  private mutating func write(
    _ relationship: CompiledRelationship, _ step: ObjectLinePlan.Step, _ plan: ObjectLinePlan,
    _ record: borrowing RecordView, _ id: ObjectID, in session: borrowing Session, to sink: Sink
  ) throws {
    let count = session.count(id, relationship, in: record, plan.entity)
    if count == 0 { return }
    plan.writeName(step, to: &json)
    if relationship.isToMany { json.beginArray() }
    var failure: (any Error)?
    // Lists of an unordered relationship ascend.
    try session.forEachMember(id, relationship, in: record, plan.entity) { (member) throws(StoreError) in
      do {
        try write(member, isOutside: !isInside(member), in: session)
        try flushIfLarge(to: sink)
      } catch {
        failure = error
      }
      return failure == nil
    }
    if let failure { throw failure }
    if relationship.isToMany { json.endArray() }
  }

  /// Writes the name of an object.
  private mutating func write(
    _ id: ObjectID, isOutside: Bool, in session: borrowing Session
  ) throws(StoreError) {
    if names.write(id, isOutside: isOutside, to: &json) { return }
    names.insert(id, try session.entity(of: id))
    _ = names.write(id, isOutside: isOutside, to: &json)
  }

  /// Whether a link leads to an object of the text.
  private func isInside(_ id: ObjectID) -> Bool {
    guard let insideIDs else { return true }
    var low = 0
    var high = insideIDs.count
    while low < high {
      let middle = (low + high) / 2
      if insideIDs[middle] < id { low = middle + 1 } else { high = middle }
    }
    return low < insideIDs.count && insideIDs[low] == id
  }
}

// MARK: - Values

extension ObjectLineWriter {
  /// Writes an attribute directly from the record.
  private mutating func write(
    _ field: RecordField, _ step: ObjectLinePlan.Step, _ plan: ObjectLinePlan, _ index: Int,
    _ record: borrowing RecordView, _ id: ObjectID, in session: borrowing Session, to sink: Sink
  ) throws {
    if record.isNull(field) {
      if !step.writesNil { return }
      plan.writeName(step, to: &json)
      return json.null()
    }
    plan.writeName(step, to: &json)
    switch field.kind {
    case .boolean: json.boolean(record.integer(field) != 0)
    case .integer16, .integer32, .integer64: json.integer(record.integer(field))
    case .double: json.double(record.double(field))
    case .date: AttributeJSON.write(date: record.double(field), to: &json)
    case .string, .uri:
      do throws(RecordError) {
        try record.utf8(field).withUnsafeBytes { json.string(utf8: $0) }
      } catch {
        throw session.schema.corrupted(id, error, plan.layout)
      }
    default:
      let attribute = plan.attributes[index]
      let value = try plan.entity.value(named: attribute.name, in: record, id: id, schema: session.schema)
      try write(value, attribute, attribute.name, of: id, in: session, to: sink)
    }
  }

  private mutating func write(
    _ value: AttributeValue?, _ attribute: AttributeDescription, _ path: String, of id: ObjectID,
    in session: borrowing Session, to sink: Sink
  ) throws {
    switch value {
    case nil: json.null()
    case .blob(let reference): try write(reference, path, of: id, in: session, to: sink)
    case .composite(let elements):
      json.beginObject()
      for element in attribute.elements.sorted(by: { AttributeJSON.utf8Precedes($0.name, $1.name) })
      where elements[element.name] != nil || element.hasDefault {
        json.key(element.name)
        try write(elements[element.name], element, "\(path).\(element.name)", of: id, in: session, to: sink)
      }
      json.endObject()
    case .some(let value): AttributeJSON.write(value, to: &json)
    }
  }

  private mutating func write(
    _ blob: BlobReference, _ path: String, of id: ObjectID, in session: borrowing Session, to sink: Sink
  ) throws {
    json.beginObject()
    if let files {
      let name = "blob-\(blob.id)"
      if writtenBlobs.insert(blob.id) {
        let handle = try files.create(name)
        defer { try? handle.close() }
        try onBlobFile?(true, 0)
        try Self.read(id, path, in: session) { bytes in
          try onBlobFile?(false, bytes.byteCount)
          try bytes.withUnsafeBytes { try handle.write(contentsOf: Data($0)) }
        }
      }
      json.member("file", filePrefix + name)
      json.member("size", blob.byteCount)
    } else {
      json.key("base64")
      try json.base64 { writer, encoder in
        try Self.read(id, path, in: session) { bytes in
          bytes.withUnsafeBytes { writer.append(base64: $0, &encoder) }
          if writer.bytes.count >= ObjectLineWriter.flushSize {
            try sink(writer.bytes.span.bytes)
            writer.removeWritten()
          }
        }
      }
    }
    json.endObject()
  }

  /// Passes the bytes of a blob to `body` in chunks.
  private static func read(
    _ id: ObjectID, _ path: String, in session: borrowing Session, _ body: (borrowing RawSpan) throws -> Void
  ) throws {
    var failure: (any Error)?
    do {
      _ = try BlobValues.read(id, path, in: session) { (bytes) throws(StoreError) in
        do {
          try body(bytes)
        } catch {
          failure = error
          throw StoreError(.io, "the text that contains a blob could not be written")
        }
      }
    } catch {
      throw failure ?? error
    }
  }
}

// MARK: - Plans and names

/// The properties that are written of each record of one layout, looked up once.
private final class ObjectLinePlan {
  /// A value to write. Copied for every object, and therefore without references.
  struct Step {
    /// The encoded name in ``ObjectLinePlan/names``.
    fileprivate let name: Range<Int>
    /// Nil for composite attributes, and for those that are younger than the layout.
    let field: RecordField?
    /// Whether nil is written: an absent attribute gets its default value when it is loaded.
    let writesNil: Bool
  }

  let layout: RecordLayout
  let entity: CompiledEntity
  /// In the order of their names.
  let attributes: [AttributeDescription]
  let attributeSteps: [Step]
  /// In the order of their names; only those that the layout has.
  let relationships: [CompiledRelationship]
  let relationshipSteps: [Step]
  private let names: [UInt8]

  init(_ layout: RecordLayout, _ entity: CompiledEntity, _ model: ManagedObjectModel) {
    self.layout = layout
    self.entity = entity
    var names: [UInt8] = []
    func step(_ name: String, _ field: RecordField?, writesNil: Bool) -> Step {
      let start = names.count
      var json = JSONWriter()
      json.key(name)
      names += json.bytes
      return Step(name: start..<names.count, field: field, writesNil: writesNil)
    }
    attributes = model.attributes(of: entity.name).filter(\.isStored)
      .sorted { AttributeJSON.utf8Precedes($0.name, $1.name) }
    attributeSteps = attributes.map { attribute in
      let field = entity.storedAttribute(attribute.name).flatMap { RecordField(layout, property: $0.code) }
      return step(attribute.name, field, writesNil: attribute.hasDefault)
    }
    let stored = model.relationships(of: entity.name).filter { !$0.isTransient }
      .sorted { AttributeJSON.utf8Precedes($0.name, $1.name) }
    relationships = stored.compactMap { try? entity.relationship($0.name) }
      .filter { layout.fieldIndex(ofProperty: $0.code) != nil }
    relationshipSteps = relationships.map {
      step($0.name, RecordField(layout, property: $0.code), writesNil: false)
    }
    self.names = names
  }

  /// Writes the name of a member.
  func writeName(_ step: Step, to json: inout JSONWriter) {
    names.withUnsafeBytes { json.key(encoded: UnsafeRawBufferPointer(rebasing: $0[step.name])) }
  }
}

/// The names of objects that exist in a transaction, without reading the objects again: a bit for each.
private struct KnownObjectNames {
  /// The objects of one entity.
  private struct Kind {
    let entityCode: UInt16
    let serials: SerialSet
    /// `"Note/` and `"@Note/`.
    let start: [UInt8]
    let outsideStart: [UInt8]

    init(_ entity: CompiledEntity) {
      entityCode = entity.code
      serials = SerialSet()
      func start(_ text: String) -> [UInt8] {
        var json = JSONWriter()
        json.string(text)
        return json.bytes.dropLast()
      }
      self.start = start("\(entity.name)/")
      outsideStart = start("@\(entity.name)/")
    }
  }

  /// By root code.
  private var kinds: [[Kind]] = []

  /// Records that an object exists.
  mutating func insert(_ id: ObjectID, _ entity: CompiledEntity) {
    let root = Int(id.rootCode)
    while kinds.count <= root { kinds.append([]) }
    for kind in kinds[root] where kind.entityCode == entity.code {
      _ = kind.serials.insert(id.serial)
      return
    }
    let kind = Kind(entity)
    _ = kind.serials.insert(id.serial)
    kinds[root].append(kind)
  }

  /// Writes the name of an object; returns false if it is not known to exist.
  ///
  /// - Parameter isOutside: whether the object is not part of the text.
  func write(_ id: ObjectID, isOutside: Bool, to json: inout JSONWriter) -> Bool {
    let root = Int(id.rootCode)
    guard root < kinds.count else { return false }
    for kind in kinds[root] where kind.serials.contains(id.serial) {
      (isOutside ? kind.outsideStart : kind.start).withUnsafeBytes { json.string(encoded: $0, id.serial) }
      return true
    }
    return false
  }
}

extension AttributeDescription {
  /// Whether an absent value would be loaded as anything but nil.
  fileprivate var hasDefault: Bool {
    !isDerived && (defaultValue != nil || elements.contains { $0.hasDefault })
  }
}
