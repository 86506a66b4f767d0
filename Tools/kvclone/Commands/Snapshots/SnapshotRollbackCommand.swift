import ArgumentParser
import KVClone
import KVCloneExplorer

struct SnapshotRollbackCommand: WritingCommand {
  static let configuration = CommandConfiguration(
    commandName: "rollback", abstract: "Restores the store, or some objects, to the state of a snapshot.",
    discussion: """
      Restores updated and deleted objects with their ids, and deletes objects inserted since the snapshot. First \
      creates an automatic snapshot of the current state, to which you can roll back in turn.

      With --dry-run, runs the rollback in a transaction that is rolled back, and holds the write lock for as long: \
      exit code 0 if it would succeed, 1 with all reasons if it would fail.
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
      "Restore only this object and what a clone of it would copy (repeatable).", valueName: "id"),
    completion: StoreCompletion.objects)
  var object: [String] = []

  @Flag(
    name: [.customShort("n"), .customLong("dry-run")], help: "Print what the rollback would change; write nothing."
  )
  var isDryRun = false

  func run(_ store: ObjectStore) throws {
    let snapshot = try store.snapshot(named: name)
    let names = object
    let ids =
      names.isEmpty
      ? nil : try snapshot.read { transaction in try transaction.objectIDs(named: names) }
    if isDryRun {
      try global.report(try store.planRollback(to: snapshot, objects: ids))
    } else {
      try global.report(try store.rollback(to: snapshot, objects: ids))
    }
  }
}

extension GlobalOptions {
  /// Prints what a rollback would change.
  ///
  /// - Throws: an exit code if it would fail.
  func report(_ plan: RollbackPlan) throws {
    try show { json in
      json.member("updated", plan.updatedCount)
      json.member("recreated", plan.recreatedCount)
      json.member("deleted", plan.deletedCount)
      json.member("replacedBytes", plan.replacedByteCount)
      json.nullable("automaticSnapshot", nil)
      json.member("committed", false)
      json.reasons(plan.errors, count: plan.errorCount)
    } text: { output in
      if !quiet {
        try output.paragraph(
          "would revert \(Text.count(plan.updatedCount, "object")), restore \(plan.recreatedCount), delete "
            + "\(plan.deletedCount); \(Text.bytes(plan.replacedByteCount)) of preimages")
      }
      try output.reasons(plan.errors, count: plan.errorCount)
    }
    if !plan.isPossible { throw ExitCode(Failure.Code.failure) }
  }
}
