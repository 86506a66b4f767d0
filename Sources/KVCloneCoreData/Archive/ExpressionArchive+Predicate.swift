import KVCloneModel

/// Archived predicates: of fetch requests, partial indexes, and the rules of values.
extension ExpressionArchive {
  /// Decodes the predicate of an archived object; nil if it is not supported.
  static func predicate(
    of node: KeyedArchive.Node, in archive: KeyedArchive
  ) throws(BinaryPropertyList.Malformed) -> QueryPredicate? {
    var reader = ExpressionArchive(archive)
    return try reader.predicate(node, level: 1)
  }

  private mutating func predicate(
    _ node: KeyedArchive.Node, level: Int
  ) throws(BinaryPropertyList.Malformed) -> QueryPredicate? {
    guard level <= Self.depth, case .object(let object) = node else { throw .init() }
    switch object.className {
    case "NSTruePredicate": return .constant(true)
    case "NSFalsePredicate": return .constant(false)
    case "NSComparisonPredicate": return try comparison(object, level: level)
    case "NSCompoundPredicate": return try compound(object, level: level)
    default: return nil
    }
  }

  private mutating func compound(
    _ object: KeyedArchive.Object, level: Int
  ) throws(BinaryPropertyList.Malformed) -> QueryPredicate? {
    var parts: [QueryPredicate] = []
    for node in try archive.items(of: try archive.field("NSSubpredicates", of: object)) ?? [] {
      guard let part = try predicate(node, level: level + 1) else { return nil }
      parts.append(part)
    }
    switch try archive.integer("NSCompoundPredicateType", of: object) ?? 0 {
    case 0: return parts.count == 1 ? .not(parts[0]) : nil
    case 1: return parts.count == 1 ? parts[0] : .and(parts)
    case 2: return parts.count == 1 ? parts[0] : .or(parts)
    default: return nil
    }
  }

  /// Operators by Core Data's numbers.
  private static let operators: [Int64: QueryComparison.Operator] = [
    0: .lessThan, 1: .lessThanOrEqual, 2: .greaterThan, 3: .greaterThanOrEqual, 4: .equal, 5: .notEqual, 6: .matches,
    7: .like, 8: .beginsWith, 9: .endsWith, 10: .in, 99: .contains, 100: .between,
  ]

  private mutating func comparison(
    _ object: KeyedArchive.Object, level: Int
  ) throws(BinaryPropertyList.Malformed) -> QueryPredicate? {
    guard case .object(let sign) = try archive.field("NSPredicateOperator", of: object),
      let number = try archive.integer("NSOperatorType", of: sign), var known = Self.operators[number]
    else { return nil }
    let left = try expression(try archive.field("NSLeftExpression", of: object), level: level + 1)
    let right = try expression(try archive.field("NSRightExpression", of: object), level: level + 1)
    guard case .value(let left) = left, case .value(let right) = right else { return nil }
    if case .boolean(true) = try archive.field("NSNegate", of: sign) {
      switch known {
      case .equal, .notEqual: known = .notEqual
      default: return nil
      }
    }
    let modifier: QueryComparison.Modifier
    switch try archive.integer("NSModifier", of: sign) ?? 0 {
    case 0: modifier = .direct
    case 1: modifier = .all
    case 2: modifier = .any
    default: return nil
    }
    guard let bits = UInt8(exactly: try archive.integer("NSOptions", of: sign) ?? 0), bits < 16 else { return nil }
    return .comparison(
      QueryComparison(left, known, right, modifier: modifier, options: QueryComparison.Options(rawValue: bits)))
  }
}
