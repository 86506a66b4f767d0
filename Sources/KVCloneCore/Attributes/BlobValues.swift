#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneModel
import KVCloneRecords

/// Creates, shares and reads the blobs of attributes.
package enum BlobValues {
  /// Stores bytes as a blob with one reference.
  ///
  /// - Throws: `diskFull` or `mapFull` before anything is written, if a value of a chunk or more cannot fit.
  static func create(_ data: Data, isTransformable: Bool, in session: inout Session) throws(StoreError) -> BlobReference
  {
    if data.count >= FormatLimits.blobChunkLength { try session.makeRoom(for: UInt64(data.count)) }
    let serial = try session.nextBlobSerial()
    do {
      let info = try session.storage.writeBlob(session.blobTables, serial: serial) { writer in try writer.append(data) }
      return BlobReference(id: serial, byteCount: info.byteCount, isTransformable: isTransformable)
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(.io, "a blob could not be written: \(error)")
    }
  }

  /// Adds a reference to a blob that a caller read from an object.
  static func retain(_ reference: BlobReference, in session: inout Session) throws(StoreError) {
    guard let info = try session.storage.blobInfo(session.blobTables, reference.id), info.state == .complete,
      info.byteCount == reference.byteCount
    else {
      throw StoreError(
        .objectNotFound,
        "the blob no longer exists, because its object has changed since it was read; read the object again")
    }
    try session.storage.addReferences(session.blobTables, reference.id)
  }

  /// Reads a binary or transformable attribute in chunks; returns nil if the attribute is nil.
  package static func read(
    _ id: ObjectID, _ name: String, in session: borrowing Session, _ body: (RawSpan) throws(StoreError) -> Void
  )
    throws(StoreError) -> UInt64?
  {
    let view = try session.existingRecord(id)
    let entity = try session.schema.entity(of: view, id: id)
    let attribute = try attribute(name, entity, in: session)
    if attribute.field == nil {
      let value = session.changes.transients[.init(object: id, attribute: attribute.path)]
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
      try session.storage.readBlob(session.blobTables, blob.id) { bytes in try body(bytes) }
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(.io, "a blob could not be read: \(error)")
    }
    return blob.byteCount
  }

  static func attribute(_ name: String, _ entity: CompiledEntity, in session: borrowing Session) throws(StoreError)
    -> CompiledAttribute
  {
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
  /// The bytes of a binary or transformable value that is stored inline.
  fileprivate var inlineData: Data? {
    switch self {
    case .binary(let data), .transformable(let data): data
    default: nil
    }
  }
}
