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
  /// Where the bytes are.
  enum Content: Sendable {
    /// Short values go into the record, and wait here for it.
    case inline(Data)
    case blob(PendingBlob)
  }

  /// The number of bytes.
  public let byteCount: UInt64
  let content: Content
  let stagers: Stagers
  /// Stands for the open store that it belongs to.
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

/// An upload's blob.
struct PendingBlob: Sendable {
  let serial: UInt64
  /// The byte of the side file that stands for the upload.
  let stager: UInt16
  /// Known when all bytes are there.
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

/// One upload on its way: the bytes that are not written yet, and what is known of the others.
final class StagingUpload {
  /// Chunks that are written at a time: few enough to be held in memory, enough that a commit does not cost more than the
  /// bytes.
  static let chunksPerTransaction = 4

  private(set) var byteCount: UInt64 = 0
  /// Chunks in memory, each with room for its checksum; all but the last are full.
  private(set) var chunks: [[UInt8]] = []
  /// Chunks that are in the store.
  private(set) var writtenCount: UInt32 = 0
  /// Known once something was written.
  var blob: PendingBlob?
  /// The first failure: data with a hole is never used.
  var failure: (any Error)?
  private var digest = XXH64Stream(seed: 0)

  private static let fullLength = FormatLimits.envelopeLength + FormatLimits.blobChunkLength

  /// Whether the chunks should be written now.
  var isFull: Bool { chunks.count == Self.chunksPerTransaction && chunks.last?.count == Self.fullLength }

  /// Takes bytes up to the end of the buffer; how many.
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

  /// The chunks in memory are in the store.
  func noteWritten(_ blob: PendingBlob) {
    self.blob = blob
    writtenCount += UInt32(chunks.count)
    chunks.removeAll()
  }

  /// Everything, where it is short enough to stay in memory; nil otherwise.
  var inlineData: Data? {
    guard blob == nil, byteCount <= UInt64(FormatLimits.inlineBlobLimit) else { return nil }
    return Data((chunks.first ?? []).dropFirst(FormatLimits.envelopeLength))
  }

  /// What the blob's description will say when the data becomes a value.
  func completeInfo() -> BlobInfo {
    BlobInfo(chunkCount: writtenCount, referenceCount: 1, byteCount: byteCount, digest: digest.finalize())
  }
}
