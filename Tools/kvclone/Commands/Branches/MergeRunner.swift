import ArgumentParser
import KVClone
import KVCloneExplorer
import KVCloneMerge
import KVCloneOperations

/// Carries out a merge of the command line, or prints its plan.
struct MergeRunner {
  let global: GlobalOptions
  let group: MergeOptionGroup
  /// The object of the sentences about the merge: `spring`.
  let subject: String
  let store: ObjectStore
  /// Ours, theirs and the base, for names.
  let states: [MergeNames.State]
  let plan: (MergeOptions) throws -> MergePlan
  let merge: (MergeOptions) throws -> MergeResult

  func run() throws {
    var options = try group.options()
    if let answers = group.answers { options.answers = try ConflictAnswers.read(answers, store.model, id: id(named:)) }
    let progress = ProgressBar("merge", unit: "objects", total: nil, global)
    options.progress = progress.watch(global)
    defer { progress.finish() }
    if group.isDryRun {
      let (plan, report) = try planned(options)
      progress.finish()
      if group.dump {
        try dump(plan)
        if let code = report.code { throw failure(of: report, code) }
      } else {
        try write(report)
        if let code = report.code { throw ExitCode(code) }
      }
      return
    }
    let result: MergeResult
    do {
      result = try merge(options)
    } catch {
      Interruption.note(.failed)
      progress.finish()
      // The reasons in full, as the plan has them.
      if let error = error as? MergeError, [.conflicts, .brokenRules, .staleAnswers].contains(error.kind),
        let report = try? planned(options).1, let code = report.code
      {
        try write(report)
        throw failure(error, code)
      }
      throw error
    }
    progress.finish()
    try write(MergeReport(result, isJSON: global.json))
  }

  private func planned(_ options: MergeOptions) throws -> (MergePlan, MergeReport) {
    let start = ContinuousClock.now
    let plan = try plan(options)
    return (plan, MergeReport(plan, .now - start, isJSON: global.json))
  }

  /// The error of a refused merge: with the options of the tool, and with the code of a plan.
  private func failure(_ error: MergeError, _ code: Int32) -> Failure {
    var failure = Failure(error)
    failure.code = code
    if error.kind == .conflicts { failure.message += "; see --answers, --policy and --rule" }
    return failure
  }

  /// Returns the id with a name, also of an object that none of the states has.
  private func id(named name: String) throws -> ObjectID? {
    for state in states {
      var found: ObjectID?
      try state { transaction in found = try? transaction.objectID(named: name) }
      if let found { return found }
    }
    return try store.read { transaction in transaction.objectID(ofDeleted: name) }
  }

  /// The error after the state of a plan that would be refused, of which stdout has no reasons.
  private func failure(of report: MergeReport, _ code: Int32) -> Failure {
    let remedy = "run without --dump to see all"
    if let issue = report.errors.first {
      let rest = report.errorCount > 1 ? " (and \(report.errorCount - 1) more)" : ""
      return Failure(
        issue.kindName, "\(subject) cannot be merged: \(issue.message)\(rest); \(remedy)", code: code,
        entity: issue.entity, property: issue.property, object: issue.object)
    }
    return Failure(
      MergeError.Kind.conflicts.rawValue,
      "\(subject) cannot be merged: \(Text.count(report.conflicts.count, "conflict")) without an answer, where ours "
        + "remains; \(remedy)", code: code)
  }

  // MARK: Output

  private func write(_ report: MergeReport) throws {
    let names = try MergeNames(report, states)
    if report.isMerged {
      return try global.report {
        $0.merge(report, names)
      } text: { output in
        try write(merged: report, output)
      }
    }
    try global.show {
      $0.merge(report, names)
    } text: { output in
      try MergePlanText(report, names, Style(global)).write(subject, to: output)
    }
  }

  private func write(merged report: MergeReport, _ output: Output) throws {
    if report.isRepeated {
      return try output.paragraph("merged nothing: the idempotency key was used before, for \(report.objects.summary)")
    }
    if report.objects.isEmpty, report.snapshots.isEmpty {
      return try output.paragraph("merged \(subject): no changes")
    }
    let answered = report.answeredCount == 0 ? "" : "; \(Text.count(report.answeredCount, "conflict")) resolved"
    try output.paragraph("merged \(subject): \(report.objects.summary)\(answered)")
    // A publish has one of the store and one of the branch, usually with the same name.
    let names = report.snapshots
    if names.count == 2 {
      try output.paragraph("state before the merge: snapshot \(names[0]) of the store, \(names[1]) of \(subject)")
    } else if let name = names.first {
      try output.paragraph("state before the merge: snapshot \(name)")
    }
  }

  /// Writes the merged state.
  private func dump(_ plan: MergePlan) throws {
    let output = Output()
    try plan.read { transaction in _ = try transaction.dump { try output.write($0) } }
    try output.flush()
  }
}

extension MergeCount {
  /// `1 inserted, 2 updated, 0 deleted`.
  var summary: String { "\(inserted) inserted, \(updated) updated, \(deleted) deleted" }
}
