import Foundation
import KVCloneModel

extension ReferenceGraph {
  /// Returns every violation of the model's rules as a readable line; empty for a valid graph.
  public func validate(_ model: ModelView) -> [String] {
    var problems: [String] = []
    for label in labels {
      guard let object = objects[label], let entity = model.entities[label.entity] else {
        problems.append("\(label): unknown entity")
        continue
      }
      if entity.isAbstract { problems.append("\(label): abstract entity") }
      problems += attributeProblems(object, entity)
      problems += relationshipProblems(object, entity, model)
    }
    return problems + serialProblems(model) + uniquenessProblems(model)
  }

  private func attributeProblems(_ object: ReferenceObject, _ entity: EntityView) -> [String] {
    var problems: [String] = []
    for name in object.attributes.keys.sorted() {
      guard let attribute = entity.attribute(name) else {
        problems.append("\(object.label).\(name): unknown attribute")
        continue
      }
      if attribute.isTransient { problems.append("\(object.label).\(name): a transient attribute is not stored") }
    }
    for attribute in entity.storedAttributes {
      let problem = ValueRules.problem(object.attributes[attribute.name], for: attribute)
      if let problem { problems.append("\(object.label).\(attribute.name): \(problem)") }
    }
    return problems
  }

  private func relationshipProblems(
    _ object: ReferenceObject, _ entity: EntityView, _ model: ModelView
  ) -> [String] {
    var problems: [String] = []
    for name in object.relationships.keys.sorted() where !entity.relationships.contains(where: { $0.name == name }) {
      problems.append("\(object.label).\(name): unknown relationship")
    }
    for relationship in entity.relationships {
      let targets = object.targets(relationship.name)
      let place = "\(object.label).\(relationship.name)"
      if Set(targets).count != targets.count { problems.append("\(place): a target occurs twice") }
      if let limit = relationship.limit, targets.count > limit {
        problems.append("\(place): more than \(limit) targets")
      }
      if !relationship.isSatisfied(by: targets.count) { problems.append("\(place): only \(targets.count) targets") }
      for target in targets {
        if objects[target] == nil { problems.append("\(place): \(target) does not exist") }
        if !model.isKind(target.entity, of: relationship.destination) {
          problems.append("\(place): \(target) is no \(relationship.destination)")
        }
        if let inverse = relationship.inverse(at: target.entity),
          objects[target]?.targets(inverse.name).contains(object.label) != true
        {
          problems.append("\(place): \(target).\(inverse.name) does not lead back")
        }
      }
    }
    return problems
  }

  /// Checks that objects of one root entity share one sequence of serials.
  private func serialProblems(_ model: ModelView) -> [String] {
    var seen: [Label: Label] = [:]
    var problems: [String] = []
    for label in labels {
      guard let root = model.entities[label.entity]?.root else { continue }
      if let other = seen.updateValue(label, forKey: Label(root, label.serial)) {
        problems.append("\(label): \(other) has the same serial")
      }
    }
    return problems
  }

  private func uniquenessProblems(_ model: ModelView) -> [String] {
    var seen: [UniqueKey: Label] = [:]
    var problems: [String] = []
    for label in labels {
      guard let object = objects[label], let entity = model.entities[label.entity] else { continue }
      for constraint in entity.constraints where constraint.isChecked(in: entity) {
        let parts = constraint.properties.compactMap { UniqueKey.Part($0, of: object) }
        guard parts.count == constraint.properties.count else { continue }
        if let other = seen.updateValue(label, forKey: UniqueKey(constraint: constraint, parts: parts)) {
          problems.append("\(label): \(other) has the same \(constraint.properties.joined(separator: ", "))")
        }
      }
    }
    return problems
  }
}

/// The values of one object for one constraint.
struct UniqueKey: Hashable {
  /// An attribute's value or a to-one relationship's target.
  enum Part: Hashable {
    case value(AttributeValue)
    case target(Label)

    /// Returns nil if a part is nil, because nil never conflicts.
    init?(_ name: String, of object: ReferenceObject) {
      if let value = object.attributes[name] {
        self = .value(value)
      } else if let target = object.targets(name).first {
        self = .target(target)
      } else {
        return nil
      }
    }
  }

  let constraint: Constraint
  let parts: [Part]
}

extension Constraint {
  /// Returns whether every part is a stored attribute or a to-one relationship; derived values are unknown here.
  func isChecked(in entity: EntityView) -> Bool {
    properties.allSatisfy { name in
      entity.storedAttributes.contains { $0.name == name }
        || entity.relationships.contains { $0.name == name && !$0.isToMany }
    }
  }
}

/// The model's rules for a single value.
enum ValueRules {
  /// Returns the violation of `value`, or nil.
  static func problem(_ value: AttributeValue?, for attribute: AttributeDescription) -> String? {
    guard let value else { return attribute.isOptional ? nil : "a required value is missing" }
    guard hasType(value, of: attribute) else { return "the value's type is not \(attribute.type)" }
    if let low = attribute.minValue, let order = order(value, low), order < 0 { return "below the minimum" }
    if let high = attribute.maxValue, let order = order(value, high), order > 0 { return "above the maximum" }
    if let pattern = attribute.regularExpression, case .string(let text) = value, !matches(text, pattern) {
      return "does not match the regular expression"
    }
    return nil
  }

  private static func hasType(_ value: AttributeValue, of attribute: AttributeDescription) -> Bool {
    switch (attribute.type, value) {
    case (.integer16, .integer(let number)): Int16(exactly: number) != nil
    case (.integer32, .integer(let number)): Int32(exactly: number) != nil
    case (.integer64, .integer), (.decimal, .decimal), (.double, .double), (.float, .float), (.string, .string),
      (.boolean, .boolean), (.date, .date), (.binary, .binary), (.uuid, .uuid), (.uri, .uri),
      (.transformable, .transformable):
      true
    case (.composite, .composite(let values)):
      values.keys.allSatisfy { key in attribute.elements.contains { $0.name == key } }
        && attribute.elements.allSatisfy { problem(values[$0.name], for: $0) == nil }
    default: false
    }
  }

  /// Returns whether a value is below, at or above a bound, or nil if both are not comparable. Bounds of strings limit
  /// their length.
  private static func order(_ value: AttributeValue, _ bound: AttributeValue) -> Int? {
    func compare<Value: Comparable>(_ left: Value, _ right: Value) -> Int { left < right ? -1 : left > right ? 1 : 0 }
    switch (value, bound) {
    case (.integer(let left), .integer(let right)): return compare(left, right)
    case (.double(let left), .double(let right)): return left.isNaN ? -1 : compare(left, right)
    case (.float(let left), .float(let right)): return left.isNaN ? -1 : compare(left, right)
    case (.decimal(let left), .decimal(let right)): return left.isNaN ? -1 : compare(left, right)
    case (.date(let left), .date(let right)): return compare(left, right)
    case (.string(let text), .integer(let length)): return compare(Int64(text.utf16.count), length)
    default: return nil
    }
  }

  /// Returns whether `pattern` matches the whole of `text`, like MATCHES in a predicate.
  static func matches(_ text: String, _ pattern: String) -> Bool {
    guard let expression = try? NSRegularExpression(pattern: "^(?:\(pattern))$") else { return false }
    return expression.firstMatch(in: text, range: NSRange(location: 0, length: text.utf16.count)) != nil
  }
}
