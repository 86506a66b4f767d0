import KVClone
import KVCloneOperations

extension LoadSkips {
  /// Lists what was skipped on stderr, a line each.
  func list() {
    for skipped in skipped {
      let what = skipped.isWholeObject ? "skipped" : "link left out"
      let object = skipped.error.object.map { " (\($0))" } ?? ""
      let text = "\(what): \(skipped.error.kindName): \(skipped.error.message)\(object)"
      // Names of unknown properties and ids come from the file.
      let scalars = text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }
      StandardError.write(String(String.UnicodeScalarView(scalars)) + "\n")
    }
    let rest = lineCount + linkCount - skipped.count
    if rest > 0 { StandardError.write("and \(rest) more\n") }
  }

  /// Writes what was skipped as members of the current object.
  func write(to json: inout JSONWriter) {
    json.member("skippedLines", lineCount)
    json.member("skippedLinks", linkCount)
    json.key("skipped")
    json.beginArray()
    for skipped in skipped {
      json.beginObject()
      json.member("line", skipped.error.line ?? 0)
      json.member("kind", skipped.error.kindName)
      json.nullable("entity", skipped.error.entity)
      json.nullable("object", skipped.error.object)
      json.nullable("property", skipped.error.property)
      json.member("wholeObject", skipped.isWholeObject)
      json.member("message", skipped.error.message)
      json.endObject()
    }
    json.endArray()
  }
}
