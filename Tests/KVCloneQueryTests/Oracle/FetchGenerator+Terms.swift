import KVClone
import KVCloneTestSupport

extension FetchGenerator {
  /// Returns a term of this kind, or nil if none was found.
  mutating func term(_ kind: FetchKind, _ places: [FetchPlace], _ depth: Int) -> OracleTerm? {
    if depth <= 0 || random.chance(in: 2) {
      return random.chance(in: 3) ? constant(kind) : path(kind, places) ?? constant(kind)
    }
    if random.chance(in: 8), let one = term(kind, places, depth - 1), let other = term(kind, places, depth - 1),
      isConditional(kind)
    {
      return .conditional(predicate(places, depth: depth - 1), one, other)
    }
    switch kind {
    case .integer: return integer(places, depth)
    case .double: return double(places, depth)
    case .decimal: return decimalTerm(places, depth)
    case .text:
      if random.chance(in: 3) { return gathered(.text, pick(["min", "max"]), places) }
      guard let argument = term(.text, places, depth - 1) else { return nil }
      return .function(pick(["lowercase", "uppercase"]), [argument])
    case .date:
      if random.chance(in: 3) { return gathered(.date, pick(["min", "max"]), places) }
      guard let left = path(.date, places), let right = term(pick([.integer, .double]), places, 0) else { return nil }
      return .arithmetic(pick(["+", "-"]), left, right)
    case .object("Thing") where random.chance(in: 2):
      // Only ordered relationships have a first and a last member.
      guard case .path(let variable, let names)? = path(.object("Thing"), places) else { return nil }
      return .index(.path(variable, names + ["children"]), pick(["FIRST", "LAST", "0", "1", "2"]))
    default: return path(kind, places) ?? constant(kind)
    }
  }

  private func isConditional(_ kind: FetchKind) -> Bool {
    switch kind {
    case .integer, .double, .decimal, .text: true
    default: false
    }
  }

  private mutating func integer(_ places: [FetchPlace], _ depth: Int) -> OracleTerm? {
    switch random.below(14) {
    case 0...2:
      guard let left = term(.integer, places, depth - 1), let right = term(.integer, places, depth - 1) else {
        return nil
      }
      return .arithmetic(pick(["+", "-", "*", "/"]), left, right)
    case 3:
      guard let argument = smallNumber(places) else { return nil }
      return .function(pick(["abs", "onesComplement", "-"]), [argument])
    case 4:
      guard let left = smallNumber(places) else { return nil }
      let name = pick(["bitwiseAnd:with:", "bitwiseOr:with:", "bitwiseXor:with:"])
      return .function(name, [left, .constant(.integer(Int64(random.below(8))))])
    case 5:
      guard let left = smallNumber(places) else { return nil }
      return .function("modulus:by:", [.function("abs", [left]), .constant(.integer(Int64(1 + random.below(4))))])
    case 6:
      guard let argument = term(.text, places, depth - 1) else { return nil }
      return .function("length", [argument])
    case 7...11:
      guard let (members, _) = members(places, depth) else { return nil }
      return random.chance(in: 3) ? .function("count", [members]) : .collection(members, "count", [])
    case 12:
      guard let one = list(pick([.integer, .text, .object("Tag"), .object("Thing")]), places, depth - 1) else {
        return nil
      }
      return .function("count", [one])
    default: return gathered(.integer, pick(["sum", "min", "max"]), places)
    }
  }

  /// Returns a number without the extreme values.
  private mutating func smallNumber(_ places: [FetchPlace]) -> OracleTerm? {
    guard let found = path(.integer, places), case .path(_, let names) = found, names.last != "big" else { return nil }
    return found
  }

  private mutating func double(_ places: [FetchPlace], _ depth: Int) -> OracleTerm? {
    switch random.below(9) {
    case 0...2:
      guard let left = term(.double, places, depth - 1), let right = term(pick([.double, .integer]), places, depth - 1)
      else { return nil }
      return random.chance(in: 2)
        ? .arithmetic(pick(["+", "-", "*", "/"]), left, right) : .arithmetic(pick(["+", "-", "*", "/"]), right, left)
    case 3:
      guard let argument = term(.double, places, depth - 1) else { return nil }
      return .function(pick(["abs", "floor", "ceiling", "trunc", "sqrt", "-"]), [argument])
    case 4:
      guard let left = path(.date, places), let right = term(.date, places, 0) else { return nil }
      return .arithmetic("-", left, right)
    case 5: return gathered(.integer, "avg", places)
    case 6:
      guard let left = path(.double, places) else { return nil }
      return .arithmetic("**", left, .constant(.integer(Int64(random.below(4)))))
    default: return gathered(.double, pick(["sum", "avg", "min", "max"]), places)
    }
  }

  private mutating func decimalTerm(_ places: [FetchPlace], _ depth: Int) -> OracleTerm? {
    switch random.below(6) {
    case 0, 1:
      guard let left = term(.decimal, places, depth - 1),
        let right = term(pick([.decimal, .integer]), places, depth - 1)
      else { return nil }
      return .arithmetic(pick(["+", "-", "*"]), left, right)
    case 2:
      guard let left = term(.decimal, places, depth - 1) else { return nil }
      return .arithmetic("/", left, .constant(.integer(pick([0, 2, 4, 5, -10]))))
    case 3:
      guard let argument = term(.decimal, places, depth - 1) else { return nil }
      return .function(pick(["abs", "-"]), [argument])
    default: return gathered(.decimal, pick(["sum", "min", "max"]), places)
    }
  }

  // MARK: Lists

  /// Returns a collection operator over the values of members; of numbers only those that have an order and a sum.
  private mutating func gathered(_ kind: FetchKind, _ name: String, _ places: [FetchPlace]) -> OracleTerm? {
    guard let (members, entity) = members(places, 1) else { return nil }
    let keys = fetchModel.attributes(of: entity).filter { attribute in
      // NaN has no order, and sums of very large numbers depend on the order.
      FetchKind(attribute) == kind && attribute.name != "ratio" && (attribute.name != "big" || name != "avg")
    }
    guard let key = keys.randomElement(using: &random) else { return nil }
    return .collection(members, name, [key.name])
  }

  /// Returns members to count and their entity: those of a relationship, or the result of a subquery on them.
  private mutating func members(_ places: [FetchPlace], _ depth: Int) -> (OracleTerm, String)? {
    let entity = pick(["Thing", "Thing", "Tag", "Tag", "Group"])
    guard let found = manyPath(.object(entity), places) else { return nil }
    guard depth > 0, places.count < 3, !random.chance(in: 3) else { return (found, entity) }
    let variable = places.count == 1 ? "x" : "y"
    let inner = predicate(places + [FetchPlace(variable: variable, entity: entity)], depth: depth - 1)
    return (.subquery(found, variable, inner), entity)
  }

  /// Returns a list of values of this kind.
  mutating func list(_ kind: FetchKind, _ places: [FetchPlace], _ depth: Int) -> OracleTerm? {
    guard depth > 0 else { return manyPath(kind, places) }
    switch random.below(6) {
    case 0:
      guard let left = manyPath(kind, places) else { return nil }
      let isLiteral = FetchKind.numbers.contains(kind) || kind == .text || kind == .date
      let right =
        isLiteral && random.chance(in: 2) ? .aggregate([constant(kind), constant(kind)]) : manyPath(kind, places)
      return right.map { .sets(left, pick(["UNION", "INTERSECT", "MINUS"]), $0) }
    case 1:
      guard case .object(let entity) = kind, let (found, other) = members(places, depth), entity == other else {
        return manyPath(kind, places)
      }
      return found
    default: return manyPath(kind, places)
    }
  }

  // MARK: Key paths

  /// Returns a key path to one value.
  mutating func path(_ kind: FetchKind, _ places: [FetchPlace]) -> OracleTerm? {
    for _ in 0..<12 { if let found = walk(kind, places, isMany: false) { return found } }
    return nil
  }

  /// Returns whether a key path leads through a to-many relationship.
  func isToMany(_ names: [String], from entity: String) -> Bool {
    var entity = entity
    for name in names {
      guard let relationship = fetchModel.relationship(name, of: entity) else { return false }
      if relationship.isToMany { return true }
      entity = relationship.destinationEntityName
    }
    return false
  }

  private mutating func manyPath(_ kind: FetchKind, _ places: [FetchPlace]) -> OracleTerm? {
    for _ in 0..<20 { if let found = walk(kind, places, isMany: true) { return found } }
    return nil
  }

  private mutating func walk(_ kind: FetchKind, _ places: [FetchPlace], isMany: Bool) -> OracleTerm? {
    // Prefers the innermost member.
    guard let place = random.chance(in: 3) ? places.first : places.last else { return nil }
    var entity = place.entity
    var names: [String] = []
    for _ in 0..<(isMany ? 1 + random.below(2) : [0, 0, 0, 1, 1, 2][random.below(6)]) {
      let ways = fetchModel.relationships(of: entity).filter { isMany || !$0.isToMany }
      guard let way = ways.randomElement(using: &random) else { return nil }
      names.append(way.name)
      entity = way.destinationEntityName
    }
    guard isToMany(names, from: place.entity) == isMany else { return nil }
    if case .object(let wanted) = kind {
      return wanted == root(of: entity) ? .path(place.variable, names) : nil
    }
    guard let end = attributes(of: entity).filter({ $0.kind == kind }).randomElement(using: &random) else { return nil }
    return .path(place.variable, names + end.names)
  }

  private func root(of entity: String) -> String { ["Item", "Special", "Box"].contains(entity) ? "Thing" : entity }

  /// Returns attributes and the elements of composites, without the key, which has the same strings as the names.
  private func attributes(of entity: String) -> [(names: [String], kind: FetchKind)] {
    func flat(_ attribute: AttributeDescription, _ path: [String]) -> [(names: [String], kind: FetchKind)] {
      let names = path + [attribute.name]
      return (FetchKind(attribute).map { [(names, $0)] } ?? []) + attribute.elements.flatMap { flat($0, names) }
    }
    return fetchModel.attributes(of: entity).filter { $0.name != "key" }.flatMap { flat($0, []) }
  }

  // MARK: Order

  /// Returns sort keys, sometimes none.
  mutating func order(_ entity: String) -> [FetchSortKey] {
    (0..<random.below(4)).compactMap { _ in
      let kind = pick([FetchKind.integer, .double, .decimal, .flag, .text, .text, .date])
      guard case .path(_, let names)? = path(kind, [FetchPlace(variable: nil, entity: entity)]) else { return nil }
      let options = kind == .text ? pick(["", "c", "d", "cd"]) : ""
      return FetchSortKey(names: names, ascending: random.chance(in: 2), options: options)
    }
  }
}
