#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
import KVCloneModel

/// How values of transformable attributes become bytes and come back: Core Data's value transformers, by the names that a
/// model gives them.
///
/// ```swift
/// var options = StoreOptions()
/// options.transformers.registerJSON("ColorTransformer", for: Color.self)
/// ```
///
/// A transformer makes values of the one type that it was registered for, so that bytes never decide what is made of them.
public struct ValueTransformerRegistry: Sendable {
  /// The name of attributes that give none: Core Data's default.
  public static let defaultName = "NSSecureUnarchiveFromData"

  private struct Transformer<Value: Sendable>: Sendable {
    let encode: @Sendable (Value) throws -> Data
    let decode: @Sendable (Data) throws -> Value
  }

  /// By name, then by the type of the values.
  private var transformers: [String: [ObjectIdentifier: any Sendable]] = [:]

  /// No transformers. A store that meets none of its model's opens nevertheless, and hands bytes out as they are.
  public init() {}

  /// Registers a transformer; one of the same name for the same type is replaced.
  ///
  /// - Parameters:
  ///   - name: the name that attributes of the model give.
  ///   - type: what values are in Swift; one name may serve several types.
  ///   - encode: makes bytes of a value.
  ///   - decode: makes the value of its bytes.
  public mutating func register<Value: Sendable>(
    _ name: String = defaultName, for type: Value.Type = Value.self,
    encode: @escaping @Sendable (Value) throws -> Data, decode: @escaping @Sendable (Data) throws -> Value
  ) {
    transformers[name, default: [:]][ObjectIdentifier(type)] = Transformer(encode: encode, decode: decode)
  }

  /// Registers a transformer that keeps values as JSON, with sorted keys, so that equal values have equal bytes.
  public mutating func registerJSON<Value: Codable & Sendable>(
    _ name: String = defaultName, for type: Value.Type = Value.self
  ) {
    register(
      name, for: type,
      encode: { value in
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return try encoder.encode(value)
      }, decode: { try JSONDecoder().decode(type, from: $0) })
  }

  /// - Throws: `wrongType`, `unknownTransformer`, `transformFailed`.
  func encode<Value: Sendable>(_ value: Value, _ attribute: CompiledAttribute, _ entity: CompiledEntity)
    throws(StoreError) -> AttributeValue
  {
    let transformer: Transformer<Value> = try self.transformer(attribute, entity)
    do { return .transformable(try transformer.encode(value)) } catch { throw failure(error, attribute, entity) }
  }

  /// - Throws: `wrongType`, `unknownTransformer`, `transformFailed`.
  func decode<Value: Sendable>(
    _ data: Data, as type: Value.Type, _ attribute: CompiledAttribute, _ entity: CompiledEntity
  ) throws(StoreError) -> Value {
    let transformer: Transformer<Value> = try self.transformer(attribute, entity)
    do { return try transformer.decode(data) } catch { throw failure(error, attribute, entity) }
  }

  private func transformer<Value: Sendable>(_ attribute: CompiledAttribute, _ entity: CompiledEntity)
    throws(StoreError) -> Transformer<Value>
  {
    let place = "\(entity.name).\(attribute.path)"
    guard attribute.description.type == .transformable else {
      throw StoreError(
        .wrongType, "\(place) is \(attribute.description.type.rawValue), and not transformable", entity: entity.name,
        property: attribute.path)
    }
    let name = attribute.description.valueTransformerName ?? Self.defaultName
    guard let named = transformers[name] else {
      throw StoreError(
        .unknownTransformer, "\(place) needs the transformer \(name); register it in the store's options",
        entity: entity.name, property: attribute.path)
    }
    guard let transformer = named[ObjectIdentifier(Value.self)] as? Transformer<Value> else {
      throw StoreError(
        .unknownTransformer,
        "the transformer \(name) of \(place) is not registered for \(Value.self); register it for that type, or ask for "
          + "another", entity: entity.name, property: attribute.path)
    }
    return transformer
  }

  /// What a transformer throws may tell the value, so only its type is told.
  private func failure(_ error: any Error, _ attribute: CompiledAttribute, _ entity: CompiledEntity) -> StoreError {
    StoreError(
      .transformFailed,
      "the transformer of \(entity.name).\(attribute.path) cannot do with the value: \(type(of: error))",
      entity: entity.name, property: attribute.path)
  }
}
