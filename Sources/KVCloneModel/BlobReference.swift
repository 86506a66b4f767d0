/// Points at a stored binary value above the inline size; a transaction of the same store reads its bytes.
///
/// Several objects may hold the same reference: blobs are immutable and counted.
@frozen
public struct BlobReference: Hashable, Sendable, Codable {
  /// The blob's serial in its store, from 1.
  public let id: UInt64
  /// The length of the value in bytes.
  public let byteCount: UInt64
  /// Whether the bytes are a transformable's archive, rather than a plain binary value.
  public let isTransformable: Bool

  /// Makes a reference; it is the caller's part that such a blob exists.
  @inlinable
  public init(id: UInt64, byteCount: UInt64, isTransformable: Bool = false) {
    self.id = id
    self.byteCount = byteCount
    self.isTransformable = isTransformable
  }
}
