import Foundation

/// The language of public text: no idioms that a reader has to decode, and no prose beyond 120 columns.
///
/// Public text is what users see: articles and other Markdown, doc comments of public declarations, texts in string
/// literals (help, errors, output), and what scripts print. Other comments of Swift and C sources may not contain idioms
/// either, and a doc comment begins with the thing that it describes.
enum ProseRules {
  struct Finding: Equatable, CustomStringConvertible {
    var line: Int
    var problem: String

    var description: String { "\(line): \(problem)" }
  }

  static let greatestWidth = 120

  /// Words and phrases that hide what acts, or have an established term. Matched as whole words, in any case.
  static let idioms = [
    "who", "whom", "whoever", "whose", "nobody", "somebody", "everybody", "anew", "told", "tells of", "lets go",
    "let go",
    "gives up", "given up", "good for nothing", "goes on", "meanwhile", "in step", "for want of", "save for",
    "by and by", "once more", "at hand", "it is said", "is asked", "are asked", "be asked", "was asked", "has to hold",
    "makes anew", "stands in", "the like", "such a", "there is none", "what others", "as it was",
  ]

  /// Words that a doc comment does not begin with: “What a call returned” is “The result of a call”.
  static let openings = ["What", "Where", "Who", "Whose", "How", "Says", "Tells", "Lets", "Forgets"]

  private static let idiom = expression(
    "\\b(?:" + idioms.map { $0.replacingOccurrences(of: " ", with: "\\s+") }.joined(separator: "|") + ")\\b")

  /// The findings in a file's public text, by line.
  static func findings(in path: String, _ text: String) -> [Finding] {
    PublicText.passages(in: path, text).flatMap(findings).sorted { $0.line < $1.line }
  }

  /// The findings in a source's comments, by line, whether or not they document public declarations.
  static func commentFindings(in path: String, _ text: String) -> [Finding] {
    SourceComments.passages(in: path, text).flatMap { idioms(in: $0) + openings(in: $0) }
  }

  private static func openings(in passage: Passage) -> [Finding] {
    guard let first = passage.lines.first, first.source.drop(while: \.isWhitespace).hasPrefix("///") else { return [] }
    let word = first.text.drop(while: \.isWhitespace).prefix(while: \.isLetter)
    return openings.contains(String(word)) ? [Finding(line: first.number, problem: "begins with “\(word)”")] : []
  }

  static func findings(in passage: Passage) -> [Finding] {
    idioms(in: passage) + (passage.isWrapped ? tooWide(passage) : [])
  }

  private static func idioms(in passage: Passage) -> [Finding] {
    let text = passage.joined as NSString
    return idiom.matches(in: text as String, range: NSRange(location: 0, length: text.length)).map { match in
      let words = text.substring(with: match.range).split(whereSeparator: \.isWhitespace).joined(separator: " ")
      return Finding(line: passage.line(at: match.range.location), problem: "“\(words.lowercased())”")
    }
  }

  /// Lines that could have been wrapped: the targets of links do not count, nor does a word that is too long by itself.
  private static func tooWide(_ passage: Passage) -> [Finding] {
    passage.lines.compactMap { line in
      let shown = linkTarget.stringByReplacingMatches(
        in: line.source, range: NSRange(location: 0, length: (line.source as NSString).length), withTemplate: "]")
      let start = shown.prefix { $0.isWhitespace || "/-*>".contains($0) }
      let isBreakable = shown.prefix(greatestWidth).dropFirst(start.count).contains(" ")
      guard shown.count > greatestWidth, isBreakable else { return nil }
      return Finding(line: line.number, problem: "\(shown.count) columns")
    }
  }

  private static let linkTarget = expression(#"\]\([^)]*\)"#)

  static func expression(_ pattern: String) -> NSRegularExpression {
    do {
      return try NSRegularExpression(pattern: pattern, options: .caseInsensitive)
    } catch {
      preconditionFailure("\(pattern): \(error)")
    }
  }
}

/// Lines that are read together, so that a phrase is found across their ends.
struct Passage {
  struct Line {
    var number: Int
    /// The text to check.
    var text: String
    /// The line as the file has it.
    var source: String
  }

  var lines: [Line]
  /// Whether the lines are prose that has to be wrapped.
  var isWrapped: Bool

  /// The text without code and links, each replaced by as many spaces.
  var joined: String {
    var text = lines.map(\.text).joined(separator: "\n")
    guard text.contains(where: { "`<]".contains($0) }) else { return text }
    for code in Self.hidden {
      let matches = code.matches(in: text, range: NSRange(location: 0, length: (text as NSString).length))
      for match in matches.reversed() {
        let blank = (text as NSString).substring(with: match.range).map { $0 == "\n" ? "\n" : " " }
        text = (text as NSString).replacingCharacters(
          in: match.range, with: blank.joined().padding(toLength: match.range.length, withPad: " ", startingAt: 0))
      }
    }
    return text
  }

  /// The number of the line that an offset into ``joined`` is on.
  func line(at offset: Int) -> Int {
    var end = -1
    for line in lines {
      end += (line.text as NSString).length + 1
      if offset < end { return line.number }
    }
    return lines.last?.number ?? 0
  }

  private static let hidden = [
    "``[^`]*``", "`[^`]*`", #"\]\([^)]*\)"#, "<doc:[^>]*>", "<!--.*?-->",
  ].map(ProseRules.expression)
}
