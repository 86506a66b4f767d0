import KVClone
import KVCloneExplorer
import KVCloneMerge

/// The last part of the demo's text: the plan of a merge with a conflict, and its result.
struct DemoMergeReport {
  private static let shownChanges = 10

  let style: Style
  let source: String
  let clone: String
  let plan: MergePlan
  let result: MergeResult

  /// - Parameter name: Returns the name of an object.
  func lines(_ name: (ObjectID) throws -> String) throws -> [String] {
    let changes = plan.changes.prefix(Self.shownChanges)
    let conflicts = Text.count(plan.conflicts.count, "conflict")
    var lines = [
      "", style.bold("Edited on both sides, and merged"),
      "\(clone) is a draft: it was cloned with its base. Then one transaction edited the original, and",
      "another one the draft. The plan of the merge into \(source) has \(conflicts):", "",
    ]
    for conflict in plan.conflicts {
      let values = try [("base", conflict.base), ("original", conflict.ours), ("draft", conflict.theirs)]
        .map { "\($0.0) \(try text($0.1, name))" }
      lines.append(style.bold("  ! \(conflict.object) \(conflict.property ?? ""): \(values.joined(separator: ", "))"))
    }
    for change in changes { lines.append("  " + (try line(change, name))) }
    let answered = result.resolved.map { "\($0.conflict.object) \($0.conflict.property ?? "")" }
    lines += [
      "",
      "Resolved with the draft's value: \(answered.joined(separator: ", ")). Merged in "
        + "\(Text.seconds(result.duration.inSeconds)); no image was copied.",
    ]
    return lines
  }

  private func line(_ change: MergeChange, _ name: (ObjectID) throws -> String) throws -> String {
    let properties = try change.properties.map { property in
      switch property.result {
      case .attribute where change.kind == .update:
        "\(property.name) \(try text(property.base, name)) → \(try text(property.result, name))"
      case .attribute, .object: "\(property.name) \(try text(property.result, name))"
      case .members, nil: property.name
      }
    }
    let line = "\(change.object) \(properties.joined(separator: ", "))"
    return switch change.kind {
    case .insert: style.green("+ \(line)")
    case .update: "M \(line)"
    case .delete: "- \(line)"
    }
  }

  private func text(_ value: ObjectConflict.Value?, _ name: (ObjectID) throws -> String) throws -> String {
    switch value {
    case .attribute(let value?): ValueText.describe(value)
    case .object(let id?): try name(id)
    case .members(let ids): Text.count(ids.count, "object")
    case .attribute(nil), .object(nil), nil: "(empty)"
    }
  }
}
