import KVClone
import KVCloneExplorer
import KVCloneMerge

/// A plan of a merge as a tree: each object with what the merge does to it, and below it its properties and conflicts.
struct MergePlanText {
  private let report: MergeReport
  private let values: MergeValueText
  private let style: Style

  /// The changes and conflicts of one object.
  private struct Entry {
    let name: String
    var change: MergeChange?
    var conflicts: [ObjectConflict] = []
    var answers: [ResolvedConflict] = []
  }

  init(_ report: MergeReport, _ names: MergeNames, _ style: Style) {
    self.report = report
    values = MergeValueText(names)
    self.style = style
  }

  /// - Parameter subject: what is merged: `spring`.
  func write(_ subject: String, to output: Output) throws {
    if report.isRepeated {
      return try output.line("would merge nothing: the idempotency key was used before; prints that result again")
    }
    let conflicts = report.conflicts.isEmpty ? "" : "; \(Text.count(report.conflicts.count, "conflict"))"
    try output.line("would merge \(subject): \(report.objects.summary)\(conflicts)")
    if let estimates = report.estimates, !report.objects.isEmpty {
      try output.line(
        "would write \(Text.bytes(estimates.bytesWritten)), and hold the write lock for about "
          + Text.seconds(estimates.lock.inSeconds))
    }
    let entries = entries()
    for (index, entry) in entries.enumerated() {
      try write(entry, isLast: index == entries.count - 1, output)
    }
    try writeRest(output)
    try output.reasons(report.errors, count: report.errorCount)
  }

  /// The numbers of objects and conflicts beyond those in the tree.
  private func writeRest(_ output: Output) throws {
    let total = report.objects.inserted + report.objects.updated + report.objects.deleted
    if total > report.changes.count {
      try output.line("and \(Text.count(total - report.changes.count, "further changed object"))")
    }
    let conflicts = report.conflicts.count
    if conflicts > MergeReport.limit {
      try output.line("and \(Text.count(conflicts - MergeReport.limit, "further conflict"))")
    }
    if conflicts > 0 {
      try output.paragraph("resolve conflicts with --answers, --policy or --rule; without an answer, nothing is merged")
    }
  }

  /// The objects with changes and conflicts, in ascending order of ids.
  private func entries() -> [Entry] {
    var entries: [ObjectID: Entry] = [:]
    for change in report.changes { entries[change.id, default: Entry(name: change.object)].change = change }
    for conflict in report.shownConflicts {
      entries[conflict.id, default: Entry(name: conflict.object)].conflicts.append(conflict)
    }
    for resolved in report.shownAnswers {
      entries[resolved.conflict.id, default: Entry(name: resolved.conflict.object)].answers.append(resolved)
    }
    return entries.sorted { $0.key < $1.key }.map(\.value)
  }

  // MARK: One object

  private func write(_ entry: Entry, isLast: Bool, _ output: Output) throws {
    let sign = entry.conflicts.isEmpty ? entry.change?.kind.sign ?? " " : style.red("!")
    try output.line("\(isLast ? "└" : "├") \(sign) \(style.bold(entry.name))")
    let children = children(of: entry)
    let trunk = isLast ? "  " : "│ "
    for (index, lines) in children.enumerated() {
      let isLast = index == children.count - 1
      for (number, line) in lines.enumerated() {
        let branch = number == 0 ? (isLast ? "└ " : "├ ") : (isLast ? "  " : "│ ")
        try output.line(trunk + branch + line)
      }
    }
  }

  /// The lines of each property and conflict.
  private func children(of entry: Entry) -> [[String]] {
    let properties = entry.change?.properties ?? []
    let width = properties.map(\.name.count).max() ?? 0
    var children = properties.map { property in
      let result =
        entry.change?.kind == .insert ? values.text(property.result) : values.change(property.ours, property.result)
      return ["\(Text.padded(property.name, width))  \(result)"]
    }
    for resolved in entry.answers {
      let answer = resolved.answer.map(values.text) ?? ""
      children.append([style.dim("\(values.sentence(resolved.conflict)): \(answer)")])
    }
    for conflict in entry.conflicts {
      let title = "\(style.red("!")) \(values.sentence(conflict)) (\(conflict.kind.rawValue))"
      children.append([title] + values.columns(conflict).map { "  \($0)" })
    }
    return children
  }
}

extension MergeChange.Kind {
  /// The sign in lists of differences.
  fileprivate var sign: String {
    switch self {
    case .insert: "+"
    case .update: "M"
    case .delete: "-"
    }
  }
}
