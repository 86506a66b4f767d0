import Foundation
import KVClone
import KVCloneTestSupport

/// Writes a predicate as a format string with arguments, with the fewest parentheses.
struct OracleFormat {
  private(set) var text = ""
  private(set) var arguments: [QueryArgument] = []
  /// The name of an existing object, such as `Item/3`.
  private let name: (ObjectID) -> String?

  init(_ predicate: OraclePredicate, name: @escaping (ObjectID) -> String?) {
    self.name = name
    write(predicate, within: 0)
  }

  // MARK: Predicates

  /// The precedence is 0 within OR, 1 within AND, 2 within NOT.
  private mutating func write(_ predicate: OraclePredicate, within place: Int) {
    switch predicate {
    case .constant(let value): text += value ? "TRUEPREDICATE" : "FALSEPREDICATE"
    case .or(let parts): write(parts, " OR ", 0, within: place)
    case .and(let parts): write(parts, " AND ", 1, within: place)
    case .not(let inner):
      text += "NOT "
      write(inner, within: 2)
    case .comparison(let modifier, let left, let operation, let options, let right):
      if !modifier.isEmpty { text += modifier + " " }
      write(left, within: 0)
      text += " " + operation + (options.isEmpty ? "" : "[\(options)]") + " "
      write(right, within: 0)
    }
  }

  private mutating func write(_ parts: [OraclePredicate], _ sign: String, _ strength: Int, within place: Int) {
    if strength < place { text += "(" }
    for (index, part) in parts.enumerated() {
      if index > 0 { text += sign }
      write(part, within: strength + 1)
    }
    if strength < place { text += ")" }
  }

  // MARK: Terms

  /// The precedence is 0 for a side of a comparison, 1 for a sum, 2 for a product, 3 for a power, and 4 for terms that
  /// always need parentheses.
  private mutating func write(_ term: OracleTerm, within place: Int) {
    switch term {
    case .constant(let value): write(value)
    case .object(let id):
      if let name = name(id), id.serial % 2 == 0 { text += "'\(name)'" } else { add(.object(id)) }
    case .path(let variable, let names):
      let base = variable.map { ["$" + $0] } ?? []
      text += base.isEmpty && names.isEmpty ? "SELF" : (base + names).joined(separator: ".")
    case .aggregate(let parts): write(parts, "{", "}")
    case .arithmetic(let sign, let left, let right):
      let strength = ["+": 1, "-": 1, "*": 2, "/": 2, "**": 3][sign] ?? 4
      if strength < place { text += "(" }
      write(left, within: sign == "**" ? strength + 1 : strength)
      text += " \(sign) "
      write(right, within: sign == "**" ? strength : strength + 1)
      if strength < place { text += ")" }
    case .function("-", let parts): write(parts, "-(", ")")
    case .function(let name, let parts): write(parts, name + "(", ")")
    case .collection(let base, let name, let key):
      write(base, within: 4)
      text += (["", "@" + name] + key).joined(separator: ".")
    case .conditional(let predicate, let one, let other):
      text += "TERNARY("
      write(predicate, within: 0)
      text += ", "
      write([one, other], "", ")")
    case .subquery(let base, let variable, let predicate):
      text += "SUBQUERY("
      write(base, within: 0)
      text += ", $\(variable), "
      write(predicate, within: 0)
      text += ")"
    case .sets(let left, let name, let right):
      text += "("
      write(left, within: 4)
      text += " \(name) "
      write(right, within: 4)
      text += ")"
    case .index(let base, let index):
      write(base, within: 4)
      text += "[\(index)]"
    }
  }

  private mutating func write(_ parts: [OracleTerm], _ opening: String, _ closing: String) {
    text += opening
    for (index, part) in parts.enumerated() {
      if index > 0 { text += ", " }
      write(part, within: 0)
    }
    text += closing
  }

  // MARK: Constants

  /// Writes some constants as literals and some as arguments, always the same ones.
  private mutating func write(_ value: AttributeValue?) {
    switch value {
    case nil: text += arguments.count % 2 == 0 ? "NULL" : "nil"
    case .integer(let number) where number != .min && number % 3 != 0: text += "\(number)"
    case .double(let number) where number.isFinite && abs(number) < 1e15 && arguments.count % 2 == 0:
      text += "\(number)"
    case .boolean(let flag) where arguments.count % 2 == 0: text += flag ? "YES" : "FALSE"
    case .string(let value) where value.unicodeScalars.count % 2 == 0: write(literal: value)
    case .uuid(let uuid) where uuid.uuid.15 % 2 == 0: text += "'\(uuid.uuidString)'"
    case let value?: add(.value(value))
    }
  }

  private mutating func add(_ argument: QueryArgument) {
    text += "%@"
    arguments.append(argument)
  }

  private mutating func write(literal: String) {
    let quote = arguments.count % 2 == 0 ? "'" : "\""
    text += quote
    for scalar in literal.unicodeScalars {
      if "'\"\\".unicodeScalars.contains(scalar) { text += "\\" }
      text.unicodeScalars.append(scalar)
    }
    text += quote
  }
}
