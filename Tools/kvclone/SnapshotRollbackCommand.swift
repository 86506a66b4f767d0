import ArgumentParser
import KVClone

struct SnapshotRollbackCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "rollback", abstract: "Brings back what a snapshot shows.",
    discussion: """
      What was changed or deleted since is again what it was, under its ids, and what came since is deleted. Before that, a \
      snapshot is made of what there is, to which one can go back in turn.
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

  @Flag(name: [.customShort("n"), .customLong("dry-run")], help: "Tell what it would do and cost; write nothing.")
  var isDryRun = false

  func run() throws {
    let store = try global.openStore(isReadOnly: isDryRun)
    defer { store.close() }
    let snapshot = try store.snapshot(named: name)
    let names = object
    let ids =
      names.isEmpty
      ? nil : try snapshot.read { transaction in try names.map { try transaction.objectID(named: $0) } }
    let result =
      isDryRun
      ? try store.planRollback(to: snapshot, objects: ids) : try store.rollback(to: snapshot, objects: ids)
    let output = Output()
    if global.json {
      try output.json { json in
        json.beginObject()
        json.member("updated", result.updatedCount)
        json.member("recreated", result.recreatedCount)
        json.member("deleted", result.deletedCount)
        json.member("replacedBytes", result.replacedByteCount)
        json.nullable("automaticSnapshot", result.automaticSnapshot?.name)
        json.member("committed", !isDryRun)
        json.endObject()
      }
    } else if !global.quiet {
      let verb = isDryRun ? "would change" : "changed"
      try output.paragraph(
        "\(verb) \(Text.count(result.updatedCount, "object")) back, \(isDryRun ? "bring" : "brought") back "
          + "\(result.recreatedCount), \(isDryRun ? "delete" : "deleted") \(result.deletedCount); "
          + "\(Text.bytes(result.replacedByteCount)) of previous states")
      if let automatic = result.automaticSnapshot { try output.paragraph("what there was is in \(automatic.name)") }
      try output.flush()
    }
  }
}
