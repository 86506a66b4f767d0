#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneModel
import KVCloneRecords

extension Session {
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
  package mutating func setBlob(_ id: ObjectID, _ name: String, serial: UInt64, byteCount: UInt64?) throws(StoreError)
    -> Bool
  {
    let attribute = try binaryAttribute(name, try entity(of: id))
    guard attribute.field != nil, let info = try storage.blobInfo(blobTables, serial), info.state == .complete,
      byteCount == nil || byteCount == info.byteCount
    else { return false }
    let isTransformable = attribute.description.type == .transformable
    try set(
      id, [name: .blob(BlobReference(id: serial, byteCount: info.byteCount, isTransformable: isTransformable))])
    return true
  }

  /// Makes staged data the value of an attribute.
  mutating func setData(_ id: ObjectID, _ name: String, _ staged: StagedBlob) throws(StoreError) {
    let entity = try entity(of: id)
    let attribute = try binaryAttribute(name, entity)
    let isTransformable = attribute.description.type == .transformable
    switch staged.content {
    case .inline(let data):
      try set(id, [name: isTransformable ? .transformable(data) : .binary(data)])
    case .blob(let blob):
      let isPending = try isPending(blob, staged.stagers)
      if attribute.field == nil {
        // A transient value lives in memory alone; what was staged stays so.
        var data = Data()
        for number in 0..<blob.info.chunkCount {
          let chunk = try storage.blobChunk(blobTables, blob.serial, number, blob.info)
          chunk.withUnsafeBytes { data.append(contentsOf: $0) }
        }
        return try set(id, [name: isTransformable ? .transformable(data) : .binary(data)])
      }
      if isPending {
        try storage.recorder?.noteCompletion(of: blob.serial, blobTables)
        try storage.store(blobTables, blob.serial, blob.info)
        let key = MetadataKey.bytes(StagingKey.name(blobSerial: blob.serial))
        try storage.delete(schema.tables.metadata, key.span.bytes)
      }
      let reference = BlobReference(id: blob.serial, byteCount: blob.info.byteCount, isTransformable: isTransformable)
      try set(id, [name: .blob(reference)])
      // Setting it counted the object as a second referrer; the first was the upload itself.
      if isPending { _ = try storage.releaseReference(blobTables, blob.serial) }
    }
  }
}
