import Foundation

/// Finds the passages of a file that users read.
enum PublicText {
  static func passages(in path: String, _ text: String) -> [Passage] {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let folders = path.split(separator: "/").map(String.init)
    let isProduct = ["Sources", "Tools", "Benchmarks", "Examples"].contains(folders[0])
    if path.hasSuffix(".md") || path.hasSuffix(".tutorial") {
      return folders[0] == "Tests" ? [] : markdown(numbered(lines))
    }
    if path.hasSuffix(".swift") {
      guard folders[0] == "Sources" || path.hasPrefix("Tools/kvclone") && !path.hasPrefix("Tools/kvclone-faults/")
      else {
        return []
      }
      let isDocumented = folders[0] == "Sources" && documentedModules.contains(folders[1])
      return (isDocumented ? documentation(lines) : []) + SwiftLiterals.passages(in: text)
    }
    if isProduct, lines[0].hasPrefix("#!"), lines[0].hasSuffix("bash") {
      return script(lines)
    }
    return []
  }

  /// The modules that the reference documents.
  private static let documentedModules: Set = [
    "KVClone", "KVCloneMerge", "KVCloneModel", "KVCloneCoreData", "KVCloneService",
  ]

  private static func numbered(_ lines: [String]) -> [Passage.Line] {
    lines.enumerated().map { Passage.Line(number: $0.offset + 1, text: $0.element, source: $0.element) }
  }

  /// Paragraphs, list items, headings and rows of tables; neither code nor captures of the command line.
  static func markdown(_ lines: [Passage.Line]) -> [Passage] {
    var found: [Passage] = []
    var isOpen = false
    var isCode = false
    var isCapture = false
    for line in lines {
      let content = line.text.drop(while: \.isWhitespace)
      if content.hasPrefix("<!-- capture") { isCapture = true }
      if content.hasPrefix("<!-- end of capture") { isCapture = false }
      if content.hasPrefix("```") {
        isCode.toggle()
        isOpen = false
      } else if isCode || isCapture || content.isEmpty || content.hasPrefix("<!--") {
        isOpen = false
      } else if content.hasPrefix("|") || content.hasPrefix("@") || content.hasPrefix("#") {
        found.append(Passage(lines: [line], isWrapped: false))
        isOpen = false
      } else if isOpen, !isListItem(content), let last = found.indices.last {
        found[last].lines.append(line)
      } else {
        found.append(Passage(lines: [line], isWrapped: true))
        isOpen = true
      }
    }
    return found
  }

  private static func isListItem(_ content: Substring) -> Bool {
    content.hasPrefix("- ") || content.hasPrefix("* ") || content.firstMatch(of: /^\d+\.\s/) != nil
  }

  /// The doc comments of public declarations.
  static func documentation(_ lines: [String]) -> [Passage] {
    var found: [Passage] = []
    var comment: [Passage.Line] = []
    /// Types around the line, with their indentation, and whether what is in them is public without saying so.
    var types: [(indentation: Int, impliesPublic: Bool)] = []
    for (index, line) in lines.enumerated() {
      let content = line.drop(while: \.isWhitespace)
      let indentation = line.count - content.count
      if content.hasPrefix("///") {
        comment.append(Passage.Line(number: index + 1, text: String(content.dropFirst(3)), source: line))
        continue
      }
      if content.isEmpty {
        comment = []
        continue
      }
      // Attributes may stand on lines of their own between a comment and its declaration.
      if content.hasPrefix("@"), content.firstMatch(of: declaration) == nil { continue }
      types.removeAll { $0.indentation >= indentation }
      let isPublic =
        content.firstMatch(of: /\b(?:public|open)\b/) != nil || types.last?.impliesPublic == true && !isHidden(content)
      if isPublic { found += markdown(comment) }
      comment = []
      if let match = content.firstMatch(of: declaration), match.1 != "func" {
        let implies = ["protocol", "enum", "extension"].contains(match.1)
        // A type in an enumeration is not public because its cases are.
        types.append((indentation, isPublic && implies && (match.1 != "extension" || content.hasPrefix("public"))))
      }
    }
    return found
  }

  /// Whether a member of a public protocol, enumeration or extension is not public all the same.
  private static func isHidden(_ content: Substring) -> Bool {
    content.firstMatch(of: /\b(?:private|fileprivate|internal|package)\b/) != nil
      || content.firstMatch(
        of: /^(?:indirect )?(?:case|var|func|mutating|borrowing|associatedtype|static|init|subscript)\b/)
        == nil
  }

  private static nonisolated(unsafe) let declaration =
    /\b(struct|enum|class|actor|protocol|extension|func)\s+\w/

  /// The output of a script: everything but its comments.
  static func script(_ lines: [String]) -> [Passage] {
    numbered(lines).filter { !$0.text.drop(while: \.isWhitespace).hasPrefix("#") }
      .map { Passage(lines: [$0], isWrapped: false) }
  }
}
