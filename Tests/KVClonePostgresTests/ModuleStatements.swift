#if Postgres
  import Foundation

  /// The texts of all SQL statements in the sources of the module, so that none can be forgotten in a test.
  enum ModuleStatements {
    private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Sources/KVClonePostgres")

    private static let verbs = ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH ", "MERGE ", "COPY ("]

    /// Interpolations in the texts, with examples of their values.
    private static let interpolations: [(text: String, values: [String])] = [
      (#"\(MoveState.arriving)"#, ["1"]), (#"\(MoveState.moved)"#, ["2"]), (#"\(MoveState.arrived)"#, ["3"]),
      (#"\(MoveState.replacesMarker)"#, ["4"]), (#"\(CommitList.limit)"#, ["256"]), (#"\(rowLimit)"#, ["1024"]),
      (#"\(TableCode.metadata.rawValue)"#, ["1"]), (#"'\(limit) s'"#, ["'60 s'"]), (#"\(limit)"#, ["256"]),
      (#"\(version)"#, ["1"]),
      (#"kvclone.\($0) "#, ["stager", "tally", "commit", "entry"].map { "kvclone.\($0) " }),
    ]

    /// All statements with a plan, in one line each.
    static func all() throws -> [String] {
      let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
      let paths = (files?.allObjects as? [URL] ?? []).filter { $0.pathExtension == "swift" }
      let literal = try NSRegularExpression(pattern: #""""\n([\s\S]*?)"""|"((?:[^"\\\n]|\\.)*)""#)
      var found: [String] = []
      for path in paths.sorted(by: { $0.path < $1.path }) {
        let text = try String(contentsOf: path, encoding: .utf8)
        for match in literal.matches(in: text, range: NSRange(text.startIndex..., in: text)) {
          guard let range = Range(match.range(at: 1), in: text) ?? Range(match.range(at: 2), in: text) else { continue }
          let statement = text[range].replacingOccurrences(of: "\\\n", with: " ")
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
          if verbs.contains(where: statement.hasPrefix) { found += expanded(statement) }
        }
      }
      return found
    }

    /// Replaces the interpolations, and returns the query of a COPY.
    private static func expanded(_ statement: String) -> [String] {
      var texts = [statement]
      for (text, values) in interpolations where statement.contains(text) {
        texts = texts.flatMap { found in values.map { found.replacingOccurrences(of: text, with: $0) } }
      }
      return texts.map { text in
        guard text.hasPrefix("COPY ("), let end = text.range(of: ") TO ", options: .backwards) else { return text }
        return String(text[text.index(text.startIndex, offsetBy: 6)..<end.lowerBound])
      }
    }

    /// The number of parameters of a statement.
    static func parameterCount(_ statement: String) -> Int {
      (1...9).last { statement.contains("$\($0)") } ?? 0
    }
  }
#endif
