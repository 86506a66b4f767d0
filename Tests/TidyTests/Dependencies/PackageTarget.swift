import Foundation

/// A target of Package.swift: its sources, and the targets that it depends on.
struct PackageTarget: Equatable {
  var name: String
  var path: String
  var dependencies: [String]

  /// Reads the targets of a manifest. Targets that are appended under a condition are not found.
  static func targets(inManifest text: String) -> [PackageTarget] {
    let call = ProseRules.expression(#"\.(?:systemLibrary|target|executableTarget|testTarget|plugin)\("#)
    guard let start = text.range(of: "\n  targets: [") else { return [] }
    let list = String(text[start.upperBound...])
    var found: [PackageTarget] = []
    var next = 0
    for match in call.matches(in: list, range: NSRange(location: 0, length: (list as NSString).length)) {
      guard match.range.location >= next else { continue }
      let arguments = (list as NSString).substring(from: match.range.location + match.range.length)
      let body = untilClosed(arguments)
      next = match.range.location + match.range.length + (body as NSString).length
      let call = (list as NSString).substring(with: match.range)
      if call == ".testTarget(" || call == ".plugin(" { continue }
      guard let name = first(#"^\s*name: "(\w+)""#, in: body) else { continue }
      let path = first(#"path: "([^"]+)""#, in: body) ?? "Sources/\(name)"
      let dependencies = body.range(of: "dependencies: [").map { untilClosed(String(body[$0.upperBound...])) } ?? ""
      found.append(PackageTarget(name: name, path: path, dependencies: strings(in: dependencies)))
    }
    return found
  }

  /// The text up to the bracket that closes one opened before it.
  private static func untilClosed(_ text: String) -> String {
    var depth = 1
    for index in text.indices {
      if text[index] == "(" || text[index] == "[" { depth += 1 }
      if text[index] == ")" || text[index] == "]" { depth -= 1 }
      if depth == 0 { return String(text[..<index]) }
    }
    return text
  }

  private static func first(_ pattern: String, in text: String) -> String? {
    let range = NSRange(location: 0, length: (text as NSString).length)
    return ProseRules.expression(pattern).firstMatch(in: text, range: range).map {
      (text as NSString).substring(with: $0.range(at: 1))
    }
  }

  private static func strings(in text: String) -> [String] {
    text.split(separator: "\"", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
      .map { String($0.element) }
  }
}
