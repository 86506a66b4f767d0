#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A token of a format.
enum QueryToken: Equatable {
  /// The end of the format.
  case end
  /// A name or keyword as written.
  case word(String, QueryKeyword?)
  /// A name that is never a keyword: `#in`, `#"two words"`.
  case name(String)
  /// `$name`, without the `$`.
  case variable(String)
  /// `@count`, without the `@`.
  case collectionOperator(String)
  /// A text without its quotation marks.
  case text(String)
  /// An integer, without a sign.
  case integer(UInt64)
  /// A floating-point number, without a sign, which prints as written.
  case real(Double)
  /// A number without a sign, with more digits than a double has.
  case decimal(Decimal)
  /// The argument for `%@`, `%d` and others.
  case argument(QueryArgument)
  /// The argument for `%K`.
  case path(String)
  /// A symbol.
  case symbol(QuerySymbol)

  /// The token in a message: never the content of a text, a number or a name.
  var shown: String {
    switch self {
    case .end: "the end"
    case .word(_, let keyword?): keyword.rawValue
    case .word, .name: "a name"
    case .variable: "a variable"
    case .collectionOperator: "a collection operator"
    case .text: "a text"
    case .integer, .real, .decimal: "a number"
    case .argument: "an argument"
    case .path: "a key path"
    case .symbol(let symbol): "'\(symbol.rawValue)'"
    }
  }

  /// The comparison operator, if the token is one.
  var comparison: QueryComparison.Operator? {
    switch self {
    case .symbol(let symbol): QueryComparison.Operator(rawValue: symbol.rawValue)
    case .word(_, let keyword?): QueryComparison.Operator(rawValue: keyword.rawValue)
    default: nil
    }
  }
}

/// Keywords; a name that is equal to one is written with `#`.
///
/// No case is called `none` or `some`, which would conflict with those of an optional keyword.
enum QueryKeyword: String, CaseIterable {
  case and = "AND"
  case or = "OR"
  case not = "NOT"
  case anyMember = "ANY"
  case someMember = "SOME"
  case allMembers = "ALL"
  case noMember = "NONE"
  case between = "BETWEEN"
  case `in` = "IN"
  case contains = "CONTAINS"
  case beginsWith = "BEGINSWITH"
  case endsWith = "ENDSWITH"
  case like = "LIKE"
  case matches = "MATCHES"
  case truePredicate = "TRUEPREDICATE"
  case falsePredicate = "FALSEPREDICATE"
  case `true` = "TRUE"
  case yes = "YES"
  case `false` = "FALSE"
  case no = "NO"
  case null = "NULL"
  case `nil` = "NIL"
  case `self` = "SELF"
  case anyKey = "ANYKEY"
  case first = "FIRST"
  case last = "LAST"
  case size = "SIZE"
  case subquery = "SUBQUERY"
  case cast = "CAST"
  case ternary = "TERNARY"
  case function = "FUNCTION"
  case fetch = "FETCH"
  case block = "BLOCK"
  case blockPredicate = "BLOCKPREDICATE"
  case union = "UNION"
  case intersect = "INTERSECT"
  case minus = "MINUS"
  case caseInsensitive = "CASEINSENSITIVE"
  case ci = "CI"

  /// Finds a keyword, case-insensitively.
  init?(word: String) {
    // Some letters outside of ASCII have an ASCII upper case, and make no keyword.
    guard word.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
    self.init(rawValue: word.uppercased())
  }

  /// Whether the keyword is a name unless its syntax follows: databases have a `size` and a `first`.
  var isNameAlone: Bool {
    switch self {
    case .first, .last, .size, .subquery, .cast, .ternary, .function, .fetch, .block, .blockPredicate, .union,
      .intersect, .minus, .caseInsensitive, .ci:
      true
    default: false
    }
  }
}

/// Symbols; alternative spellings have one case.
enum QuerySymbol: String {
  case leftParenthesis = "("
  case rightParenthesis = ")"
  case leftBracket = "["
  case rightBracket = "]"
  case leftBrace = "{"
  case rightBrace = "}"
  case comma = ","
  case dot = "."
  case colon = ":"
  case assign = ":="
  case plus = "+"
  case minus = "-"
  case times = "*"
  case power = "**"
  case divide = "/"
  case percent = "%%"
  case not = "!"
  case and = "&&"
  case or = "||"
  case bitwiseAnd = "&"
  case bitwiseOr = "|"
  case bitwiseXor = "^"
  case complement = "~"
  case leftShift = "<<"
  case rightShift = ">>"
  case equal = "=="
  case notEqual = "!="
  case less = "<"
  case lessOrEqual = "<="
  case greater = ">"
  case greaterOrEqual = ">="
}

/// The characters of names.
enum QueryCharacters {
  static func beginsName(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "_": true
    default: scalar.value >= 0x80 && scalar.properties.isAlphabetic
    }
  }

  static func continuesName(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "_", "0"..."9": true
    default: scalar.value >= 0x80 && (scalar.properties.isAlphabetic || scalar.properties.isIDContinue)
    }
  }

  /// Whether a text can be written as a name without quoting.
  static func isName(_ text: String) -> Bool {
    guard let first = text.unicodeScalars.first, beginsName(first) else { return false }
    return text.unicodeScalars.dropFirst().allSatisfy(continuesName)
  }
}
