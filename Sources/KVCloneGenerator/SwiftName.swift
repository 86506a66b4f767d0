import KVCloneModel

/// Converts names of the model to Swift names.
enum SwiftName {
  /// Returns a Swift identifier for any text: characters that are not allowed become `_`.
  static func plain(_ name: String) -> String {
    var result = ""
    for scalar in name.unicodeScalars {
      let isLetter = scalar == "_" || scalar.properties.isAlphabetic
      let isDigit = ("0"..."9").contains(scalar)
      if result.isEmpty && isDigit { result = "_" }
      result.unicodeScalars.append(isLetter || isDigit ? scalar : "_")
    }
    return result.isEmpty ? "_" : result
  }

  /// Returns the name of a property, avoiding names that the struct reserves.
  static func property(_ name: String) -> String {
    let name = plain(name)
    return reservedProperties.contains(name) ? name + "_" : name
  }

  /// Returns the name of a type.
  static func type(_ name: String) -> String {
    let name = plain(name)
    return reservedTypes.contains(name) || keywords.contains(name) ? name + "_" : name
  }

  /// Returns the name in source form: keywords are in backticks.
  static func quoted(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }

  /// Converts the leading letters to lower case: `note` for `Note`, `urlList` for `URLList`.
  static func lowerCamel(_ name: String) -> String {
    let capitals = name.prefix { $0.isUppercase }.count
    if capitals == 0 { return name }
    let count = capitals == 1 || capitals == name.count ? capitals : capitals - 1
    return name.prefix(count).lowercased() + name.dropFirst(count)
  }

  /// Returns text as a string literal.
  static func literal(_ text: String) -> String { text.swiftLiteral }

  private static let reservedProperties: Set<String> = [
    "_", "self", "init", "Type", "Protocol", "hashValue", "objectID", "objectState", "values", "elements",
    "attributeValue", "ID", "Fields", "Object", "Superentity",
  ]
  private static let reservedTypes: Set<String> = [
    "_", "Type", "Protocol", "Self", "Any", "ID", "Fields", "Object", "Superentity",
    // Modules that qualify type names, and words that begin a type.
    "Swift", "Foundation", "KVClone", "any", "some", "each", "sending", "borrowing", "consuming", "isolated",
  ]
  private static let keywords: Set<String> = [
    "associatedtype", "class", "deinit", "enum", "extension", "fileprivate", "func", "import", "init", "inout",
    "internal",
    "let", "open", "operator", "private", "precedencegroup", "protocol", "public", "rethrows", "static", "struct",
    "subscript", "typealias", "var", "break", "case", "catch", "continue", "default", "defer", "do", "else",
    "fallthrough",
    "for", "guard", "if", "in", "repeat", "return", "throw", "switch", "where", "while", "Any", "as", "await", "false",
    "is", "nil", "self", "Self", "super", "throws", "true", "try",
  ]
}
