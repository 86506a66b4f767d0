#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
import KVCloneModel

/// The value transformers of transformable attributes, by the transformer names in the model, like those of Core Data.
///
/// ```swift
/// var options = StoreOptions()
/// options.transformers.registerJSON("ColorTransformer", for: Color.self)
/// ```
///
/// A transformer only creates values of the type that it was registered for. Stored bytes therefore never decide which
/// type is created.
public struct ValueTransformerRegistry: Sendable {
  /// The transformer name of attributes that do not name one: Core Data's default.
  public static let defaultName = "NSSecureUnarchiveFromData"

  private struct Transformer<Value: Sendable>: Sendable {
    let encode: @Sendable (Value) throws -> Data
    let decode: @Sendable (Data) throws -> Value
  }

  /// By name, then by the type of the values.
  private var transformers: [String: [ObjectIdentifier: any Sendable]] = [:]

  /// Creates a registry without transformers.
  ///
  /// A store opens even if transformers of its model are missing. Transformable attributes are then available as bytes
  /// only.
  public init() {}

  /// Registers a transformer. It replaces a transformer with the same name and type.
  ///
  /// - Parameters:
  ///   - name: the transformer name that attributes of the model use.
  ///   - type: the Swift type of the values. One name can have transformers for several types.
  ///   - encode: converts a value to bytes.
  ///   - decode: converts bytes to a value.
  public mutating func register<Value: Sendable>(
    _ name: String = defaultName, for type: Value.Type = Value.self,
    encode: @escaping @Sendable (Value) throws -> Data, decode: @escaping @Sendable (Data) throws -> Value
  ) {
    transformers[name, default: [:]][ObjectIdentifier(type)] = Transformer(encode: encode, decode: decode)
  }

  /// Registers a transformer that stores values as JSON with sorted keys. Equal values therefore have equal bytes.
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
        .wrongType,
        "\(place) is \(attribute.description.type.rawValue), not transformable; set or read it as a plain value",
        entity: entity.name,
        property: attribute.path)
    }
    let name = attribute.description.valueTransformerName ?? Self.defaultName
    guard let named = transformers[name] else {
      throw StoreError(
        .unknownTransformer, "\(place) needs the transformer \(name); register it in StoreOptions.transformers",
        entity: entity.name, property: attribute.path)
    }
    guard let transformer = named[ObjectIdentifier(Value.self)] as? Transformer<Value> else {
      throw StoreError(
        .unknownTransformer,
        "the transformer \(name) of \(place) is not registered for \(Value.self); register it for that type, or use "
          + "another type", entity: entity.name, property: attribute.path)
    }
    return transformer
  }

  /// A transformer's error may contain the value, so only its type is shown.
  private func failure(_ error: any Error, _ attribute: CompiledAttribute, _ entity: CompiledEntity) -> StoreError {
    StoreError(
      .transformFailed,
      "the transformer of \(entity.name).\(attribute.path) cannot convert the value: it threw \(type(of: error))",
      entity: entity.name, property: attribute.path)
  }
}
