/// Prints trees as formats that parse to equal trees.
struct QueryPrinter {
  private(set) var text = ""

  /// The binding strength of a part: one that is weaker than its place requires gets parentheses.
  private enum Strength: Int {
    case set, sum, product, sign, power, number, primary

    var above: Strength { Strength(rawValue: rawValue + 1) ?? .primary }
  }

  // MARK: Predicates

  mutating func write(_ predicate: QueryPredicate) {
    switch predicate {
    case .constant(let flag): text += flag ? "TRUEPREDICATE" : "FALSEPREDICATE"
    case .comparison(let comparison): write(comparison)
    case .and(let items): write(items, " AND ", empty: "TRUEPREDICATE")
    case .or(let items): write(items, " OR ", empty: "FALSEPREDICATE")
    case .not(let inner):
      text += "NOT "
      writePart(inner)
    }
  }

  private mutating func write(_ items: [QueryPredicate], _ separator: String, empty: String) {
    if items.isEmpty { text += empty }
    for (index, item) in items.enumerated() {
      if index > 0 { text += separator }
      writePart(item)
    }
  }

  /// Writes a part of another predicate: compounds in parentheses, even if they could be omitted, as Core Data does.
  private mutating func writePart(_ predicate: QueryPredicate) {
    switch predicate {
    case .and, .or:
      text += "("
      write(predicate)
      text += ")"
    default: write(predicate)
    }
  }

  private mutating func write(_ comparison: QueryComparison) {
    switch comparison.modifier {
    case .direct: break
    case .any: text += "ANY "
    case .all: text += "ALL "
    case .none: text += "NONE "
    }
    write(comparison.left)
    text += " " + comparison.operator.rawValue
    if !comparison.options.isEmpty {
      text += "["
      for (option, letter) in QueryComparison.Options.letters where comparison.options.contains(option) {
        text.append(letter)
      }
      text += "]"
    }
    text += " "
    write(comparison.right)
  }

  // MARK: Expressions

  mutating func write(_ expression: QueryExpression) {
    switch expression {
    case .constant(let constant): text += constant.formatText
    case .aggregate(let items):
      text += "{"
      write(items)
      text += "}"
    case .self: text += "SELF"
    case .variable(let name): text += "$" + name
    case .keyPath(let base, let names): writePath(base, names)
    case .collection(let base, let collectionOperator, let names):
      writeBase(base, isPathContinued: true)
      text += ".@" + collectionOperator.rawValue
      for name in names { text += "." + Self.escapedName(name) }
      if names.isEmpty, collectionOperator != .count { text += ".self" }
    case .function(let function, let arguments): write(function, arguments)
    case .conditional(let predicate, let first, let second):
      text += "TERNARY("
      write(predicate)
      text += ", "
      write([first, second])
      text += ")"
    case .cast(let value, let type):
      // CAST of a constant may parse to another constant; the function always stays a cast.
      if case .constant = value { text += "castObject:toType:(" } else { text += "CAST(" }
      write(value)
      text += ", " + Self.quoted(QueryTypeNames.name(of: type)) + ")"
    case .subquery(let base, let variable, let predicate):
      text += "SUBQUERY("
      write(base)
      text += ", $" + variable + ", "
      write(predicate)
      text += ")"
    case .setOperation(let left, let setOperator, let right):
      write(left, atLeast: .set)
      text += " " + setOperator.rawValue + " "
      write(right, atLeast: .sum)
    case .index(let base, let index):
      write(base, atLeast: .primary)
      write(index)
    }
  }

  private mutating func write(_ items: [QueryExpression]) {
    for (index, item) in items.enumerated() {
      if index > 0 { text += ", " }
      write(item)
    }
  }

  private mutating func write(_ index: QueryIndex) {
    text += "["
    switch index {
    case .expression(let place): write(place)
    case .first: text += "FIRST"
    case .last: text += "LAST"
    case .size: text += "SIZE"
    }
    text += "]"
  }

  private mutating func writePath(_ base: QueryExpression, _ names: [String]) {
    let written = names.map(Self.escapedName).joined(separator: ".")
    if base == .self, !names.isEmpty {
      text += written
      return
    }
    writeBase(base, isPathContinued: false)
    if !names.isEmpty { text += "." + written }
  }

  /// Writes the base of names; parentheses keep a path from merging with them.
  private mutating func writeBase(_ base: QueryExpression, isPathContinued: Bool) {
    switch base {
    case .keyPath, .collection:
      if !isPathContinued { text += "(" }
      write(base)
      if !isPathContinued { text += ")" }
    default: write(base, atLeast: .primary)
    }
  }

  private mutating func write(_ function: QueryFunction, _ arguments: [QueryExpression]) {
    if function == .negate, arguments.count == 1 {
      text += "-"
      // A minus sign right before a number would belong to it.
      write(arguments[0], atLeast: Self.strength(of: arguments[0]) == .number ? .primary : .sign)
      return
    }
    guard let sign = function.sign, arguments.count == 2 else {
      text += function.callName + "("
      write(arguments)
      text += ")"
      return
    }
    let strength = Self.strength(of: function)
    write(arguments[0], atLeast: function == .raise ? .number : strength)
    text += " " + sign + " "
    write(arguments[1], atLeast: function == .raise ? .sign : strength.above)
  }

  private mutating func write(_ expression: QueryExpression, atLeast needed: Strength) {
    let isEnough = Self.strength(of: expression).rawValue >= needed.rawValue
    if !isEnough { text += "(" }
    write(expression)
    if !isEnough { text += ")" }
  }

  private static func strength(of expression: QueryExpression) -> Strength {
    switch expression {
    case .setOperation: .set
    case .function(.negate, let arguments) where arguments.count == 1: .sign
    case .function(let function, let arguments) where arguments.count == 2: strength(of: function)
    case .constant(.value(.integer(let number))): number < 0 ? .sign : .number
    case .constant(.value(.double(let number))) where number.isFinite: number.sign == .minus ? .sign : .number
    default: .primary
    }
  }

  private static func strength(of function: QueryFunction) -> Strength {
    switch function {
    case .add, .subtract: .sum
    case .multiply, .divide: .product
    case .raise: .power
    default: .primary
    }
  }

  // MARK: Names and texts

  /// Returns a name unchanged, after `#` if it would have another meaning, or in quotation marks if it is not an
  /// identifier.
  static func escapedName(_ name: String) -> String {
    guard QueryCharacters.isName(name) else { return "#" + quoted(name) }
    return QueryKeyword(word: name) == nil ? name : "#" + name
  }

  /// A text in quotation marks.
  static func quoted(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    result.append("\"")
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\":
        result.append("\\")
        result.append(scalar)
      case "\n": result.append(contentsOf: "\\n".unicodeScalars)
      case "\r": result.append(contentsOf: "\\r".unicodeScalars)
      case "\t": result.append(contentsOf: "\\t".unicodeScalars)
      case "\u{0}"..."\u{1f}", "\u{7f}":
        let digits = String(scalar.value, radix: 16)
        result.append(contentsOf: ("\\x" + (digits.count < 2 ? "0" : "") + digits).unicodeScalars)
      default: result.append(scalar)
      }
    }
    result.append("\"")
    return String(result)
  }
}
