import ArgumentParser
import KVClone

struct SnapshotRollbackCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "rollback", abstract: "Brings back what a snapshot shows.",
    discussion: """
      What was changed or deleted since is again what it was, under its ids, and what came since is deleted. Before that, a \
      snapshot is made of what there is, to which one can go back in turn.

      With --dry-run, the rollback runs in a transaction that is rolled back, and holds the write lock for as long: exit \
      code 0 if it would succeed, 1 with every reason if it would not.
      """,
    examples: [
      "kvclone -s notes.kvclone snapshot rollback monday --dry-run",
      "kvclone -s notes.kvclone snapshot rollback monday --object Note/1",
    ])

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The snapshot.", valueName: "name"), completion: StoreCompletion.snapshots)
  var name: String

  @Option(
    help: ArgumentHelp(
      "Only this object, with all that a clone of it would copy (may be repeated).", valueName: "id"),
    completion: StoreCompletion.objects)
  var object: [String] = []

  @Flag(
    name: [.customShort("n"), .customLong("dry-run")], help: "Print what the rollback would do and cost; write nothing."
  )
  var isDryRun = false

  func run() throws {
    let store = try global.openStore(isReadOnly: false)
    defer { store.close() }
    let snapshot = try store.snapshot(named: name)
    let names = object
    let ids =
      names.isEmpty
      ? nil : try snapshot.read { transaction in try transaction.objectIDs(named: names) }
    if isDryRun {
      let plan = try store.planRollback(to: snapshot, objects: ids)
      try report(plan)
      if !plan.isPossible { throw ExitCode(Failure.Code.failure) }
    } else {
      try report(try store.rollback(to: snapshot, objects: ids))
    }
  }

  private func report(_ plan: RollbackPlan) throws {
    let output = Output()
    if global.json {
      return try output.json { json in
        json.beginObject()
        json.member("updated", plan.updatedCount)
        json.member("recreated", plan.recreatedCount)
        json.member("deleted", plan.deletedCount)
        json.member("replacedBytes", plan.replacedByteCount)
        json.nullable("automaticSnapshot", nil)
        json.member("committed", false)
        json.reasons(plan.errors, count: plan.errorCount)
        json.endObject()
      }
    }
    if !global.quiet {
      try output.paragraph(
        "would change \(Text.count(plan.updatedCount, "object")) back, bring back \(plan.recreatedCount), delete "
          + "\(plan.deletedCount); \(Text.bytes(plan.replacedByteCount)) of previous states")
    }
    try output.reasons(plan.errors, count: plan.errorCount)
    try output.flush()
  }

  private func report(_ result: RollbackResult) throws {
    let output = Output()
    if global.json {
      return try output.json { json in
        json.beginObject()
        json.member("updated", result.updatedCount)
        json.member("recreated", result.recreatedCount)
        json.member("deleted", result.deletedCount)
        json.member("replacedBytes", result.replacedByteCount)
        json.nullable("automaticSnapshot", result.automaticSnapshot?.name)
        json.member("committed", true)
        json.endObject()
      }
    }
    if global.quiet { return }
    try output.paragraph(
      "changed \(Text.count(result.updatedCount, "object")) back, brought back \(result.recreatedCount), deleted "
        + "\(result.deletedCount); \(Text.bytes(result.replacedByteCount)) of previous states")
    if let automatic = result.automaticSnapshot { try output.paragraph("what there was is in \(automatic.name)") }
    try output.flush()
  }
}
