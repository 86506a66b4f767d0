import ArgumentParser
import KVClone
import KVCloneExplorer
import KVCloneOperations

struct RepairCommand: WholeStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "repair", abstract: "Rebuilds indexes, reference counts and derived attributes.",
    discussion: """
      Checks the store first. If the objects themselves are corrupted, changes nothing: restore a backup, or use \
      `kvclone salvage`. Without --yes, prints the issues it would repair.
      """,
    examples: ["kvclone -s notes.kvclone repair", "kvclone -s notes.kvclone repair --yes"])

  @OptionGroup var global: GlobalOptions

  @Flag(help: "Repair the store (default: only print the issues).")
  var yes = false

  func run() throws {
    guard yes else { return try rehearse() }
    let store = try global.openStore(isReadOnly: false)
    defer { store.close() }
    let report = try store.repair()
    let output = Output()
    if global.json {
      try output.json { json in
        json.member("ok", report.after.isClean)
        json.member("repaired", report.commit == nil ? 0 : report.before.issues.count)
        json.member("indexEntries", report.indexEntryCount)
        if let commit = report.commit { json.member("commit", commit) }
        json.member("objects", report.after.objectCount)
        json.damages(report.after.issues)
      }
    } else if !global.quiet || !report.after.isClean {
      for damage in report.after.issues { try output.paragraph(CheckCommand.line(damage)) }
      if let commit = report.commit {
        try output.line("repaired \(Text.count(report.before.issues.count, "integrity issue")) in commit \(commit)")
      }
      let verdict = report.after.isClean ? "ok" : Text.count(report.after.issues.count, "integrity issue")
      try output.line("\(verdict): \(Text.count(report.after.objectCount, "object"))")
      try output.flush()
    }
    if !report.after.isClean { throw ExitCode(Failure.Code.corrupted) }
  }

  /// Prints what would be done, and fails with a usage error if there is anything: a script has to confirm explicitly.
  private func rehearse() throws {
    let store = try global.openStore(isReadOnly: true)
    defer { store.close() }
    let report = try store.repair(isDryRun: true).before
    try global.show { json in
      json.member("ok", report.isClean)
      json.member("objects", report.objectCount)
      json.damages(report.issues)
    } text: { output in
      for damage in report.issues { try output.paragraph(CheckCommand.line(damage)) }
      if report.isClean { try output.line("ok: \(Text.count(report.objectCount, "object")), nothing to repair") }
    }
    if report.isClean { return }
    throw Failure(
      usage:
        "would repair \(Text.count(report.issues.count, "integrity issue")); no object is corrupted; give --yes to repair"
    )
  }
}
