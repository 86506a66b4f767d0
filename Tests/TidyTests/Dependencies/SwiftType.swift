/// The inferred type of an expression, as far as the resolver can follow it.
indirect enum SwiftType {
  /// A type that was not found out. Its members are looked up by name alone.
  case unknown
  /// A type of another package, without further knowledge.
  case external
  /// An element of ``SourceProgram/types`` with its generic arguments.
  case nominal(Int, [SwiftType])
  /// The name of a type as a value.
  case meta(SwiftType)
  case optional(SwiftType)
  case tuple([(label: Int32, type: SwiftType)])
  case function([SwiftType], SwiftType)
  /// A generic parameter, an associated type or `Self`, with its bound.
  case parameter(Int32, SwiftType)

  var isUnknown: Bool { if case .unknown = self { true } else { false } }

  /// Without the layers of optional.
  var unwrapped: SwiftType { if case .optional(let type) = self { type.unwrapped } else { self } }

  /// The type with generic parameters replaced.
  func replacing(_ values: [(name: Int32, type: SwiftType)]) -> SwiftType {
    if values.isEmpty { return self }
    switch self {
    case .unknown, .external: return self
    case .nominal(let index, let arguments):
      return arguments.isEmpty ? self : .nominal(index, arguments.map { $0.replacing(values) })
    case .meta(let type): return .meta(type.replacing(values))
    case .optional(let type): return .optional(type.replacing(values))
    case .tuple(let elements): return .tuple(elements.map { ($0.label, $0.type.replacing(values)) })
    case .function(let parameters, let result):
      return .function(parameters.map { $0.replacing(values) }, result.replacing(values))
    case .parameter(let name, _): return values.first { $0.name == name }?.type ?? self
    }
  }

  /// Finds what generic parameters in this type stand for if a value of `type` is passed.
  func match(_ type: SwiftType, _ values: inout [(name: Int32, type: SwiftType)]) {
    switch (self, type) {
    case (_, .unknown), (.external, _): return
    case (.parameter(let name, _), _):
      if !values.contains(where: { $0.name == name }) { values.append((name, type)) }
    case (.optional(let inner), .optional(let other)): inner.match(other, &values)
    case (.optional(let inner), _): inner.match(type, &values)
    case (.meta(let inner), .meta(let other)): inner.match(other, &values)
    case (.nominal(let index, let inner), .nominal(let other, let outer)) where index == other:
      for (inner, outer) in zip(inner, outer) { inner.match(outer, &values) }
    case (.function(let inner, let result), .function(let outer, let otherResult)):
      for (inner, outer) in zip(inner, outer) { inner.match(outer, &values) }
      result.match(otherResult, &values)
    default: return
    }
  }
}
