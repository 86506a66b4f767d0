#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
import KVCloneRecords

/// A staged upload: bytes in the store that are not the value of an attribute yet.
///
/// `ObjectStore.stageBlob` creates it. ``WriteTransaction/setData(_:_:_:)`` makes it the value of an attribute as part
/// of a transaction. Several objects may use the same upload: the bytes are stored once and reference-counted. A
/// rollback leaves the upload staged.
///
/// A staged upload belongs to the open store that created it. It ends when the last reference to this instance is
/// released, when the store is closed, and when the process ends. Bytes without an object are then deleted by the next
/// upload, or when the store is opened next.
public final class StagedBlob: Sendable {
  /// The place of the bytes.
  enum Content: Sendable {
    /// A short value, which is stored in the record when it is assigned.
    case inline(Data)
    case blob(PendingBlob)
  }

  /// The number of bytes.
  public let byteCount: UInt64
  let content: Content
  let stagers: Stagers
  /// Identifies the open store that it belongs to.
  let floor: SerialHighWaterMark

  init(_ content: Content, byteCount: UInt64, _ store: ObjectStore) {
    self.content = content
    self.byteCount = byteCount
    stagers = store.resource(Stagers.self)
    floor = store.context.serialFloor
  }

  deinit {
    if case .blob(let blob) = content { stagers.release(blob.stager) }
  }
}

/// The blob of a staged upload.
struct PendingBlob: Sendable {
  let serial: UInt64
  /// The byte of `stagers.lock` that the upload has locked.
  let stager: UInt16
  /// Set when all bytes are stored.
  var info: BlobInfo
}

/// A writer that receives the bytes of a staged upload and keeps a few chunks in memory; see `ObjectStore.stageBlob`.
///
/// A writer belongs to the closure that receives it and is invalid afterwards.
public struct BlobUploader: ~Copyable {
  private let upload: StagingUpload
  private let write: (StagingUpload) throws -> Void

  init(_ upload: StagingUpload, _ write: @escaping (StagingUpload) throws -> Void) {
    self.upload = upload
    self.write = write
  }

  /// The number of bytes appended so far.
  public var byteCount: UInt64 { upload.byteCount }

  /// Appends bytes. About every 4 MiB, they are written in a short transaction.
  ///
  /// - Throws: `busy` if another writer holds the write lock for too long, and errors of the file system. The upload
  ///   cannot continue then.
  public mutating func append(_ bytes: RawSpan) throws {
    if let failure = upload.failure { throw failure }
    var offset = 0
    while offset < bytes.byteCount {
      offset += bytes.withUnsafeBytes { upload.take($0, from: offset) }
      if upload.isFull { try write(upload) }
    }
  }

  /// Appends bytes.
  ///
  /// - Throws: the errors of ``append(_:)-(RawSpan)``.
  public mutating func append(_ data: Data) throws {
    try append(data.bytes)
  }
}

/// A staged upload in progress: the buffered bytes, and the state of the written ones.
final class StagingUpload {
  /// The number of chunks per transaction: few enough for memory, enough that commits do not dominate the cost.
  static let chunksPerTransaction = 4

  private(set) var byteCount: UInt64 = 0
  /// The buffered chunks, each with space for its checksum; all but the last are full.
  private(set) var chunks: [[UInt8]] = []
  /// The number of chunks in the store.
  private(set) var writtenCount: UInt32 = 0
  /// Set after the first write.
  var blob: PendingBlob?
  /// The first failure: data with a gap is never used.
  var failure: (any Error)?
  private var digest = XXH64Stream(seed: 0)

  private static let fullLength = FormatLimits.envelopeLength + FormatLimits.blobChunkLength

  /// Whether the buffered chunks should be written now.
  var isFull: Bool { chunks.count == Self.chunksPerTransaction && chunks.last?.count == Self.fullLength }

  /// Copies bytes until the buffer is full; returns their number.
  func take(_ bytes: UnsafeRawBufferPointer, from offset: Int) -> Int {
    var position = offset
    while position < bytes.count, !isFull {
      if chunks.isEmpty || chunks[chunks.count - 1].count == Self.fullLength {
        chunks.append([UInt8](repeating: 0, count: FormatLimits.envelopeLength))
      }
      let end = min(bytes.count, position + Self.fullLength - chunks[chunks.count - 1].count)
      chunks[chunks.count - 1].append(contentsOf: bytes[position..<end])
      position = end
    }
    digest.update(UnsafeRawBufferPointer(rebasing: bytes[offset..<position]))
    byteCount += UInt64(position - offset)
    return position - offset
  }

  /// Records that the buffered chunks are written.
  func noteWritten(_ blob: PendingBlob) {
    self.blob = blob
    writtenCount += UInt32(chunks.count)
    chunks.removeAll()
  }

  /// All bytes, if they are few enough to stay in memory; nil otherwise.
  var inlineData: Data? {
    guard blob == nil, byteCount <= UInt64(FormatLimits.inlineBlobLimit) else { return nil }
    return Data((chunks.first ?? []).dropFirst(FormatLimits.envelopeLength))
  }

  /// The blob's description once the data becomes a value.
  func completeInfo() -> BlobInfo {
    BlobInfo(chunkCount: writtenCount, referenceCount: 1, byteCount: byteCount, digest: digest.finalize())
  }
}
