public import Foundation
public import KVCloneModel

/// The value of a binary attribute, or of a transformable attribute as encoded bytes.
///
/// Reading an object loads the bytes of a small value. Those of a blob stay in the store; read them with
/// ``ObjectReading/data(_:_:)`` or ``ObjectReading/readData(_:_:_:)``.
public enum BinaryValue: Sendable, Hashable {
  /// Bytes in memory.
  case data(Data)
  /// A reference to bytes in the store.
  case stored(BlobReference)

  /// Creates a value from bytes in memory.
  public init(_ data: Data) { self = .data(data) }

  /// The bytes if they are in memory, or nil.
  public var data: Data? {
    if case .data(let data) = self { return data }
    return nil
  }

  /// The number of bytes.
  public var count: Int {
    switch self {
    case .data(let data): data.count
    case .stored(let reference): Int(clamping: reference.byteCount)
    }
  }
}

extension BinaryValue: AttributeConvertible {
  /// Creates a value from stored bytes or a blob reference; nil for other types.
  public init?(attributeValue: AttributeValue) {
    switch attributeValue {
    case .binary(let data), .transformable(let data): self = .data(data)
    case .blob(let reference): self = .stored(reference)
    default: return nil
    }
  }

  /// The value for a binary attribute.
  public var attributeValue: AttributeValue {
    switch self {
    case .data(let data): .binary(data)
    case .stored(let reference): .blob(reference)
    }
  }

  /// The bytes as the archive of a transformable attribute.
  package var transformableValue: AttributeValue {
    if case .data(let data) = self { return .transformable(data) }
    return attributeValue
  }
}
