import ArgumentParser
import KVClone

/// The values of `query --select`: expressions separated by commas, each with its own name or named by its text.
enum QueryColumns {
  /// - Parameter option: the name of the text in errors.
  static func parse(_ text: String, _ option: String, _ entity: String) throws -> [ExpressionDescription] {
    var columns: [ExpressionDescription] = []
    for part in split(text) {
      let (name, format) = named(part)
      guard !format.isEmpty else {
        throw ValidationError("\(option) needs comma-separated values; one is missing")
      }
      if columns.contains(where: { $0.name == name }) {
        throw ValidationError("\(option) has two values named \(name); rename one with NAME=VALUE")
      }
      do {
        columns.append(try description(name, format))
      } catch {
        throw failure(error, option, entity)
      }
    }
    return columns
  }

  /// The error for an invalid format. An invalid constant is not a usage error: it ends the command like the same
  /// constant in a comparison with a property.
  static func failure(_ error: QueryFormatError, _ place: String, _ entity: String) -> any Error {
    if error.kind == .invalidValue { return Failure("wrongType", "\(place), \(error)", entity: entity) }
    return ValidationError("\(place), \(error)")
  }

  private static func description(_ name: String, _ format: String) throws(QueryFormatError) -> ExpressionDescription {
    if format == "@count" { return ExpressionDescription(name, .function(.count, [.`self`])) }
    // Names may be keywords, and then are not expressions.
    if format.allSatisfy({ isOfName($0) || $0 == "." }) {
      return ExpressionDescription(name, ExpressionDescription(keyPath: format).expression)
    }
    return try ExpressionDescription(name, format: format)
  }

  /// `total=sum:(price)` is named `total`; others are named by their text.
  private static func named(_ text: String) -> (name: String, format: String) {
    guard let sign = text.firstIndex(of: "="), sign != text.startIndex, text[..<sign].allSatisfy(isOfName),
      text[text.index(after: sign)...].first != "="
    else { return (text, text) }
    return (String(text[..<sign]), trimmed(text[text.index(after: sign)...]))
  }

  private static func isOfName(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "_"
  }

  /// Splits at commas outside of parentheses and texts, and trims spaces.
  static func split(_ text: String) -> [String] {
    var parts: [String] = []
    var part = ""
    var depth = 0
    var quote: Character?
    var isEscaped = false
    for character in text {
      if let open = quote {
        if isEscaped {
          isEscaped = false
        } else if character == "\\" {
          isEscaped = true
        } else if character == open {
          quote = nil
        }
      } else if character == ",", depth == 0 {
        parts.append(trimmed(part))
        part = ""
        continue
      } else if "'\"".contains(character) {
        quote = character
      } else if "([{".contains(character) {
        depth += 1
      } else if ")]}".contains(character) {
        depth -= 1
      }
      part.append(character)
    }
    return parts + [trimmed(part)]
  }

  private static func trimmed(_ text: some StringProtocol) -> String {
    String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}
