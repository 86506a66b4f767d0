/// The difference of two texts, by words, or by lines if they differ in many words.
///
/// The cost is bounded: long texts are compared at their ends, and a middle with too many lines counts as replaced.
struct TextDifference: Sendable, Equatable {
  /// A part of one text.
  struct Part: Sendable, Equatable {
    var text: String
    /// Whether the other text lacks it.
    var isChanged: Bool
  }

  private(set) var old: [Part] = []
  private(set) var new: [Part] = []

  /// The number of units in the middle of both texts that are compared with each other.
  private static let maximumUnits = 2000
  /// The number of bytes of each text that are shown.
  private static let maximumBytes = 20_000
  /// The number of characters around changes that are shown.
  private static let context = 200

  init(from old: String, to new: String) {
    let (old, new) = (Self.beginning(old), Self.beginning(new))
    var (first, second) = (Self.words(old)[...], Self.words(new)[...])
    var prefix = Self.commonPrefix(first, second)
    (first, second) = (first.dropFirst(prefix.count), second.dropFirst(prefix.count))
    var suffix = Self.commonPrefix(first.reversed()[...], second.reversed()[...])
    (first, second) = (first.dropLast(suffix.count), second.dropLast(suffix.count))
    suffix.reverse()
    if first.count + second.count > Self.maximumUnits {
      (first, second) = (Self.lines(first.joined())[...], Self.lines(second.joined())[...])
    }
    // The parts around the changes: only the nearest of them are shown.
    prefix = Self.end(of: prefix.joined()).map { [$0] } ?? []
    suffix = Self.start(of: suffix.joined()).map { [$0] } ?? []
    add(prefix, isChanged: false)
    if first.count + second.count > Self.maximumUnits {
      Self.append(first.joined(), true, to: &self.old)
      Self.append(second.joined(), true, to: &self.new)
    } else {
      compare(Array(first), Array(second))
    }
    add(suffix, isChanged: false)
  }

  private mutating func add(_ units: [String], isChanged: Bool) {
    for unit in units {
      Self.append(unit, isChanged, to: &old)
      Self.append(unit, isChanged, to: &new)
    }
  }

  private mutating func compare(_ first: [String], _ second: [String]) {
    var removed: Set<Int> = []
    var inserted: Set<Int> = []
    for change in second.difference(from: first) {
      switch change {
      case .remove(let offset, _, _): removed.insert(offset)
      case .insert(let offset, _, _): inserted.insert(offset)
      }
    }
    for (index, unit) in first.enumerated() { Self.append(unit, removed.contains(index), to: &old) }
    for (index, unit) in second.enumerated() { Self.append(unit, inserted.contains(index), to: &new) }
  }

  /// Adds a text, joined with the part before it if both are changed, or both are not.
  private static func append(_ text: String, _ isChanged: Bool, to parts: inout [Part]) {
    if text.isEmpty { return }
    if parts.last?.isChanged == isChanged {
      parts[parts.count - 1].text += text
    } else {
      parts.append(Part(text: text, isChanged: isChanged))
    }
  }

  private static func beginning(_ text: String) -> String {
    text.utf8.count <= maximumBytes ? text : Excerpt.beginning(of: text, maximumBytes)
  }

  /// The end of the text before the first change, with an ellipsis if there is more.
  private static func end(of text: String) -> String? {
    if text.isEmpty { return nil }
    return text.count <= context ? text : "…" + text.suffix(context)
  }

  /// The start of the text after the last change, with an ellipsis if there is more.
  private static func start(of text: String) -> String? {
    if text.isEmpty { return nil }
    return text.count <= context ? text : text.prefix(context) + "…"
  }

  /// Words, and the characters between them, each alone.
  private static func words(_ text: String) -> [String] {
    var units: [String] = []
    var word = ""
    for character in text {
      if character.isLetter || character.isNumber {
        word.append(character)
        continue
      }
      if !word.isEmpty { units.append(word) }
      word = ""
      units.append(String(character))
    }
    if !word.isEmpty { units.append(word) }
    return units
  }

  /// Lines with their ends.
  private static func lines(_ text: String) -> [String] {
    var units: [String] = []
    var line = ""
    for character in text {
      line.append(character)
      if character.isNewline {
        units.append(line)
        line = ""
      }
    }
    if !line.isEmpty { units.append(line) }
    return units
  }

  private static func commonPrefix(_ first: ArraySlice<String>, _ second: ArraySlice<String>) -> [String] {
    var units: [String] = []
    for (one, other) in zip(first, second) {
      if one != other { break }
      units.append(one)
    }
    return units
  }

  // MARK: Pages

  /// Whether a difference is marked: it can be after the part that is shown, or in the encoding of characters only.
  var isMarked: Bool { old.contains(where: \.isChanged) || new.contains(where: \.isChanged) }

  /// The old text, with `del` elements.
  var oldHTML: HTML { Self.html(old) { "<del>\($0)</del>" } }

  /// The new text, with `ins` elements.
  var newHTML: HTML { Self.html(new) { "<ins>\($0)</ins>" } }

  private static func html(_ parts: [Part], _ mark: (HTML) -> HTML) -> HTML {
    "<div class=\"text\">\(HTML(parts.map { $0.isChanged ? mark(lines(of: $0.text)) : lines(of: $0.text) }))</div>"
  }

  /// A text with its line breaks.
  static func lines(of text: String) -> HTML {
    var html = HTML.empty
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      if index > 0 { html += "<br>" }
      html += "\(line)"
    }
    return html
  }
}
