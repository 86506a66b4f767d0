import ArgumentParser
import Foundation
import KVClone
import KVCloneExplorer

struct MigrateCommand: WholeStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate", abstract: "Migrates the store to another version of its model.",
    discussion: """
      Creates a snapshot of the old state, migrates in one transaction, and prints the name of the snapshot. An error \
      changes nothing.

      Without --mapping, infers one step from the store's version to the target version, and follows renaming \
      identifiers through the other versions of the bundle. With --mapping, uses every mapping model given, and at \
      most one inferred step before, between or after them; otherwise fails before it writes anything.

      If a step cannot be inferred, prints Swift code for a mapping model, with marks where you have to fill in values.
      """,
    examples: [
      "kvclone -s notes.kvclone migrate --model Notes.xcdatamodeld --plan",
      "kvclone -s notes.kvclone migrate --model Notes.xcdatamodeld --to \"Notes 3\"",
    ])

  @OptionGroup var global: GlobalOptions

  @Option(
    help: ArgumentHelp("The model: \(ModelPath.forms).", valueName: "path"), completion: ModelPath.completion)
  var model: String

  @Option(help: ArgumentHelp("The target version (default: the model's current one).", valueName: "version"))
  var to: String?

  @Option(
    help: ArgumentHelp(
      "A mapping model (.xcmappingmodel folder) for the step between its two versions (repeatable). Fails if unused.",
      valueName: "path"), completion: .directory)
  var mapping: [String] = []

  @Flag(
    help: ArgumentHelp(
      """
      Print what the migration would do, by running it in a transaction that is rolled back; holds the write lock. \
      Exit code 1 with all reasons if it would fail.
      """))
  var plan = false

  @Flag(name: .customLong("no-snapshot"), help: "Create no snapshot of the old state.")
  var makesNoSnapshot = false

  func run() throws {
    let address = try global.storeAddress()
    let loaded = try ManagedObjectModel.load(contentsOf: model, version: to)
    for warning in loaded.warnings { global.note("kvclone: warning: \(warning)") }
    let versions = try ManagedObjectModel.loadVersions(contentsOf: model).map(\.model)
    var mappings: [MappingModel] = []
    for path in mapping.withoutRepeats() {
      let loaded = try MappingModel.load(contentsOf: path)
      for warning in loaded.warnings { global.note("kvclone: warning: \(warning)") }
      try requireFitting(loaded.mapping, path, versions)
      mappings.append(loaded.mapping)
    }
    let options = MigrationOptions(
      versions: versions, mappings: mappings, takesSnapshot: !makesNoSnapshot, requiresAllMappings: true)
    let bar = ProgressBar(plan ? "migration plan" : "migrate", unit: "objects", total: nil, global)
    if plan {
      let plan = try Interruption.cancelling(bar) { progress, cancellation in
        try address.planMigration(to: loaded.model, options, progress: progress, cancellation)
      }
      return try tell(plan)
    }
    do {
      let report = try Interruption.cancelling(bar) { progress, cancellation in
        try address.migrate(to: loaded.model, options, progress: progress, cancellation)
      }
      try tell(report)
    } catch let error as StoreError {
      guard error.kind == .mappingRequired,
        let plan = try? address.planMigration(to: loaded.model, options)
      else { throw error }
      var failure = Failure(error)
      failure.mappingSkeleton = plan.mappingSkeleton
      if !global.json { try tellSkeleton(of: plan) }
      throw failure
    }
  }

  /// Checks a mapping model against its two versions, if the bundle has them, so that an error names the file.
  private func requireFitting(_ mapping: MappingModel, _ path: String, _ versions: [ManagedObjectModel]) throws {
    guard let from = versions.first(where: { $0.versionIdentifier == mapping.sourceVersionName }),
      let to = versions.first(where: { $0.versionIdentifier == mapping.destinationVersionName })
    else { return }
    do throws(MappingModelError) {
      _ = try mapping.resolved(from: from, to: to)
    } catch {
      throw Failure(error.kind.rawValue, "\(path): \(error)", entity: error.entity, property: error.property)
    }
  }

  /// Prints the source of mapping models for the refused steps.
  private func tellSkeleton(of plan: MigrationPlan) throws {
    guard let skeleton = plan.mappingSkeleton else { return }
    let output = Output()
    try output.line("\n// Mapping model for MigrationOptions.mappings:")
    try output.write(skeleton)
    try output.flush()
  }

  private func tell(_ plan: MigrationPlan) throws {
    try global.show {
      $0.plan(plan)
    } text: { output in
      if plan.steps.isEmpty { try output.line("nothing to do: the store already has this version") }
      for step in plan.steps {
        try output.line("\(step.from) → \(step.to): \(step.summary)")
        for change in step.changes where change.work != .none {
          try output.line("  " + change.line)
          if step.refusals.contains(change), let reason = change.work.reason {
            try output.paragraph("      cannot be inferred: \(reason)")
          }
        }
        for note in step.notes { try output.paragraph("  \(note)") }
      }
      if !plan.steps.isEmpty, plan.isPossible {
        try output.paragraph(
          "writes \(Text.bytes(plan.byteCount)) in about \(Text.seconds(plan.estimatedDuration.inSeconds))")
      }
      try output.reasons(plan.errors, count: plan.errorCount)
      try output.flush()
      try tellSkeleton(of: plan)
    }
    if !plan.isPossible { throw ExitCode(Failure.Code.failure) }
  }

  private func tell(_ report: MigrationReport) throws {
    for warning in report.warnings { global.note("kvclone: warning: \(warning)") }
    try global.report { json in
      json.member("versions", report.versions)
      json.nullable("snapshot", report.snapshot)
      json.member("rewritten", report.rewrittenCount)
      json.member("moved", report.movedCount)
      json.member("created", report.createdCount)
      json.member("deleted", report.deletedCount)
      json.member("bytes", report.byteCount)
      json.member("seconds", report.duration.inSeconds)
    } text: { output in
      let counts = [
        (report.rewrittenCount, "rewritten"), (report.movedCount, "moved"),
        (report.createdCount, "created by the mapping"), (report.deletedCount, "deleted"),
      ].filter { $0.0 > 0 }.map { "\(Text.count($0.0, "object")) \($0.1)" }
      try output.paragraph(
        "migrated \(report.versions.joined(separator: " → ")): "
          + (counts.isEmpty ? "no object changed" : counts.joined(separator: ", ")))
      if let snapshot = report.snapshot { try output.paragraph("state before the migration: snapshot \(snapshot)") }
    }
  }
}

extension MigrationPlan {
  /// The source of mapping models for all refused steps; nil if there are none.
  fileprivate var mappingSkeleton: String? {
    let skeletons = steps.compactMap(\.mappingSkeleton)
    return skeletons.isEmpty ? nil : skeletons.joined(separator: "\n")
  }
}

extension JSONWriter {
  fileprivate mutating func plan(_ plan: MigrationPlan) {
    member("possible", plan.isPossible)
    steps(of: plan)
    member("bytes", plan.byteCount)
    member("seconds", plan.estimatedDuration.inSeconds)
    if let report = plan.report {
      member("rewritten", report.rewrittenCount)
      member("moved", report.movedCount)
      member("created", report.createdCount)
      member("deleted", report.deletedCount)
    }
    reasons(plan.errors, count: plan.errorCount)
  }
}
