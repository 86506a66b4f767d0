#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
public import KVCloneModel

extension ObjectReading where Self: ~Copyable {
  /// Returns all bytes of a binary or transformable attribute in memory, or nil if the attribute is nil.
  ///
  /// - Throws: `wrongType` for attributes of other types.
  public borrowing func data(_ id: ObjectID, _ attribute: String) throws(StoreError) -> Data? {
    try _withSession { (session) throws(StoreError) in
      var data = Data()
      let count = try BlobValues.read(id, attribute, in: session) { (bytes) throws(StoreError) in
        bytes.withUnsafeBytes { data.append(contentsOf: $0) }
      }
      return count == nil ? nil : data
    }
  }

  /// Reads a binary or transformable attribute in chunks of at most 1 MiB, with constant memory use.
  ///
  /// - Parameters:
  ///   - id: the object.
  ///   - attribute: the name of the attribute.
  ///   - body: receives the chunks in order. Throwing ends the read.
  /// - Returns: the number of bytes, or nil if the attribute is nil.
  /// - Throws: the error of `body`; `wrongType` for attributes of other types.
  public borrowing func readData(
    _ id: ObjectID, _ attribute: String, _ body: (borrowing RawSpan) throws -> Void
  ) throws -> UInt64? {
    var failure: (any Error)?
    do {
      return try _withSession { (session) throws(StoreError) in
        try BlobValues.read(id, attribute, in: session) { (bytes) throws(StoreError) in
          do {
            try body(bytes)
          } catch {
            failure = error
            throw StoreError(.io, "the closure that reads a binary value threw an error")
          }
        }
      }
    } catch {
      throw failure ?? error
    }
  }
}

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
      let compiled = try BlobValues.attribute(attribute, entity, in: session)
      return try session.schema.transformers.decode(data, as: type, compiled, entity)
    }
  }
}
