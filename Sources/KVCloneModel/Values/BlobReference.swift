/// A reference to a blob: a stored binary value above the inline size. A transaction of the same store reads its bytes.
///
/// Several objects may contain the same reference, because blobs are immutable and reference-counted.
@frozen
public struct BlobReference: Hashable, Sendable, Codable {
  /// The blob's serial in its store, starting at 1.
  public let id: UInt64
  /// The length of the value in bytes.
  public let byteCount: UInt64
  /// Whether the bytes are the archive of a transformable attribute instead of a plain binary value.
  public let isTransformable: Bool

  /// Creates a reference. The caller ensures that the blob exists.
  @inlinable
  public init(id: UInt64, byteCount: UInt64, isTransformable: Bool = false) {
    self.id = id
    self.byteCount = byteCount
    self.isTransformable = isTransformable
  }
}
