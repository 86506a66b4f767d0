import Foundation
public import KVCloneModel

/// Text in the form for comparisons.
@usableFromInline
package enum QueryText {
  /// Returns the text without what `[c]` and `[d]` ignore: letter case, diacritics. Both by Unicode, independent of
  /// language.
  @inlinable
  package static func folded(_ text: String, _ options: QueryComparison.Options) -> String {
    options.isEmpty ? text : folding(text, options)
  }

  @usableFromInline
  static func folding(_ text: String, _ options: QueryComparison.Options) -> String {
    var folding: String.CompareOptions = []
    if options.contains(.caseInsensitive) { folding.insert(.caseInsensitive) }
    if options.contains(.diacriticInsensitive) { folding.insert(.diacriticInsensitive) }
    if folding.isEmpty { return text }
    // Most texts are ASCII, where only letters change.
    if text.utf8.allSatisfy({ $0 < 0x80 }) {
      return options.contains(.caseInsensitive) ? text.lowercased() : text
    }
    return text.folding(options: folding, locale: nil)
  }

  /// Whether `text` contains `part`, by code points.
  @inlinable
  package static func contains(_ text: String, _ part: String) -> Bool {
    var (text, part) = (text, part)
    return text.withUTF8 { text in
      part.withUTF8 { part in
        if part.isEmpty { return true }
        guard let first = part.first, text.count >= part.count else { return false }
        var start = 0
        while start <= text.count - part.count {
          if text[start] == first, UnsafeBufferPointer(rebasing: text[start..<start + part.count]).elementsEqual(part) {
            return true
          }
          start += 1
        }
        return false
      }
    }
  }

  /// Returns a key with an order by code points that is the order of `text` with runs of digits compared as numbers:
  /// each run is written as its number of digits without leading zeros, then these. The length starts with a digit like
  /// the run, so that the order of texts and numbers is unchanged: 9 for each nine digits, then the rest, 0 to 8.
  package static func numericKey(_ text: String) -> String {
    var result: [UInt8] = []
    result.reserveCapacity(text.utf8.count + 4)
    var run: [UInt8]?
    func end(_ run: [UInt8]) {
      result.append(contentsOf: repeatElement(UInt8(ascii: "9"), count: run.count / 9))
      result.append(UInt8(ascii: "0") + UInt8(run.count % 9))
      result.append(contentsOf: run)
    }
    for byte in text.utf8 {
      if byte &- UInt8(ascii: "0") < 10 {
        // Leading zeros are ignored, but the number itself is not.
        if run == nil { run = [] }
        if run?.isEmpty == false || byte != UInt8(ascii: "0") { run?.append(byte) }
      } else {
        if let whole = run { end(whole) }
        run = nil
        result.append(byte)
      }
    }
    if let whole = run { end(whole) }
    return String(decoding: result, as: UTF8.self)
  }

  @inlinable
  package static func begins(_ text: String, with part: String) -> Bool { text.utf8.starts(with: part.utf8) }

  @inlinable
  package static func ends(_ text: String, with part: String) -> Bool {
    text.utf8.count >= part.utf8.count && text.utf8.suffix(part.utf8.count).elementsEqual(part.utf8)
  }
}

/// A pattern of LIKE: `?` matches one character, `*` any number, `\` escapes either.
package struct LikePattern {
  private enum Piece: Equatable {
    case one(Unicode.Scalar)
    case any
    case rest
  }

  private var pieces: [Piece] = []

  package init(_ pattern: String) {
    var isEscaped = false
    for scalar in pattern.unicodeScalars {
      if isEscaped {
        pieces.append(.one(scalar))
        isEscaped = false
      } else if scalar == "\\" {
        isEscaped = true
      } else if scalar == "?" {
        pieces.append(.any)
      } else if scalar == "*" {
        // Several stars are equivalent to one.
        if pieces.last != .rest { pieces.append(.rest) }
      } else {
        pieces.append(.one(scalar))
      }
    }
    if isEscaped { pieces.append(.one("\\")) }
  }

  /// Whether the whole text matches. Backtracks to the last star only, so the time is at most the product of both
  /// lengths.
  package func matches(_ text: String) -> Bool {
    let scalars = Array(text.unicodeScalars)
    var (place, piece) = (0, 0)
    var star: (piece: Int, place: Int)?
    while place < scalars.count {
      if piece < pieces.count, pieces[piece] == .rest {
        star = (piece, place)
        piece += 1
      } else if piece < pieces.count, pieces[piece] == .any || pieces[piece] == .one(scalars[place]) {
        place += 1
        piece += 1
      } else if let back = star {
        star = (back.piece, back.place + 1)
        (piece, place) = (back.piece + 1, back.place + 1)
      } else {
        return false
      }
    }
    return pieces[piece...].allSatisfy { $0 == .rest }
  }
}
