#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
public import KVCloneModel

/// Transformable attributes as values of Swift types, by the store's ``StoreOptions/transformers``.
extension ObjectReading where Self: ~Copyable {
  /// Returns the decoded value of a transformable attribute of any size; nil if the attribute is nil.
  ///
  /// - Throws: `unknownProperty`; `wrongType` for attributes of other types; `unknownTransformer` if no transformer is
  ///   registered for the attribute and `type`; `transformFailed` if the transformer cannot decode the bytes.
  public borrowing func transformed<Value: Sendable>(
    _ id: ObjectID, _ attribute: String, as type: Value.Type = Value.self
  ) throws(StoreError) -> Value? {
    guard let data = try data(id, attribute) else { return nil }
    return try _withSession { (session) throws(StoreError) in
      let entity = try session.entity(of: id)
      let compiled = try session.binaryAttribute(attribute, entity)
      return try session.schema.transformers.decode(data, as: type, compiled, entity)
    }
  }
}

extension WriteTransaction {
  /// Encodes a value with the attribute's transformer and sets a transformable attribute; nil clears it.
  ///
  /// - Throws: the errors of ``ObjectReading/transformed(_:_:as:)``; `transformFailed` if the transformer cannot encode
  ///   the value.
  public mutating func setTransformed<Value: Sendable>(_ id: ObjectID, _ attribute: String, _ value: Value?)
    throws(StoreError)
  {
    let encoded = try _withSession { (session) throws(StoreError) -> AttributeValue? in
      let entity = try session.entity(of: id)
      let compiled = try session.binaryAttribute(attribute, entity)
      guard let value else { return nil }
      return try session.schema.transformers.encode(value, compiled, entity)
    }
    try set(id, attribute, encoded)
  }
}
