public import Foundation
public import KVCloneModel

/// The value of a binary attribute, or of a transformable one as its transformer archived it.
///
/// Reading an object brings the bytes of a small value along; those of a large one stay in the store, where
/// ``ObjectReading/data(_:_:)`` and ``ObjectReading/readData(_:_:_:)`` read them.
public enum BinaryValue: Sendable, Hashable {
  /// Bytes that are at hand.
  case data(Data)
  /// Bytes that are in the store only.
  case stored(BlobReference)

  /// Creates a value from bytes in memory.
  public init(_ data: Data) { self = .data(data) }

  /// The bytes, where they are at hand.
  public var data: Data? {
    if case .data(let data) = self { return data }
    return nil
  }

  /// How many bytes there are.
  public var count: Int {
    switch self {
    case .data(let data): data.count
    case .stored(let reference): Int(clamping: reference.byteCount)
    }
  }
}

extension BinaryValue: AttributeConvertible {
  /// The bytes, or where they are.
  public init?(attributeValue: AttributeValue) {
    switch attributeValue {
    case .binary(let data), .transformable(let data): self = .data(data)
    case .blob(let reference): self = .stored(reference)
    default: return nil
    }
  }

  /// A binary value; see ``transformableValue`` for the attributes of the other type.
  public var attributeValue: AttributeValue {
    switch self {
    case .data(let data): .binary(data)
    case .stored(let reference): .blob(reference)
    }
  }

  /// The bytes as the archive of a transformable attribute.
  var transformableValue: AttributeValue {
    if case .data(let data) = self { return .transformable(data) }
    return attributeValue
  }
}
