/// A JSON value as written: integers that fit 64 bits stay integers, so that no digit is lost.
package enum JSONValue: Sendable, Equatable {
  case null
  case boolean(Bool)
  /// A number without fraction and exponent that fits Int64; `-0` is a ``number(_:)``, because only a Double keeps it.
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object(JSONObject)

  /// The kind of value in an error, without showing it.
  package var kind: String {
    switch self {
    case .null: "null"
    case .boolean: "a boolean"
    case .integer: "an integer"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

/// The members of a JSON object in order; names are unique (the parser rejects duplicates).
package struct JSONObject: Sendable, Equatable {
  package struct Member: Sendable, Equatable {
    package let name: String
    package let value: JSONValue
  }

  package private(set) var members: [Member] = []

  package init() {}

  /// Members have no order in JSON, and other programs change it.
  package static func == (first: Self, second: Self) -> Bool { first.sorted == second.sorted }

  private var sorted: [Member] { members.sorted { $0.name < $1.name } }

  /// The value with this name. Linear: objects of a line are small, and large ones are iterated.
  package subscript(name: String) -> JSONValue? {
    members.first { $0.name == name }?.value
  }

  /// - Precondition: the name is new.
  package mutating func append(_ name: String, _ value: JSONValue) {
    members.append(Member(name: name, value: value))
  }
}

/// Why bytes are not valid JSON.
package struct JSONError: Error, Sendable, Equatable {
  package enum Kind: String, Sendable {
    case unexpectedEnd, unexpectedByte, invalidUTF8, invalidEscape, controlCharacter, invalidNumber
    case numberOutOfRange, duplicateKey, tooDeep, tooManyValues, trailingBytes
  }

  package let kind: Kind
  /// The position of the error in bytes, counted from 1 at the beginning of the document.
  package let column: Int

  package init(kind: Kind, column: Int) {
    self.kind = kind
    self.column = column
  }

  /// One clause without the invalid text, which may be a user's value.
  package var reason: String {
    switch kind {
    case .unexpectedEnd: "the JSON ends too early"
    case .unexpectedByte: "not JSON at byte \(column)"
    case .invalidUTF8: "not UTF-8 in the string that ends at byte \(column)"
    case .invalidEscape: "an invalid escape sequence at byte \(column)"
    case .controlCharacter: "an unescaped control character at byte \(column)"
    case .invalidNumber: "not a JSON number at byte \(column)"
    case .numberOutOfRange: "a number too large for 64 bits at byte \(column)"
    case .duplicateKey: "a duplicate member name at byte \(column)"
    case .tooDeep: "more than \(JSONParser.depthLimit) levels of nesting at byte \(column)"
    case .tooManyValues: "too many values in a line, up to byte \(column)"
    case .trailingBytes: "unexpected bytes after the JSON at byte \(column)"
    }
  }
}
