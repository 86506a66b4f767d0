import Foundation

/// The order of Swift types compared to that of their stored values.
enum StoreOrder {
  /// Whether the store orders the values of a type like Swift: numbers, texts, dates, objects. An app's own type, such
  /// as an enum, may be ordered by code that the store does not have.
  static func isKnown(of type: Any.Type) -> Bool {
    if let optional = type as? any OptionalType.Type { return isKnown(of: optional.wrapped) }
    switch type {
    case is any BinaryInteger.Type, is any BinaryFloatingPoint.Type, is Decimal.Type: return true
    case is any StringProtocol.Type, is Character.Type: return true
    case is Date.Type, is UUID.Type, is any AnyTypedObjectID.Type: return true
    default: return false
    }
  }
}
