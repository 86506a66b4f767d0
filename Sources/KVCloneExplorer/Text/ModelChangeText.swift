package import KVClone

extension ModelDifference.Change {
  /// A line of `model diff`, and of the explorer's list of differences.
  package var line: String {
    let place = property.map { "\(entity).\($0)" } ?? entity
    switch kind {
    case .added: return "+ \(place)" + (new.map { "  \($0)" } ?? "")
    case .removed: return "- \(place)"
    case .renamed: return "R \(place)  was \(formerName ?? "")"
    case .changed:
      // The values are not shown, only that they differ.
      if old == "…" { return "M \(place)  \(aspect ?? "")" }
      return "M \(place)  \(aspect ?? "") \(old ?? "none") → \(new ?? "none")"
    }
  }
}

extension JSONWriter {
  /// Writes warnings as the member `warnings`.
  package mutating func warnings(_ warnings: [ModelWarning]) {
    list("warnings", warnings) { json, warning in
      json.member("kind", warning.kind.rawValue)
      json.nullable("file", warning.file)
      json.nullable("entity", warning.entity)
      json.nullable("property", warning.property)
      json.member("message", warning.message)
    }
  }

  /// Writes the members of a change.
  package mutating func change(_ change: ModelDifference.Change) {
    member("kind", change.kind.rawValue)
    member("entity", change.entity)
    nullable("property", change.property)
    nullable("formerName", change.formerName)
    nullable("aspect", change.aspect)
    nullable("old", change.old)
    nullable("new", change.new)
    member("work", change.work.name)
    nullable("reason", change.work.reason)
  }
}
