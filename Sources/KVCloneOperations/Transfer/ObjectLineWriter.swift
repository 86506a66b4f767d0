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
  private var shapes: [String: EntityShape] = [:]
  package var json = JSONWriter()

  /// The content of an entity's lines, looked up once.
  private struct EntityShape {
    let attributes: [AttributeDescription]
    let relationships: [RelationshipDescription]
  }

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
  package mutating func writeLine<T: ObjectReading & ~Copyable>(
    _ object: ManagedObject, in transaction: borrowing T, to sink: Sink
  ) throws {
    json.beginObject()
    try writeMembers(object, in: transaction, to: sink)
    json.endObject()
    json.newLine()
    try flushIfLarge(to: sink)
  }

  /// Writes the members of an object's JSON object, so that a caller may add others.
  package mutating func writeMembers<T: ObjectReading & ~Copyable>(
    _ object: ManagedObject, in transaction: borrowing T, to sink: Sink
  ) throws {
    let shape = self.shape(of: object.entityName)
    json.member("id", object.name)
    json.key("attributes")
    json.beginObject()
    for attribute in shape.attributes {
      let value = try object.value(attribute.name)
      // An absent attribute gets its default when it is loaded, so a nil that is not the default is written explicitly.
      if value == nil && !attribute.hasDefault { continue }
      json.key(attribute.name)
      try write(value, attribute, attribute.name, of: object.id, in: transaction, to: sink)
    }
    json.endObject()
    json.key("relationships")
    json.beginObject()
    for relationship in shape.relationships {
      try write(relationship, of: object, in: transaction, to: sink)
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

  private mutating func shape(of entity: String) -> EntityShape {
    if let known = shapes[entity] { return known }
    let attributes = model.attributes(of: entity).filter(\.isStored)
    let relationships = model.relationships(of: entity).filter { !$0.isTransient }
    let shape = EntityShape(
      attributes: attributes.sorted { AttributeJSON.utf8Precedes($0.name, $1.name) },
      relationships: relationships.sorted { AttributeJSON.utf8Precedes($0.name, $1.name) })
    shapes[entity] = shape
    return shape
  }

  private mutating func write<T: ObjectReading & ~Copyable>(
    _ relationship: RelationshipDescription, of object: ManagedObject, in transaction: borrowing T, to sink: Sink
  ) throws {
    guard relationship.isToMany else {
      guard let target = object.toOne(relationship.name) else { return }
      json.key(relationship.name)
      json.string(try name(of: target, in: transaction))
      return
    }
    guard object.count(relationship.name) > 0 else { return }
    var members = try transaction.members(object.id, relationship.name)
    if !relationship.isOrdered { members.sort() }
    json.key(relationship.name)
    json.beginArray()
    for member in members {
      json.string(try name(of: member, in: transaction))
      if json.bytes.count >= ObjectLineWriter.flushSize { try flush(to: sink) }
    }
    json.endArray()
  }

  private func name<T: ObjectReading & ~Copyable>(
    of id: ObjectID, in transaction: borrowing T
  ) throws -> String {
    let name = try transaction.name(of: id)
    guard let insideIDs else { return name }
    var low = 0
    var high = insideIDs.count
    while low < high {
      let middle = (low + high) / 2
      if insideIDs[middle] < id { low = middle + 1 } else { high = middle }
    }
    return low < insideIDs.count && insideIDs[low] == id ? name : "@" + name
  }
}

// MARK: - Values

extension ObjectLineWriter {
  private mutating func write<T: ObjectReading & ~Copyable>(
    _ value: AttributeValue?, _ attribute: AttributeDescription, _ path: String, of id: ObjectID,
    in transaction: borrowing T, to sink: Sink
  ) throws {
    switch value {
    case nil: json.null()
    case .blob(let reference): try write(reference, path, of: id, in: transaction, to: sink)
    case .composite(let elements):
      json.beginObject()
      for element in attribute.elements.sorted(by: { AttributeJSON.utf8Precedes($0.name, $1.name) })
      where elements[element.name] != nil || element.hasDefault {
        json.key(element.name)
        try write(elements[element.name], element, "\(path).\(element.name)", of: id, in: transaction, to: sink)
      }
      json.endObject()
    case .some(let value): AttributeJSON.write(value, to: &json)
    }
  }

  private mutating func write<T: ObjectReading & ~Copyable>(
    _ blob: BlobReference, _ path: String, of id: ObjectID, in transaction: borrowing T, to sink: Sink
  ) throws {
    json.beginObject()
    if let files {
      let name = "blob-\(blob.id)"
      if writtenBlobs.insert(blob.id) {
        let handle = try files.create(name)
        defer { try? handle.close() }
        try onBlobFile?(true, 0)
        _ = try transaction.readData(id, path) { bytes in
          try onBlobFile?(false, bytes.byteCount)
          try bytes.withUnsafeBytes { try handle.write(contentsOf: Data($0)) }
        }
      }
      json.member("file", filePrefix + name)
      json.member("size", blob.byteCount)
    } else {
      json.key("base64")
      try json.base64 { writer, encoder in
        _ = try transaction.readData(id, path) { bytes in
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
}

extension AttributeDescription {
  /// Whether an absent value would be loaded as anything but nil.
  fileprivate var hasDefault: Bool {
    !isDerived && (defaultValue != nil || elements.contains { $0.hasDefault })
  }
}
