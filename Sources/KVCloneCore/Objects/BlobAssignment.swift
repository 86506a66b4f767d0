#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneModel
import KVCloneRecords

package enum BlobAssignment {
  /// Sets a binary or transformable attribute from a stream.
  static func setData(
    _ id: ObjectID, _ name: String, in session: inout Session, from source: (inout BlobWriter) throws -> Void
  ) throws {
    let entity = try session.entity(of: id)
    let attribute = try BlobValues.attribute(name, entity, in: session)
    let serial = try session.nextBlobSerial()
    let info = try session.storage.writeBlob(session.blobTables, serial: serial, source)
    if info.byteCount <= UInt64(FormatLimits.inlineBlobLimit) || attribute.field == nil {
      // Short values go into the record: the same bytes are stored in the same way, whatever their source. A transient
      // value exists only in memory.
      var data = Data()
      try session.storage.readBlob(session.blobTables, serial) { bytes in
        bytes.withUnsafeBytes { data.append(contentsOf: $0) }
      }
      _ = try session.storage.releaseReference(session.schema.tables, serial)
      let isTransformable = attribute.description.type == .transformable
      return try session.set(id, [name: isTransformable ? .transformable(data) : .binary(data)])
    }
    let reference = BlobReference(
      id: serial, byteCount: info.byteCount, isTransformable: attribute.description.type == .transformable)
    try session.set(id, [name: .blob(reference)])
    // Setting it counted a second reference, the object's; the first was the stream's own.
    _ = try session.storage.releaseReference(session.schema.tables, serial)
  }

  /// Sets a binary or transformable attribute to an existing blob; returns false if no blob has that serial and length.
  ///
  /// - Parameter byteCount: the expected length; nil for any length.
  package static func setBlob(
    _ id: ObjectID, _ name: String, serial: UInt64, byteCount: UInt64?, in session: inout Session
  ) throws(StoreError)
    -> Bool
  {
    let attribute = try BlobValues.attribute(name, try session.entity(of: id), in: session)
    guard attribute.field != nil, let info = try session.storage.blobInfo(session.blobTables, serial),
      info.state == .complete,
      byteCount == nil || byteCount == info.byteCount
    else { return false }
    let isTransformable = attribute.description.type == .transformable
    try session.set(
      id, [name: .blob(BlobReference(id: serial, byteCount: info.byteCount, isTransformable: isTransformable))])
    return true
  }

  /// Makes staged data the value of an attribute.
  static func setData(_ id: ObjectID, _ name: String, _ staged: StagedBlob, in session: inout Session)
    throws(StoreError)
  {
    let entity = try session.entity(of: id)
    let attribute = try BlobValues.attribute(name, entity, in: session)
    let isTransformable = attribute.description.type == .transformable
    switch staged.content {
    case .inline(let data):
      try session.set(id, [name: isTransformable ? .transformable(data) : .binary(data)])
    case .blob(let blob):
      let isPending = try PendingBlobs.isPending(blob, staged.stagers, in: session)
      if attribute.field == nil {
        // A transient value exists only in memory; the upload stays staged.
        var data = Data()
        for number in 0..<blob.info.chunkCount {
          let chunk = try session.storage.blobChunk(session.blobTables, blob.serial, number, blob.info)
          chunk.withUnsafeBytes { data.append(contentsOf: $0) }
        }
        return try session.set(id, [name: isTransformable ? .transformable(data) : .binary(data)])
      }
      if isPending {
        try session.storage.recorder?.noteCompletion(of: blob.serial, session.blobTables)
        try session.storage.store(session.blobTables, blob.serial, blob.info)
        let key = MetadataKey.bytes(StagingKey.name(blobSerial: blob.serial))
        try session.storage.delete(session.schema.tables.metadata, key.span.bytes)
      }
      let reference = BlobReference(id: blob.serial, byteCount: blob.info.byteCount, isTransformable: isTransformable)
      try session.set(id, [name: .blob(reference)])
      // Setting it counted a second reference, the object's; the first was the upload's own.
      if isPending { _ = try session.storage.releaseReference(session.schema.tables, blob.serial) }
    }
  }
}
