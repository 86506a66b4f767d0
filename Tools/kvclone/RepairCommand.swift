import ArgumentParser
import KVClone

struct RepairCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "repair", abstract: "Makes anew what follows from the objects: indexes, counts, derived attributes.",
    discussion: """
      Everything is checked first. Where the objects themselves are damaged, nothing is changed: restore a backup, or use \
      `kvclone salvage`. Without --yes it tells what it would do.
      """,
    examples: ["kvclone -s notes.kvclone repair", "kvclone -s notes.kvclone repair --yes"])

  @OptionGroup var global: GlobalOptions

  @Flag(help: "Do it.")
  var yes = false

  func run() throws {
    guard yes else { return try rehearse() }
    let store = try global.openStore(isReadOnly: false)
    defer { store.close() }
    let report = try store.repair()
    let output = Output()
    if global.json {
      try output.json { json in
        json.beginObject()
        json.member("ok", report.after.isClean)
        json.member("repaired", report.commit == nil ? 0 : report.before.issues.count)
        json.member("indexEntries", report.indexEntryCount)
        if let commit = report.commit { json.member("commit", commit) }
        json.member("objects", report.after.objectCount)
        json.damages(report.after.issues)
        json.endObject()
      }
    } else if !global.quiet || !report.after.isClean {
      for damage in report.after.issues { try output.paragraph(CheckCommand.line(damage)) }
      if let commit = report.commit {
        try output.line("repaired \(Text.count(report.before.issues.count, "damage")) in commit \(commit)")
      }
      let verdict = report.after.isClean ? "ok" : Text.count(report.after.issues.count, "damage")
      try output.line("\(verdict): \(Text.count(report.after.objectCount, "object"))")
      try output.flush()
    }
    if !report.after.isClean { throw ExitCode(Failure.Code.corrupted) }
  }

  /// Tells what would be done, which is wrong usage where there is something to do: a script has to say that it means it.
  private func rehearse() throws {
    let store = try global.openStore(isReadOnly: true)
    defer { store.close() }
    let report = try store.repair(isDryRun: true).before
    let output = Output()
    if global.json {
      try output.json { json in
        json.beginObject()
        json.member("ok", report.isClean)
        json.member("objects", report.objectCount)
        json.damages(report.issues)
        json.endObject()
      }
    } else {
      for damage in report.issues { try output.paragraph(CheckCommand.line(damage)) }
      if report.isClean { try output.line("ok: \(Text.count(report.objectCount, "object")), nothing to repair") }
      try output.flush()
    }
    if report.isClean { return }
    throw Failure(
      usage:
        "\(Text.count(report.issues.count, "damage")) would be repaired, the objects are intact; give --yes to do it")
  }
}
