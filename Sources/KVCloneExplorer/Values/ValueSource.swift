import KVClone
import KVCloneRecords
import Synchronization

/// The bytes of one attribute of one object, at the present state or at a snapshot: of a string, a URI, a binary or a
/// transformable value.
///
/// It is a description, and holds no transaction: every read is a short transaction of its own, which checks that the
/// value is still the same. So a slow reader retains no pages of the file, and never gets bytes of two values.
struct ValueSource: Sendable {
  /// The location of the bytes.
  enum Place: Sendable, Equatable {
    case blob(serial: UInt64)
    /// In the record that a commit wrote.
    case record(commit: UInt64)
  }

  let id: ObjectID
  /// The name of the object.
  let object: String
  /// The name of the attribute, or `composite.element`.
  let attribute: String
  let place: Place
  let byteCount: UInt64
  /// Identifies the bytes among all values of the store: the content of an `ETag`.
  let tag: String

  /// The longest result of one read, in bytes: the length of a chunk of a blob.
  static var chunkLength: Int { FormatLimits.blobChunkLength }

  /// Returns the bytes of an attribute, or nil if it is nil.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`, `wrongType` for attributes of other types, `corrupted`.
  static func find<Reading: ObjectReading & ~Copyable>(
    _ attribute: String, of id: ObjectID, in transaction: borrowing Reading
  ) throws(StoreError) -> ValueSource? {
    try transaction._withSession { (session) throws(StoreError) in
      let record = try session.existingRecord(id)
      let entity = try session.schema.entity(of: record, id: id)
      return try find(attribute, id, entity, in: record, session)
    }
  }

  /// Returns the bytes of an attribute of an open record.
  static func find(
    _ attribute: String, _ id: ObjectID, _ entity: CompiledEntity, in record: RecordView, _ session: borrowing Session
  ) throws(StoreError) -> ValueSource? {
    guard let compiled = entity.attributeIndex[attribute].map({ entity.attributes[$0] }) else {
      throw StoreError(
        .unknownProperty, "\(entity.name) has no attribute \(attribute); check the spelling", entity: entity.name,
        property: attribute)
    }
    let type = compiled.description.type
    guard [.string, .uri, .binary, .transformable].contains(type) else {
      throw StoreError(
        .wrongType, "\(entity.name).\(attribute) is \(type.rawValue), which has no bytes of its own; see the object",
        entity: entity.name, property: attribute)
    }
    guard let preset = compiled.field, let field = entity.field(preset, code: compiled.code, in: record),
      !record.isNull(field)
    else { return nil }
    let blob = record.layout.kind(field).mayBeBlob ? record.blobReference(field) : nil
    let place: Place
    let tag: String
    let byteCount: UInt64
    if let blob {
      let info = try description(of: blob, session)
      (place, byteCount) = (.blob(serial: blob.id), blob.byteCount)
      tag = "b\(blob.id)-\(String(info.digest, radix: 16))"
    } else {
      let bytes = record.variableBytes(field)
      (place, byteCount) = (.record(commit: record.commit), UInt64(bytes.byteCount))
      tag = "r\(bytes.byteCount)-\(String(XXH3.hash(bytes, seed: 0), radix: 16))"
    }
    return ValueSource(
      id: id, object: "\(entity.name)/\(id.serial)", attribute: attribute, place: place,
      byteCount: byteCount, tag: tag)
  }

  /// Reads a part of the value, usually of at most ``chunkLength`` bytes.
  ///
  /// - Throws: `staleObject` if the object has another value in the state of the transaction, `objectNotFound`,
  ///   `corrupted`.
  func read<Reading: ObjectReading & ~Copyable>(
    _ range: Range<UInt64>, in transaction: borrowing Reading
  ) throws(StoreError) -> [UInt8] {
    try transaction._withSession { (session) throws(StoreError) in try read(range, session) }
  }

  /// Reads a part of the value.
  func read(_ range: Range<UInt64>, _ session: borrowing Session) throws(StoreError) -> [UInt8] {
    let record = try session.existingRecord(id)
    let entity = try session.schema.entity(of: record, id: id)
    guard let compiled = entity.storedAttribute(attribute), let preset = compiled.field,
      let field = entity.field(preset, code: compiled.code, in: record), !record.isNull(field)
    else { throw changed(entity) }
    let blob = record.layout.kind(field).mayBeBlob ? record.blobReference(field) : nil
    guard let blob else {
      let bytes = record.variableBytes(field)
      guard place == .record(commit: record.commit), UInt64(bytes.byteCount) == byteCount,
        range.upperBound <= byteCount
      else { throw changed(entity) }
      return bytes.extracting(Int(range.lowerBound)..<Int(range.upperBound)).withUnsafeBytes { Array($0) }
    }
    guard place == .blob(serial: blob.id), blob.byteCount == byteCount, range.upperBound <= byteCount else {
      throw changed(entity)
    }
    let info = try Self.description(of: blob, session)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(range.count)
    let full = UInt64(Self.chunkLength)
    var next = range.lowerBound
    while next < range.upperBound {
      let number = next / full
      try session.readScope { () throws(StoreError) in
        let chunk = try session.storage.blobChunk(session.blobTables, blob.id, UInt32(number), info)
        let start = Int(next - number * full)
        let end = min(chunk.byteCount, Int(range.upperBound - number * full))
        chunk.extracting(start..<end).withUnsafeBytes { bytes.append(contentsOf: $0) }
      }
      next = min(range.upperBound, (number + 1) * full)
    }
    return bytes
  }

  /// The description of a blob, which has the length that the record names.
  private static func description(
    of blob: BlobReference, _ session: borrowing Session
  ) throws(StoreError) -> BlobInfo {
    let info = try session.storage.existingBlobInfo(session.blobTables, blob.id)
    guard info.state == .complete, info.byteCount == blob.byteCount else {
      throw StoreError(
        .corrupted,
        "blob \(blob.id) has \(info.byteCount) bytes, and its object names \(blob.byteCount); run `check` to see the "
          + "extent")
    }
    return info
  }

  private func changed(_ entity: CompiledEntity) -> StoreError {
    StoreError(
      .staleObject, "\(object).\(attribute) has changed while it was read; request it again", entity: entity.name,
      property: attribute, object: object)
  }

  /// The bytes of a range as a stream, read as they are requested: at most one chunk is in memory, and no transaction
  /// is open between two of them, however slow the reader is.
  ///
  /// The stream ends with the errors of ``read(_:in:)``, and `snapshotNotFound`.
  ///
  /// - Parameter snapshotName: The state of the value; nil for the present one.
  func stream(
    _ range: Range<UInt64>, of store: ObjectStore, at snapshotName: String?
  ) -> AsyncThrowingStream<[UInt8], any Error> {
    let position = StreamPosition(range.lowerBound)
    return AsyncThrowingStream { () async throws -> [UInt8]? in
      let start = position.next.withLock { $0 }
      if start >= range.upperBound { return nil }
      try Task.checkCancellation()
      // Ends of reads are those of stored chunks, so that each is read and verified once.
      let full = UInt64(Self.chunkLength)
      let part = start..<min(range.upperBound, (start / full + 1) * full)
      let bytes =
        if let snapshotName {
          try await StateName.snapshot(snapshotName, of: store).read { transaction in try read(part, in: transaction) }
        } else {
          try await store.read { transaction in try read(part, in: transaction) }
        }
      position.next.withLock { $0 = part.upperBound }
      return bytes
    }
  }
}

/// The offset of the next byte of a stream.
private final class StreamPosition: Sendable {
  let next: Mutex<UInt64>

  init(_ start: UInt64) {
    next = Mutex(start)
  }
}
