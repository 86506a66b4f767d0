import Foundation
import KVClone
import KVCloneTestSupport

/// Evaluates predicates, as a slow and direct implementation of the rules.
struct FetchOracle {
  let graph: StoreOracle
  let model: ManagedObjectModel

  /// The scope of a predicate: the object of the request, and the current members of subqueries.
  struct Scope {
    let object: ObjectID
    var variables: [String: ObjectID] = [:]
  }

  func find(_ predicate: OraclePredicate, _ entity: String, includesSubentities: Bool = true) -> [ObjectID] {
    graph.ids(entity).filter { id in
      (includesSubentities || graph.objects[id]?.entity == entity) && holds(predicate, Scope(object: id))
    }
  }

  // MARK: Predicates

  func holds(_ predicate: OraclePredicate, _ scope: Scope) -> Bool {
    switch predicate {
    case .constant(let value): return value
    case .and(let parts): return parts.allSatisfy { holds($0, scope) }
    case .or(let parts): return parts.contains { holds($0, scope) }
    case .not(let inner): return !holds(inner, scope)
    case .comparison(let modifier, let left, let operation, let options, let right):
      let (left, right) = (value(left, scope), value(right, scope))
      let rules = OracleComparison(options)
      switch modifier {
      case "ANY": return elements(left).contains { rules.holds($0, operation, right) }
      case "ALL": return elements(left).allSatisfy { rules.holds($0, operation, right) }
      case "NONE": return !elements(left).contains { rules.holds($0, operation, right) }
      default: return rules.holds(left, operation, right)
      }
    }
  }

  private func elements(_ value: OracleValue) -> [OracleValue] { if case .list(let list) = value { list } else { [] } }

  // MARK: Terms

  func value(_ term: OracleTerm, _ scope: Scope) -> OracleValue {
    switch term {
    case .constant(let value): return OracleValue(value)
    case .object(let id): return .object(id)
    case .path(nil, let names): return follow(scope.object, names)
    case .path(let variable?, let names): return scope.variables[variable].map { follow($0, names) } ?? .null
    case .aggregate(let parts): return .list(parts.map { value($0, scope) })
    case .arithmetic(let sign, let left, let right):
      return OracleArithmetic.combine(sign, value(left, scope), value(right, scope))
    case .function(let name, let parts): return OracleArithmetic.call(name, parts.map { value($0, scope) })
    case .collection(let base, let name, let key):
      let values = elements(value(base, scope)).flatMap { member -> [OracleValue] in
        guard !key.isEmpty, case .object(let id) = member else { return [member] }
        let found = follow(id, key)
        if case .list(let list) = found { return list }
        return [found]
      }
      return OracleArithmetic.gather(name, values)
    case .conditional(let predicate, let one, let other):
      return holds(predicate, scope) ? value(one, scope) : value(other, scope)
    case .subquery(let base, let variable, let predicate):
      return .list(
        elements(value(base, scope)).filter { member in
          guard case .object(let id) = member else { return false }
          var inner = scope
          inner.variables[variable] = id
          return holds(predicate, inner)
        })
    case .sets(let left, let name, let right):
      return .list(combine(elements(value(left, scope)), name, elements(value(right, scope))))
    case .index(let base, let index):
      let list = elements(value(base, scope))
      switch index {
      case "FIRST": return list.first ?? .null
      case "LAST": return list.last ?? .null
      case "SIZE": return .integer(Int64(list.count))
      default: return Int(index).flatMap { list.indices.contains($0) ? list[$0] : nil } ?? .null
      }
    }
  }

  /// UNION, INTERSECT and MINUS: each value once, in the order of the left side.
  private func combine(_ left: [OracleValue], _ name: String, _ right: [OracleValue]) -> [OracleValue] {
    let rules = OracleComparison("")
    var result: [OracleValue] = []
    for value in name == "UNION" ? left + right : left {
      let isWanted = name == "UNION" || right.contains { rules.areEqual($0, value) } == (name == "INTERSECT")
      if isWanted && !result.contains(where: { rules.areEqual($0, value) }) { result.append(value) }
    }
    return result
  }

  // MARK: Key paths

  /// Returns a value, or a list if the path contains a to-many relationship, even beyond a nil.
  private func follow(_ id: ObjectID, _ names: [String]) -> OracleValue {
    var values = [OracleValue.object(id)]
    var isList = false
    var entity = graph.objects[id]?.entity
    for name in names {
      let relationship = entity.flatMap { model.relationship(name, of: $0) }
      if relationship?.isToMany == true || isList && entity != nil { values.removeAll(where: \.isNull) }
      if relationship?.isToMany == true { isList = true }
      values = values.flatMap { value -> [OracleValue] in
        switch value {
        case .object(let id):
          guard let relationship else { return [OracleValue(graph.objects[id]?.values[name])] }
          let members = graph.links(id, name)
          return relationship.isToMany ? members.map { .object($0) } : [OracleValue(members.first)]
        case .composite(let elements): return [elements[name] ?? .null]
        default: return [.null]
        }
      }
      entity = relationship?.destinationEntityName
    }
    if isList && entity != nil && !OracleReading.keepsEmptyTargets { values.removeAll(where: \.isNull) }
    return isList ? .list(values) : values.first ?? .null
  }

  // MARK: Order

  /// Returns the ids in the order of the sort keys; `ids` is ascending.
  func sort(_ ids: [ObjectID], _ keys: [FetchSortKey]) -> [ObjectID] {
    let rows = ids.map { id in (id: id, values: keys.map { follow(id, $0.names) }) }
    return rows.sorted { one, other in
      for (index, key) in keys.enumerated() {
        let difference = OracleComparison(key.options).place(one.values[index], other.values[index])
        if difference != 0 { return key.ascending ? difference < 0 : difference > 0 }
      }
      return one.id < other.id
    }.map { $0.id }
  }
}

/// One key of an order: a key path, its direction, and the letters of its options.
struct FetchSortKey {
  let names: [String]
  let ascending: Bool
  let options: String

  var descriptor: QuerySortDescriptor {
    var set: QueryComparison.Options = []
    if options.contains("c") { set.insert(.caseInsensitive) }
    if options.contains("d") { set.insert(.diacriticInsensitive) }
    return QuerySortDescriptor(key: names.joined(separator: "."), ascending: ascending, options: set)
  }
}
