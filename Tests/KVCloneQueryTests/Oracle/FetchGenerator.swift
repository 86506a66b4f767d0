import Foundation
import KVClone
import KVCloneTestSupport

/// The kind of a term. Numbers have three kinds, because the sum of a double and a decimal is not defined.
enum FetchKind: Hashable {
  case integer, double, decimal, flag, text, date, uuid, bytes, archive
  case composite(String)
  case object(String)

  init?(_ attribute: AttributeDescription) {
    switch attribute.type {
    case .integer16, .integer32, .integer64: self = .integer
    case .double, .float: self = .double
    case .decimal: self = .decimal
    case .boolean: self = .flag
    case .string, .uri: self = .text
    case .date: self = .date
    case .uuid: self = .uuid
    case .binary: self = .bytes
    case .transformable: self = .archive
    case .composite: self = .composite(attribute.compositeName ?? "")
    case .undefined: return nil
    }
  }

  static let numbers: [FetchKind] = [.integer, .integer, .double, .decimal, .flag]
}

/// The starting point of a key path: the object of the request, or the current member of a subquery.
struct FetchPlace {
  let variable: String?
  let entity: String
}

/// Random predicates that are type-correct by construction.
struct FetchGenerator {
  var random: SeededGenerator
  let graph: StoreOracle

  mutating func pick<Element>(_ elements: [Element]) -> Element { elements[random.below(elements.count)] }

  /// Returns a predicate about an entity's objects.
  mutating func predicate(_ entity: String) -> OraclePredicate {
    predicate([FetchPlace(variable: nil, entity: entity)], depth: 2)
  }

  /// - Parameter depth: the remaining depth for nested terms.
  mutating func predicate(_ places: [FetchPlace], depth: Int) -> OraclePredicate {
    switch random.below(12) {
    case 0: return .and((0...1 + random.below(2)).map { _ in predicate(places, depth: depth - 1) })
    case 1: return .or((0...1 + random.below(2)).map { _ in predicate(places, depth: depth - 1) })
    case 2: return .not(predicate(places, depth: depth - 1))
    case 3 where random.chance(in: 4): return .constant(random.chance(in: 2))
    default: return comparison(places, depth: depth)
    }
  }

  // MARK: Comparisons

  private mutating func comparison(_ places: [FetchPlace], depth: Int) -> OraclePredicate {
    // A quantifier only changes the left side, which becomes a list.
    let modifier = random.chance(in: 4) ? pick(["ANY", "ALL", "NONE", "SOME"]) : ""
    let isMany = !modifier.isEmpty
    for _ in 0..<20 {
      let kind = anyKind()
      guard let left = isMany ? list(kind, places, depth) : term(kind, places, depth) else { continue }
      let made = comparison(modifier == "SOME" ? "ANY" : modifier, left, kind, isMany: isMany, places, depth)
      if let made { return made }
    }
    return .comparison("", .path(nil, []), "!=", "", .constant(nil))
  }

  private mutating func anyKind() -> FetchKind {
    switch random.below(20) {
    case 0...6: pick(FetchKind.numbers)
    case 7...12: .text
    case 13, 14: .date
    case 15: .uuid
    case 16: pick([.bytes, .archive])
    case 17: .composite(pick(["Place", "Geo"]))
    default: .object(pick(["Thing", "Thing", "Tag", "Group"]))
    }
  }

  private mutating func comparison(
    _ modifier: String, _ left: OracleTerm, _ kind: FetchKind, isMany: Bool, _ places: [FetchPlace], _ depth: Int
  ) -> OraclePredicate? {
    let options = kind == .text && random.chance(in: 2) ? pick(["c", "d", "cd", "n"]) : ""
    if random.chance(in: 10) { return .comparison(modifier, left, pick(["==", "!="]), options, .constant(nil)) }
    if random.chance(in: 6) { return membership(modifier, left, kind, options, places, depth) }
    if kind == .text, random.chance(in: 2) { return text(modifier, left, options, places, depth) }
    let other = FetchKind.numbers.contains(kind) ? pick(FetchKind.numbers) : kind
    if isOrdered(kind), random.chance(in: 7) {
      guard let low = term(other, places, depth - 1), let high = term(other, places, depth - 1) else { return nil }
      return .comparison(modifier, left, "BETWEEN", "", .aggregate([low, high]))
    }
    guard let right = term(other, places, depth - 1) else { return nil }
    let signs = isOrdered(kind) ? ["==", "!=", "<", "<=", ">", ">="] : ["==", "!="]
    return .comparison(modifier, left, pick(signs), options, right)
  }

  private func isOrdered(_ kind: FetchKind) -> Bool {
    switch kind {
    case .composite, .object, .archive: false
    default: true
    }
  }

  private mutating func text(
    _ modifier: String, _ left: OracleTerm, _ options: String, _ places: [FetchPlace], _ depth: Int
  ) -> OraclePredicate? {
    switch random.below(5) {
    case 0: return .comparison(modifier, left, "LIKE", options, .constant(.string(wildcards())))
    case 1: return .comparison(modifier, left, "MATCHES", options, .constant(.string(expression())))
    case 2:
      guard let right = term(.text, places, depth - 1) else { return nil }
      return .comparison(modifier, left, "IN", options, right)
    default:
      guard let right = term(.text, places, depth - 1) else { return nil }
      return .comparison(modifier, left, pick(["CONTAINS", "BEGINSWITH", "ENDSWITH"]), options, right)
    }
  }

  private mutating func wildcards() -> String {
    (0..<random.below(5)).map { _ in
      random.chance(in: 2) ? pick(["*", "?", "*", "\\*", "\\?"]) : pick(FetchPool.letters)
    }.joined()
  }

  private mutating func expression() -> String {
    (0..<random.below(4)).map { _ in
      pick(["a", "b", "A", ".", ".", "[ab]", "[AEe]", "é", "e"]) + pick(["", "", "*", "+", "?"])
    }.joined()
  }

  private mutating func membership(
    _ modifier: String, _ left: OracleTerm, _ kind: FetchKind, _ options: String, _ places: [FetchPlace], _ depth: Int
  ) -> OraclePredicate? {
    let other = FetchKind.numbers.contains(kind) ? pick(FetchKind.numbers) : kind
    var right: OracleTerm?
    if random.chance(in: 2) {
      var parts = (0..<1 + random.below(4)).map { _ in constant(other) }
      if random.chance(in: 3) { parts.append(.constant(nil)) }
      if random.chance(in: 3), let part = term(other, places, depth - 1) { parts.append(part) }
      right = .aggregate(parts)
    } else {
      right = list(other, places, depth - 1)
    }
    guard let right else { return nil }
    // Lists are also tested by CONTAINS; with ANY, that would be a different predicate.
    if modifier.isEmpty, random.chance(in: 2) { return .comparison("", right, "CONTAINS", options, left) }
    return .comparison(modifier, left, "IN", options, right)
  }

  // MARK: Constants

  mutating func constant(_ kind: FetchKind) -> OracleTerm {
    switch kind {
    case .integer: .constant(.integer(random.chance(in: 8) ? pick(FetchPool.big) : pick(FetchPool.integers)))
    case .double: .constant(.double(random.chance(in: 4) ? pick(FetchPool.doubles) : pick(FetchPool.finite)))
    case .decimal: .constant(decimalValue(pick(FetchPool.decimals)))
    case .flag: .constant(.boolean(random.chance(in: 2)))
    case .text: .constant(.string(random.chance(in: 12) ? pick(FetchPool.uris) : FetchPool.text(&random)))
    case .date: .constant(day(Double(random.below(6)) - 1.5))
    case .uuid: .constant(.uuid(FetchPool.uuid(&random)))
    case .bytes: .constant(.binary(FetchPool.data(&random)))
    case .archive: .constant(.transformable(FetchPool.data(&random)))
    case .composite(let name): .constant(composite(name))
    case .object(let entity):
      .object(
        random.chance(in: 20)
          ? ObjectID(rawValue: 1 << 48 | 999) : graph.ids(entity).randomElement(using: &random) ?? ObjectID(rawValue: 1)
      )
    }
  }

  /// Returns a composite with at least one value, or nil.
  private mutating func composite(_ name: String) -> AttributeValue? {
    let value = FetchPool.value(AttributeDescription("", .composite, elements: Self.elements(name)), &random)
    return OracleValue(value).isNull ? nil : value
  }

  /// Returns the elements of a composite of the model, including those of nested composites.
  private static func elements(_ composite: String) -> [AttributeDescription] {
    let place = fetchModel.attribute("place", of: "Thing")?.elements ?? []
    return composite == "Place" ? place : place.first { $0.compositeName == composite }?.elements ?? []
  }
}
