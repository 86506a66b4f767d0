import Foundation
import KVCloneModel

extension ModelArchive {
  // MARK: Relationships

  mutating func relationship(
    _ object: KeyedArchive.Object, name: String, in owner: String
  ) throws(BinaryPropertyList.Malformed) -> RelationshipDescription {
    var destination = try archive.text("_NSDestinationEntityName", of: object)
    if destination == nil { destination = try entityName("NSDestinationEntity", of: object) }
    let maximum = Int(clamping: max(0, try archive.integer("NSMaxCount", of: object) ?? 0))
    var relationship =
      maximum == 1
      ? RelationshipDescription(name, toOne: destination ?? "")
      : RelationshipDescription(name, toMany: destination ?? "")
    relationship.isOptional = try flag("NSIsOptional", of: object)
    relationship.isTransient = try flag("NSIsTransient", of: object)
    relationship.isOrdered = maximum != 1 ? try flag("NSIsOrdered", of: object) : false
    relationship.minCount = Int(clamping: max(0, try archive.integer("NSMinCount", of: object) ?? 0))
    relationship.maxCount = maximum
    switch try archive.integer("NSDeleteRule", of: object) {
    case 0: relationship.deleteRule = .noAction
    case 2: relationship.deleteRule = .cascade
    case 3: relationship.deleteRule = .deny
    default: relationship.deleteRule = .nullify
    }
    if let inverse = try inverse(of: object) {
      relationship.inverseName = inverse.name
      relationship.inverseEntityName = inverse.entity == destination ? nil : inverse.entity
    }
    relationship.userInfo = try userInfo(of: object, in: owner)
    relationship.renamingIdentifier = try renaming(of: object, name: name)
    relationship.versionHashModifier = try archive.text("NSVersionHashModifier", of: object)
    return relationship
  }

  // MARK: Attributes

  private static let types: [Int64: AttributeType] = [
    0: .undefined, 100: .integer16, 200: .integer32, 300: .integer64, 400: .decimal, 500: .double, 600: .float,
    700: .string, 800: .boolean, 900: .date, 1000: .binary, 1100: .uuid, 1200: .uri, 1800: .transformable,
  ]
  /// Core Data's number of composite attributes.
  private static let compositeType: Int64 = 2100
  static let isComposite =
    "is a composite attribute, and its elements cannot be read from a compiled model"
  /// Flags of `NSFlagsKey`: the value may be in a file of its own; the history of deletions preserves it.
  private static let (storedExternally, preservedAfterDeletion): (Int64, Int64) = (4, 16)

  mutating func attribute(
    _ object: KeyedArchive.Object, name: String, in owner: String
  ) throws(BinaryPropertyList.Malformed) -> AttributeDescription {
    let number = try archive.integer("NSAttributeType", of: object) ?? 0
    let isTransient = try flag("NSIsTransient", of: object)
    if number == Self.compositeType { throw refuse(name, of: owner, Self.isComposite) }
    guard let type = Self.types[number] ?? (isTransient ? .undefined : nil) else {
      throw refuse(name, of: owner, "has the unknown attribute type \(number)")
    }
    var attribute = AttributeDescription(name, type)
    attribute.isOptional = try flag("NSIsOptional", of: object)
    // An attribute without a type is not stored.
    attribute.isTransient = isTransient || type == .undefined
    attribute.valueTransformerName = try archive.text("NSValueTransformerName", of: object)
    if type == .transformable {
      attribute.attributeValueClassName = try archive.text("NSAttributeValueClassName", of: object)
    }
    attribute.defaultValue = try defaultValue(of: object, type).flatMap { attribute.coerce($0) }
    let flags = try archive.integer("NSFlagsKey", of: object) ?? 0
    attribute.allowsExternalBinaryDataStorage = type == .binary && flags & Self.storedExternally != 0
    attribute.preservesValueInHistoryOnDeletion = flags & Self.preservedAfterDeletion != 0
    attribute.userInfo = try userInfo(of: object, in: owner)
    attribute.renamingIdentifier = try renaming(of: object, name: name)
    attribute.versionHashModifier = try archive.text("NSVersionHashModifier", of: object)
    try readBounds(of: object, &attribute, in: owner)
    let derivation = try archive.field("NSDerivationExpression", of: object)
    if case .object = derivation {
      attribute.derivationExpression = try ExpressionArchive.derivation(of: derivation, in: archive)
    }
    return attribute
  }

  private mutating func defaultValue(
    of object: KeyedArchive.Object, _ type: AttributeType
  ) throws(BinaryPropertyList.Malformed) -> AttributeValue? {
    let node = try archive.field("NSDefaultValue", of: object)
    switch node {
    case .null: return nil
    case .boolean(let flag): return type == .boolean ? .boolean(flag) : .integer(flag ? 1 : 0)
    case .integer(let number):
      return type == .date ? .date(Date(timeIntervalSinceReferenceDate: Double(number))) : .integer(number)
    case .real(let number): return .double(number)
    case .string(let text): return type == .uri ? .uri(text) : .string(text)
    case .data(let bytes): return type == .transformable ? .transformable(Data(bytes)) : .binary(Data(bytes))
    case .object: return try ExpressionArchive.value(of: node, in: archive)
    }
  }

  // MARK: Bounds of values

  /// Decodes bounds, which Xcode compiles to predicates: `SELF >= 1`, `length <= 64`, `SELF MATCHES "…"`.
  private mutating func readBounds(
    of object: KeyedArchive.Object, _ attribute: inout AttributeDescription, in owner: String
  ) throws(BinaryPropertyList.Malformed) {
    let nodes = try archive.items(of: try archive.field("NSValidationPredicates", of: object)) ?? []
    try count(nodes.count, of: owner)
    for node in nodes {
      guard case .comparison(let rule)? = try ExpressionArchive.predicate(of: node, in: archive),
        Self.take(rule, &attribute)
      else {
        omitted.insert("validation rules other than bounds")
        continue
      }
    }
  }

  /// Converts a rule to a bound of the attribute; returns false if it is none.
  private static func take(_ rule: QueryComparison, _ attribute: inout AttributeDescription) -> Bool {
    guard rule.modifier == .direct, case .constant(.value(let given)) = rule.right else { return false }
    let isLength: Bool
    switch rule.left {
    case .self: isLength = false
    case .keyPath(.self, ["length"]): isLength = true
    case .function(.length, [.self]): isLength = true
    default: return false
    }
    if rule.operator == .matches, !isLength, case .string(let pattern) = given {
      attribute.regularExpression = pattern
      return true
    }
    // Only texts have bounds of another type than their own: lengths.
    guard isLength == (attribute.boundType != attribute.type), let bound = attribute.boundType.coerce(given) else {
      return false
    }
    switch rule.operator {
    case .greaterThanOrEqual: attribute.minValue = bound
    case .lessThanOrEqual: attribute.maxValue = bound
    default: return false
    }
    return true
  }
}
