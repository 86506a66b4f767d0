#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneModel

extension ManagedObject {
  /// Returns the decoded value of a transformable attribute; nil if the attribute is nil.
  ///
  /// Values above 1,024 bytes are not part of this copy: read them with ``ObjectReading/transformed(_:_:as:)``.
  ///
  /// - Throws: `unknownProperty`, `wrongType`, `unknownTransformer`, `transformFailed`.
  public func transformed<Value: Sendable>(_ attribute: String, as type: Value.Type = Value.self) throws(StoreError)
    -> Value?
  {
    guard let index = entity.attributeIndex[attribute] else { throw entity.unknownAttribute(attribute) }
    switch try value(attribute) {
    case nil: return nil
    case .transformable(let data):
      return try schema.transformers.decode(data, as: type, entity.attributes[index], entity)
    default:
      throw StoreError(
        .wrongType, "\(attribute) of \(name) is not a transformable value in memory; read it in a transaction",
        entity: entity.name, property: attribute, object: name)
    }
  }

  /// Sets a transformable attribute of this value. ``WriteTransaction/save(_:ifUnchanged:)->_`` writes it.
  ///
  /// - Throws: `unknownProperty`, `wrongType`, `unknownTransformer`, `transformFailed`.
  public mutating func setTransformed<Value: Sendable>(_ attribute: String, _ value: Value?) throws(StoreError) {
    guard let index = entity.attributeIndex[attribute] else { throw entity.unknownAttribute(attribute) }
    guard let value else {
      self[attribute] = nil
      return
    }
    self[attribute] = try schema.transformers.encode(value, entity.attributes[index], entity)
  }
}
