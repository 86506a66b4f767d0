import Foundation
import KVCloneModel

/// Decodes the expressions that Xcode archives in a mapping model.
///
/// Unsupported content of an archive becomes `.unsupported`, with a text that shows it.
struct ExpressionArchive {
  var archive: KeyedArchive

  /// Expression types by Core Data's numbers.
  private enum Kind {
    static let constant: Int64 = 0
    static let evaluatedObject: Int64 = 1
    static let variable: Int64 = 2
    static let keyPath: Int64 = 3
    static let function: Int64 = 4
    static let keyPathSpecifier: Int64 = 10
    static let aggregate: Int64 = 14
    static let fetch: Int64 = 50
  }

  /// The maximum nesting of expressions: less than that of a predicate, so that decoded ones can be used.
  static let depth = 64

  private init(_ bytes: [UInt8]) throws(BinaryPropertyList.Malformed) {
    archive = try KeyedArchive(bytes)
  }

  /// Decodes the expression in an archive.
  static func expression(in bytes: [UInt8]) throws(BinaryPropertyList.Malformed) -> MappingExpression {
    var reader = try ExpressionArchive(bytes)
    let root = try reader.archive.rootNode()
    return try reader.expression(root, level: 1)
  }

  init(_ archive: KeyedArchive) {
    self.archive = archive
  }

  /// Decodes a derivation expression to the text of a model's file: `items.@count`, `canonical:(name)`.
  static func derivation(
    of node: KeyedArchive.Node, in archive: KeyedArchive
  ) throws(BinaryPropertyList.Malformed) -> String {
    var reader = ExpressionArchive(archive)
    let expression = try reader.expression(node, level: 1)
    guard case .value(let value) = expression, let text = derivation(value) else { return expression.description }
    return text
  }

  /// Xcode's form of a derived attribute's expression; nil for other expressions. Core Data archives `items.@count` as
  /// a call of `count:`, so both get the same form.
  private static func derivation(_ expression: QueryExpression) -> String? {
    guard case .function(let function, let arguments) = expression else { return nil }
    if function == .now { return "now()" }
    guard arguments.count == 1, case .keyPath(.self, let names) = arguments[0] else { return nil }
    let path = names.joined(separator: ".")
    switch function {
    case .count: return path + ".@count"
    case .sum: return path + ".@sum"
    case .average: return path + ".@avg"
    case .min: return path + ".@min"
    case .max: return path + ".@max"
    case .canonical, .lowercase, .uppercase: return "\(function.rawValue)(\(path))"
    default: return nil
    }
  }

  /// The value of an archived object; nil if its class is not one of values.
  static func value(
    of node: KeyedArchive.Node, in archive: KeyedArchive
  ) throws(BinaryPropertyList.Malformed) -> AttributeValue? {
    var reader = ExpressionArchive(archive)
    guard case .object(let object) = node else { return nil }
    return try reader.value(object)
  }

  /// The source objects of an archived fetch, and its entity.
  static func sourceObjects(
    in bytes: [UInt8]
  ) throws(BinaryPropertyList.Malformed) -> (entity: String?, objects: EntityMapping.SourceObjects) {
    var reader = try ExpressionArchive(bytes)
    let root = try reader.archive.rootNode()
    return try reader.sourceObjects(root)
  }

  /// The texts of an archived dictionary, by name; and whether it contains anything else.
  static func userInfo(in bytes: [UInt8]) throws(BinaryPropertyList.Malformed) -> (
    texts: [String: String], isWhole: Bool
  ) {
    var archive = try KeyedArchive(bytes)
    guard case .object(let object) = try archive.rootNode(),
      object.className == "NSDictionary" || object.className == "NSMutableDictionary",
      let keys = try archive.members("NS.keys", of: object), let values = try archive.members("NS.objects", of: object),
      keys.count == values.count
    else { throw .init() }
    var texts: [String: String] = [:]
    var isWhole = true
    for (key, value) in zip(keys, values) {
      if case .string(let key) = key, case .string(let value) = value { texts[key] = value } else { isWhole = false }
    }
    return (texts, isWhole)
  }

  // MARK: Expressions

  mutating func expression(
    _ node: KeyedArchive.Node, level: Int
  ) throws(BinaryPropertyList.Malformed) -> MappingExpression {
    guard level <= Self.depth, case .object(let object) = node else { throw .init() }
    guard let kind = try archive.integer("NSExpressionType", of: object) else { throw .init() }
    switch kind {
    case Kind.constant:
      if let name = try archive.text("NSConstantValueClassName", of: object) { return .unsupported(name) }
      let value = try archive.field("NSConstantValue", of: object)
      return try constant(value, level: level).map { .value(.constant($0)) } ?? .unsupported("a constant")
    case Kind.evaluatedObject: return .value(.self)
    case Kind.variable:
      guard let name = try archive.text("NSVariable", of: object) else { throw .init() }
      return Self.isName(name) ? .value(.variable(name)) : .unsupported("a variable")
    case Kind.keyPath, Kind.function:
      guard let path = try archive.text("NSKeyPath", of: object) else { return try function(object, level: level) }
      return Self.value(at: path, of: .self) ?? Self.unsupported(path)
    case Kind.aggregate: return try aggregate(try archive.field("NSCollection", of: object), level: level)
    case Kind.fetch: return .unsupported("FETCH(…)")
    default: return .unsupported(object.className)
    }
  }

  private mutating func aggregate(
    _ node: KeyedArchive.Node, level: Int
  ) throws(BinaryPropertyList.Malformed) -> MappingExpression {
    guard let nodes = try archive.items(of: node) else { throw .init() }
    var items: [MappingExpression] = []
    for node in nodes { items.append(try expression(node, level: level + 1)) }
    if let values = Self.values(items) { return .value(.aggregate(values)) }
    return Self.unsupported("{\(items.map(\.description).joined(separator: ", "))}")
  }

  private mutating func function(
    _ object: KeyedArchive.Object, level: Int
  ) throws(BinaryPropertyList.Malformed) -> MappingExpression {
    guard let selector = try archive.text("NSSelectorName", of: object) else { throw .init() }
    let operand = try expression(try archive.field("NSOperand", of: object), level: level + 1)
    let list = try archive.field("NSArguments", of: object)
    var arguments: [MappingExpression] = []
    for node in try archive.items(of: list) ?? [] { arguments.append(try argument(node, level: level + 1)) }
    return Self.call(selector, of: operand, arguments)
      ?? Self.unsupported(MappingExpression.call(operand.description, selector, arguments.map(\.description)))
  }

  /// An unsupported expression. Its text is shown to users, and limited, because the texts of nested parts would add
  /// up.
  private static func unsupported(_ text: String) -> MappingExpression {
    .unsupported(text.utf8.count <= 1_000 ? text : String(text.prefix(1_000)) + "…")
  }

  /// Decodes an argument; the key path of `valueForKeyPath:` is a text there, not a value of the object.
  private mutating func argument(
    _ node: KeyedArchive.Node, level: Int
  ) throws(BinaryPropertyList.Malformed) -> MappingExpression {
    if case .object(let object) = node,
      try archive.integer("NSExpressionType", of: object) == Kind.keyPathSpecifier,
      let path = try archive.text("NSKeyPath", of: object)
    {
      return .constant(.string(path))
    }
    return try expression(node, level: level)
  }

  /// Decodes a supported call; nil for others.
  private static func call(
    _ selector: String, of operand: MappingExpression, _ arguments: [MappingExpression]
  ) -> MappingExpression? {
    switch (operand, selector) {
    case (.value(.variable("manager")), MappingExpression.byMapping) where arguments.count == 2:
      return text(arguments[0]).map { .destinationInstances(mapping: $0, of: arguments[1]) }
    case (.value(.variable("manager")), MappingExpression.byRelationship) where arguments.count == 2:
      return text(arguments[0]).map { .destinationInstancesForRelationship($0, of: arguments[1]) }
    case (.value(.variable("entityPolicy")), _):
      return arguments.count == selector.utf8.count { $0 == UInt8(ascii: ":") } ? .policy(selector, arguments) : nil
    case (.value(let base), "valueForKeyPath:"), (.value(let base), "valueForKey:"):
      guard arguments.count == 1, let path = text(arguments[0]) else { return nil }
      return value(at: path, of: base)
    case (.unsupported(utilities), "castObject:toType:"):
      guard let values = values(arguments), values.count == 2, let name = text(arguments[1]) else { return nil }
      return (try? QueryExpression(format: "CAST(%@, %@)", .expression(values[0]), .string(name))).map { .value($0) }
    case (.unsupported(utilities), _):
      guard let function = QueryFunction(name: selector) else { return nil }
      return called(function, arguments)
    default:
      // Methods of the value itself that are also functions.
      guard let function = methods[selector], arguments.isEmpty else { return nil }
      return called(function, [operand])
    }
  }

  /// The class of the predicate functions.
  private static let utilities = "_NSPredicateUtilities"

  private static let methods: [String: QueryFunction] = [
    "uppercaseString": .uppercase, "lowercaseString": .lowercase,
  ]

  private static func called(_ function: QueryFunction, _ arguments: [MappingExpression]) -> MappingExpression? {
    guard arguments.count == function.argumentCount, let values = values(arguments) else { return nil }
    return .value(.function(function, values))
  }

  private static func value(at path: String, of base: QueryExpression) -> MappingExpression? {
    (try? QueryExpression(format: "%@.%K", .expression(base), .string(path))).map { .value($0) }
  }

  /// The expressions as values of the predicate language; nil if one of them is not.
  private static func values(_ expressions: [MappingExpression]) -> [QueryExpression]? {
    let values = expressions.compactMap { expression -> QueryExpression? in
      guard case .value(let value) = expression else { return nil }
      return value
    }
    return values.count == expressions.count ? values : nil
  }

  private static func text(_ expression: MappingExpression) -> String? {
    guard case .value(.constant(.value(.string(let text)))) = expression else { return nil }
    return text
  }

  private static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return false }
    return text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
  }

  // MARK: Constants

  private mutating func constant(
    _ node: KeyedArchive.Node, level: Int
  ) throws(BinaryPropertyList.Malformed) -> QueryConstant? {
    guard level <= Self.depth else { throw .init() }
    switch node {
    case .null: return .null
    case .boolean(let flag): return .value(.boolean(flag))
    case .integer(let number): return .value(.integer(number))
    case .real(let number): return .value(.double(number))
    case .string(let text): return .value(.string(text))
    case .data(let bytes): return .value(.binary(Data(bytes)))
    case .object(let object):
      if let nodes = try archive.items(of: node) {
        var items: [QueryConstant] = []
        for node in nodes {
          guard let item = try constant(node, level: level + 1) else { return nil }
          items.append(item)
        }
        return .list(items)
      }
      return try value(object).map { .value($0) }
    }
  }

  private mutating func value(_ object: KeyedArchive.Object) throws(BinaryPropertyList.Malformed) -> AttributeValue? {
    switch object.className {
    case "NSDate":
      guard case .real(let seconds) = try archive.field("NS.time", of: object), seconds.isFinite else { return nil }
      return .date(Date(timeIntervalSinceReferenceDate: seconds))
    case "NSData", "NSMutableData":
      guard case .data(let bytes) = try archive.field("NS.data", of: object) else { return nil }
      return .binary(Data(bytes))
    case "NSUUID":
      guard case .data(let bytes) = try archive.field("NS.uuidbytes", of: object), bytes.count == 16 else { return nil }
      return .uuid(UUID(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }))
    // Xcode archives zeros as an object of this class.
    case "NSDecimalNumber", "NSDecimalNumberPlaceholder": return try decimal(object).map { .decimal($0) }
    default: return nil
    }
  }

  /// Decodes a decimal number: up to eight 16-bit digits, least significant first, and a power of ten.
  private mutating func decimal(_ object: KeyedArchive.Object) throws(BinaryPropertyList.Malformed) -> Decimal? {
    guard case .data(let bytes) = try archive.field("NS.mantissa", of: object), bytes.count == 16,
      let length = try archive.integer("NS.length", of: object), (0...8).contains(length),
      let exponent = try archive.integer("NS.exponent", of: object), (-128...127).contains(exponent),
      case .boolean(let isNegative) = try archive.field("NS.negative", of: object)
    else { return nil }
    // 1 is the byte order of every machine that Xcode runs on.
    guard try archive.integer("NS.mantissa.bo", of: object) == 1 else { return nil }
    var mantissa = Decimal(0)
    for place in (0..<Int(length)).reversed() {
      mantissa = mantissa * 65_536 + Decimal(UInt16(bytes[2 * place]) | UInt16(bytes[2 * place + 1]) << 8)
    }
    // NaN is encoded as no digits and a sign.
    if length == 0 && isNegative { return .nan }
    let result = Decimal(sign: isNegative ? .minus : .plus, exponent: Int(exponent), significand: mantissa)
    return result.isNaN ? nil : result
  }

  // MARK: Source objects

  private mutating func sourceObjects(
    _ node: KeyedArchive.Node
  ) throws(BinaryPropertyList.Malformed) -> (entity: String?, objects: EntityMapping.SourceObjects) {
    guard case .object(let object) = node else { throw .init() }
    guard try archive.integer("NSExpressionType", of: object) == Kind.fetch else {
      return (nil, .unsupported(try expression(node, level: 1).description))
    }
    if case .boolean(true) = try archive.field("NSCountOnlyFlag", of: object) {
      return (nil, .unsupported("a FETCH that counts"))
    }
    let request = try archive.field("NSFRExpression", of: object)
    guard case .object(let call) = request, try archive.integer("NSExpressionType", of: call) == Kind.function,
      case .value(.variable("manager")) = try expression(try archive.field("NSOperand", of: call), level: 2),
      try archive.text("NSSelectorName", of: call) == Self.fetchSelector,
      let arguments = try archive.items(of: try archive.field("NSArguments", of: call)), arguments.count == 2,
      let entity = Self.text(try expression(arguments[0], level: 2)),
      let format = Self.text(try expression(arguments[1], level: 2))
    else { return (nil, .unsupported("FETCH(\(try expression(request, level: 2)))")) }
    return (entity, Self.sourceObjects(format: format))
  }

  /// The objects that match a predicate in the format language.
  static func sourceObjects(format: String) -> EntityMapping.SourceObjects {
    guard let predicate = try? QueryPredicate(format: format, arguments: []) else { return .unsupported(format) }
    return predicate == .constant(true) ? .all : .matching(predicate)
  }

  private static let fetchSelector = "fetchRequestForSourceEntityNamed:predicateString:"
}
