/// Questions about a token that hold beyond the ends of the list as well.
extension [SourceTokens.Token] {
  func isSymbol(_ index: Int, _ code: Int32) -> Bool {
    guard index >= 0, index < count else { return false }
    let token = self[index]
    return token.code == code && token.kind == .symbol
  }

  func isName(_ index: Int) -> Bool {
    guard index >= 0, index < count else { return false }
    return self[index].kind == .name || self[index].kind == .escapedName
  }

  func isSemicolon(_ index: Int) -> Bool { isSymbol(index, Symbol.semicolon) }

  func word(_ index: Int) -> Word? {
    guard index >= 0, index < count, self[index].kind == .name else { return nil }
    let code = Int(self[index].code)
    return code < Word.all.count ? Word.all[code] : nil
  }

  func isWord(_ index: Int, _ word: Word) -> Bool {
    guard index >= 0, index < count else { return false }
    return self[index].code == word.rawValue && self[index].kind == .name
  }

  /// The closing bracket of an opening one, or the end of the tokens if it is never closed.
  func partner(_ index: Int) -> Int {
    let partner = Int(self[index].partner)
    return partner > index ? partner : count - 1
  }

  func endOfAttribute(at index: Int) -> Int {
    var next = index + 2
    while isSymbol(next, Symbol.dot) { next += 2 }
    if isSymbol(next, Symbol.parenthesis), !self[next].isSpaced { next = partner(next) + 1 }
    return next
  }

  /// The end of the type that starts at `index`.
  func endOfType(at index: Int) -> Int {
    var next = index
    while true {
      next = endOfPrefix(at: next)
      guard next < count else { return next }
      if isSymbol(next, Symbol.parenthesis) || isSymbol(next, Symbol.bracket) {
        next = partner(next) + 1
      } else if isName(next) {
        next += 1
      } else {
        return next
      }
      next = endOfSuffixes(at: next)
      if isSymbol(next, Symbol.and) || isSymbol(next, Symbol.arrow) {
        next += 1
      } else {
        return next
      }
    }
  }

  /// Skips attributes and words before a type, as in `@escaping borrowing any`.
  func endOfPrefix(at index: Int) -> Int {
    var next = index
    while next < count {
      if isSymbol(next, Symbol.at) {
        next = endOfAttribute(at: next)
      } else if isSymbol(next, Symbol.tilde) {
        next += 1
      } else if let word = word(next), isTypePrefix(word), isName(next + 1) || startsType(next + 1) {
        next += 1
      } else {
        break
      }
    }
    return next
  }

  private func startsType(_ index: Int) -> Bool {
    isSymbol(index, Symbol.bracket) || isSymbol(index, Symbol.parenthesis) || isSymbol(index, Symbol.at)
      || isSymbol(index, Symbol.tilde)
  }

  private func isTypePrefix(_ word: Word) -> Bool {
    switch word {
    case .inout, .some, .any, .each, .repeat, .borrowing, .consuming, .sending, .isolated, .nonisolated, .unsafe: true
    default: false
    }
  }

  private func endOfSuffixes(at index: Int) -> Int {
    var next = index
    while next < count {
      if isSymbol(next, Symbol.less), !self[next].isSpaced {
        next = endOfAngles(at: next)
      } else if isSymbol(next, Symbol.dot), isName(next + 1) {
        next += 2
      } else if isSymbol(next, Symbol.question) || isSymbol(next, Symbol.exclamation), !self[next].isSpaced {
        next += 1
      } else if isSymbol(next, Symbol.nilCoalescing), !self[next].isSpaced {
        next += 1
      } else if let word = word(next), word == .async || word == .throws || word == .rethrows, leadsToArrow(next) {
        next += 1
        if isSymbol(next, Symbol.parenthesis) { next = partner(next) + 1 }
      } else {
        break
      }
    }
    return next
  }

  /// Whether `async throws(E)` at `index` belongs to a function type.
  private func leadsToArrow(_ index: Int) -> Bool {
    var next = index
    while let word = word(next), word == .async || word == .throws || word == .rethrows {
      next += 1
      if isSymbol(next, Symbol.parenthesis) { next = partner(next) + 1 }
    }
    return isSymbol(next, Symbol.arrow)
  }

  /// The end of a list in angle brackets.
  func endOfAngles(at index: Int) -> Int {
    var depth = 0
    var next = index
    while next < count {
      if isSymbol(next, Symbol.less) {
        depth += 1
      } else if isSymbol(next, Symbol.greater) {
        depth -= 1
      } else if self[next].partner > next {
        next = Int(self[next].partner)
      }
      next += 1
      if depth == 0 { break }
    }
    return next
  }
}
