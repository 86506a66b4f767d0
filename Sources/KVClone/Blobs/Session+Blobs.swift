#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneModel
import KVCloneRecords

/// Large binary values as attributes have them.
extension Session {
  var blobTables: BlobTables { BlobTables(blobs: schema.tables.blobs, blobinfo: schema.tables.blobinfo) }

  /// Stores bytes as a blob with one referrer.
  ///
  /// - Throws: `diskFull` or `mapFull` before anything is written, where a value of a chunk or more cannot fit.
  mutating func createBlob(_ data: Data, isTransformable: Bool) throws(StoreError) -> BlobReference {
    if data.count >= FormatLimits.blobChunkLength { try makeRoom(for: UInt64(data.count)) }
    let serial = try nextBlobSerial()
    do {
      let info = try storage.writeBlob(blobTables, serial: serial) { writer in try writer.append(data) }
      return BlobReference(id: serial, byteCount: info.byteCount, isTransformable: isTransformable)
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(.io, "a blob could not be written: \(error)")
    }
  }

  /// One more referrer of a blob that a caller read from some object.
  mutating func retainBlob(_ reference: BlobReference) throws(StoreError) {
    guard let info = try storage.blobInfo(blobTables, reference.id), info.state == .complete,
      info.byteCount == reference.byteCount
    else {
      throw StoreError(
        .objectNotFound,
        "the blob no longer exists, because its object has changed since it was read; read the object again")
    }
    try storage.addReferences(blobTables, reference.id)
  }

  /// One referrer less; the last one takes the bytes along.
  mutating func releaseBlob(_ reference: BlobReference) throws(StoreError) {
    _ = try storage.releaseReference(blobTables, reference.id)
  }

  /// Reads a binary or transformable attribute piece by piece; nil where it is nil.
  borrowing func readData(_ id: ObjectID, _ name: String, _ body: (RawSpan) throws(StoreError) -> Void)
    throws(StoreError) -> UInt64?
  {
    let view = try existingRecord(id)
    let entity = try schema.entity(of: view, id: id)
    let attribute = try binaryAttribute(name, entity)
    if attribute.field == nil {
      let value = changes.transients[.init(object: id, attribute: attribute.path)]
      guard let data = value?.inlineData else { return nil }
      try body(data.bytes)
      return UInt64(data.count)
    }
    guard let preset = attribute.field, let field = entity.field(preset, code: attribute.code, in: view),
      !view.isNull(field)
    else { return nil }
    guard let blob = view.blobReference(field) else {
      let bytes = view.variableBytes(field)
      try body(bytes)
      return UInt64(bytes.byteCount)
    }
    do {
      try storage.readBlob(blobTables, blob.id) { bytes in try body(bytes) }
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(.io, "a blob could not be read: \(error)")
    }
    return blob.byteCount
  }

  /// Sets a binary or transformable attribute from a stream.
  mutating func setData(_ id: ObjectID, _ name: String, from source: (inout BlobWriter) throws -> Void) throws {
    let entity = try entity(of: id)
    let attribute = try binaryAttribute(name, entity)
    let serial = try nextBlobSerial()
    let info = try storage.writeBlob(blobTables, serial: serial, source)
    if info.byteCount <= UInt64(FormatLimits.inlineBlobLimit) || attribute.field == nil {
      // Small enough for the record: the same bytes are stored the same way, however they came. A transient value lives in
      // memory alone.
      var data = Data()
      try storage.readBlob(blobTables, serial) { bytes in bytes.withUnsafeBytes { data.append(contentsOf: $0) } }
      _ = try storage.releaseReference(blobTables, serial)
      let isTransformable = attribute.description.type == .transformable
      return try set(id, [name: isTransformable ? .transformable(data) : .binary(data)])
    }
    let reference = BlobReference(
      id: serial, byteCount: info.byteCount, isTransformable: attribute.description.type == .transformable)
    try set(id, [name: .blob(reference)])
    // Setting it counted the object as a second referrer; the first was the stream itself.
    _ = try storage.releaseReference(blobTables, serial)
  }

  /// Sets a binary or transformable attribute to a blob that some object has; false where there is none of that serial and length.
  ///
  /// - Parameter byteCount: nil where any length will do.
  mutating func setBlob(_ id: ObjectID, _ name: String, serial: UInt64, byteCount: UInt64?) throws(StoreError) -> Bool {
    let attribute = try binaryAttribute(name, try entity(of: id))
    guard attribute.field != nil, let info = try storage.blobInfo(blobTables, serial), info.state == .complete,
      byteCount == nil || byteCount == info.byteCount
    else { return false }
    let isTransformable = attribute.description.type == .transformable
    try set(
      id, [name: .blob(BlobReference(id: serial, byteCount: info.byteCount, isTransformable: isTransformable))])
    return true
  }

  func binaryAttribute(_ name: String, _ entity: CompiledEntity) throws(StoreError) -> CompiledAttribute {
    guard let index = entity.attributeIndex[name] else { throw entity.unknownAttribute(name) }
    let attribute = entity.attributes[index]
    guard attribute.description.type == .binary || attribute.description.type == .transformable else {
      throw StoreError(
        .wrongType,
        "\(entity.name).\(name) is \(attribute.description.type.rawValue), not binary; use a binary attribute",
        entity: entity.name,
        property: name)
    }
    return attribute
  }
}

extension AttributeValue {
  /// The bytes of a binary or transformable value that has them itself.
  fileprivate var inlineData: Data? {
    switch self {
    case .binary(let data), .transformable(let data): data
    default: nil
    }
  }
}
