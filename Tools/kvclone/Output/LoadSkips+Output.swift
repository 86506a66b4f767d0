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
}

extension JSONWriter {
  /// Writes what was skipped as members of the current object.
  mutating func write(_ skips: LoadSkips) {
    member("skippedLines", skips.lineCount)
    member("skippedLinks", skips.linkCount)
    key("skipped")
    beginArray()
    for skipped in skips.skipped {
      beginObject()
      member("line", skipped.error.line ?? 0)
      member("kind", skipped.error.kindName)
      nullable("entity", skipped.error.entity)
      nullable("object", skipped.error.object)
      nullable("property", skipped.error.property)
      member("wholeObject", skipped.isWholeObject)
      member("message", skipped.error.message)
      endObject()
    }
    endArray()
  }
}
