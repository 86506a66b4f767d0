import Foundation

/// The order of Swift's types and of what the store keeps of them.
enum StoreOrder {
  /// Whether the store orders the values of a type as Swift does: numbers, texts, dates, objects. A type of an app's own,
  /// an enum for example, may be ordered by code that the store does not have.
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
