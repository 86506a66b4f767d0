import KVCloneModel

/// An enum with raw values for the values of an attribute.
struct EnumPlan: Hashable {
  struct Case: Hashable {
    let identifier: String
    let value: AttributeValue
  }

  let name: String
  let rawType: String
  /// The cases; empty for an enum that is declared elsewhere.
  let cases: [Case]

  /// Parses the annotation: a name, optionally followed by `: case = raw, case, …`. A missing number is the previous
  /// one plus 1, and a missing text is the name of the case.
  ///
  /// - Returns: nil if there is no annotation.
  init?(_ attribute: AttributeDescription, in entity: String) throws(GeneratorError) {
    guard let text = attribute.userInfo[AnnotationKey.enumeration] else { return nil }
    func wrong(_ message: String) -> GeneratorError {
      GeneratorError("\(AnnotationKey.enumeration): \(message)", entity: entity, property: attribute.name)
    }
    guard attribute.type.isInteger || attribute.type == .string else {
      throw wrong("only integers and texts can be raw values")
    }
    let parts = text.split(separator: ":", maxSplits: 1).map { $0.trimmed }
    guard let name = parts.first, !name.isEmpty, SwiftName.type(name) == name else {
      throw wrong("write the name of an enum, as in Priority: low = 0, high = 1")
    }
    var cases: [Case] = []
    var next: Int64 = 0
    for part in (parts.count > 1 ? parts[1] : "").split(separator: ",") {
      let sides = part.split(separator: "=", maxSplits: 1).map { $0.trimmed }
      guard let label = sides.first, !label.isEmpty else { throw wrong("a case has no name; write a name such as low") }
      guard SwiftName.property(label) == label else {
        throw wrong("\(label) is not a valid case name; rename the case")
      }
      let value: AttributeValue
      if attribute.type == .string {
        value = .string(sides.count > 1 ? sides[1] : label)
      } else {
        guard let number = sides.count > 1 ? Int64(sides[1]) : next,
          case .integer? = attribute.type.coerce(.integer(number))
        else { throw wrong("the raw value of \(label) is not a valid number for the attribute; correct it") }
        value = .integer(number)
        next = number &+ 1
      }
      let identifier = SwiftName.quoted(label)
      if cases.contains(where: { $0.identifier == identifier || $0.value == value }) {
        throw wrong("\(label) or its raw value occurs twice; remove or change one of them")
      }
      cases.append(Case(identifier: identifier, value: value))
    }
    self.name = name
    self.cases = cases
    rawType =
      switch attribute.type {
      case .integer16: "Int16"
      case .integer32: "Int32"
      case .integer64: "Int64"
      default: "String"
      }
  }
}

extension Substring {
  fileprivate var trimmed: String {
    let start = drop { $0.isWhitespace }
    return String(start.reversed().drop { $0.isWhitespace }.reversed())
  }
}
