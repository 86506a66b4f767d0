import KVClone
import KVCloneExplorer
import KVCloneOperations

extension LoadSkips {
  /// The skipped lines and links, a line each.
  var list: String {
    var list = ""
    for skipped in skipped {
      let what = skipped.isWholeObject ? "skipped" : "link left out"
      let object = skipped.error.object.map { " (\($0))" } ?? ""
      let text = "\(what): \(skipped.error.kindName): \(skipped.error.message)\(object)"
      // Names of unknown properties and ids come from the file.
      let scalars = text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }
      list += String(String.UnicodeScalarView(scalars)) + "\n"
    }
    let rest = lineCount + linkCount - skipped.count
    return rest > 0 ? list + "and \(rest) more\n" : list
  }

  /// Writes what was skipped as members of the current object.
  func write(to json: inout JSONWriter) {
    json.member("skippedLines", lineCount)
    json.member("skippedLinks", linkCount)
    json.list("skipped", skipped) { json, skipped in
      json.skipped(skipped.error, isWholeObject: skipped.isWholeObject, line: skipped.error.line ?? 0)
    }
  }
}
