extension QueryTokenizer {
  /// Reads a placeholder, such as `%@` or `%ld`; the next scalar is the percent sign.
  mutating func place() throws(QueryFormatError) -> QueryToken {
    let start = position
    position += 1
    // C's length modifiers are ignored.
    while let scalar = peek(), "hlqjztL".unicodeScalars.contains(scalar) { position += 1 }
    let hasSize = position > start + 1
    guard let letter = peek() else { throw invalidPlace(at: start) }
    position += 1
    switch letter {
    case "d", "i", "u", "x", "X", "o", "c": return .argument(try integerArgument(at: start))
    case "f", "F", "e", "E", "g", "G", "a", "A": return .argument(try realArgument(at: start))
    case "@" where !hasSize: return .argument(try takeArgument(at: start))
    case "K" where !hasSize:
      guard case .value(.string(let path)) = try takeArgument(at: start) else {
        throw error(.wrongArgumentType, "%K requires a text: the name of a property, or a key path", at: start)
      }
      return .path(path)
    case "%" where !hasSize: return .symbol(.percent)
    default: throw invalidPlace(at: start)
    }
  }

  private func invalidPlace(at start: Int) -> QueryFormatError {
    let message = "a percent sign starts an unknown placeholder; write %@, %K, %d or %f, or put texts in quotes"
    return error(.invalidSpecifier, message, at: start)
  }

  private mutating func integerArgument(at start: Int) throws(QueryFormatError) -> QueryArgument {
    switch try takeArgument(at: start) {
    case .value(.boolean(let flag)): return .value(.integer(flag ? 1 : 0))
    case .value(let value):
      if let number = AttributeType.integer64.coerce(value) { return .value(number) }
    default: break
    }
    throw error(.wrongArgumentType, "this placeholder requires an integer; write %@ for other values", at: start)
  }

  private mutating func realArgument(at start: Int) throws(QueryFormatError) -> QueryArgument {
    switch try takeArgument(at: start) {
    case .value(.double(let number)): return .value(.double(number))
    case .value(.float(let number)): return .value(.double(Double(number)))
    case .value(.integer(let number)): return .value(.double(Double(number)))
    case .value(.decimal(let number)):
      if let number = Double(number.description) { return .value(.double(number)) }
    default: break
    }
    throw error(.wrongArgumentType, "this placeholder requires a number; write %@ for other values", at: start)
  }
}
