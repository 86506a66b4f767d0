import Foundation
import KVClone
import KVCloneExplorer

/// The demo's text, at most 100 columns wide.
struct DemoReport {
  private static let columnWidth = 42

  let style: Style
  let facts: DemoFacts
  let result: CloneResult
  let source: String
  let clone: String
  /// The part about the merge.
  let mergeLines: [String]
  /// The automatic snapshot of the state before the merge.
  let snapshot: String?

  func text(_ rows: [DemoRows.Row]) -> String {
    var lines = introduction()
    lines += ["", header("source", "clone", "rule")]
    for row in rows { lines.append(line(row)) }
    lines += ["", style.bold("Rules that applied")]
    for (rule, property, effect) in DemoReport.rules {
      lines.append("  \(style.cyan(Text.padded(rule, 18)))\(Text.padded(property, 21))\(effect)")
    }
    lines += ["", style.bold("Cost")] + costs()
    lines += mergeLines
    lines += ["", style.bold("Next steps")]
    for (command, effect) in suggestions() {
      let width = max(45, command.count + 2)
      lines.append(effect.isEmpty ? "  \(command)" : "  \(Text.padded(command, width))\(style.dim(effect))")
    }
    lines.append("  \(Text.padded("rm -r \(ShellWords.word(facts.path))", 45))\(style.dim("remove the store"))")
    return lines.joined(separator: "\n") + "\n"
  }

  private func introduction() -> [String] {
    let objects = facts.before?.objectCount ?? 0
    let size = Text.bytes(facts.before?.fileBytes ?? 0)
    return [
      style.bold("A photo project, cloned"),
      "\(Text.count(objects, "object")) in a store of \(size): a project with albums and photos, and tags and an owner",
      "that other projects share. One transaction cloned \(source) to \(clone).",
    ]
  }

  private func header(_ source: String, _ clone: String, _ rule: String) -> String {
    let width = DemoReport.columnWidth
    return style.bold(Text.padded(source, width) + "  " + Text.padded(clone, width) + "  " + rule)
  }

  private func line(_ row: DemoRows.Row) -> String {
    let width = DemoReport.columnWidth
    let source = Text.padded(Text.cut(row.source, width), width)
    let cut = Text.cut(row.clone, width)
    let clone = row.rule.isEmpty ? cut : Text.padded(cut, width)
    let copy = row.isDifferent ? style.green(clone) : style.dim(clone)
    return row.rule.isEmpty ? "\(source)  \(copy)" : "\(source)  \(copy)  \(style.cyan(row.rule))"
  }

  /// The rules in the model's userInfo and of its inverses, in the order of the trees.
  private static let rules: [(rule: String, property: String, effect: String)] = [
    ("R16 rebuild=uuid", "Project.id", "a new UUID"),
    ("R16 rebuild=now", "Project.created", "the time of the clone"),
    ("R15 exclude", "Project.shareToken", "not copied, and empty: it has no default value"),
    ("R17 followParent", "Album.projectID", "the new id of the cloned project"),
    ("R7 follow", "Project.albums …", "the inverse is to-one: its objects are cloned too"),
    ("R6 stop", "Photo.tags, owner", "the inverse is to-many: shared, and linked to the clone"),
    ("R9 inside links", "Project.cover", "links to the clone of the cover, not to the cover"),
    ("R5 exclude", "Photo.exportJob", "not followed, and empty on the clone"),
    ("R12 order", "albums, photos", "the same order, position by position"),
    ("R25 blobs", "Photo.image", "one stored blob, two owners; no byte was copied"),
  ]

  private func costs() -> [String] {
    let before = facts.before?.fileBytes ?? 0
    let after = facts.after?.fileBytes ?? 0
    let growth = after >= before ? after - before : 0
    let rows = [
      (
        "objects", "\(result.objectCount) cloned, \(result.affectedObjectCount) others changed (the tags and the owner)"
      ),
      ("images", "\(result.blobsShared) shared: \(Text.bytes(result.bytesShared)) not copied"),
      ("written", "\(Text.bytes(result.bytesWritten)) of records and relationship lists"),
      ("file", "\(Text.bytes(before)) before, \(Text.bytes(after)) after (+ \(Text.bytes(growth)))"),
      (
        "time",
        "insert \(Text.seconds(facts.insertSeconds)), plan \(Text.seconds(facts.planSeconds)), "
          + "clone \(Text.seconds(result.duration.inSeconds)) from plan to durable commit"
      ),
    ]
    return rows.map { "  \(Text.padded($0.0, 10))\($0.1)" }
  }

  private func suggestions() -> [(command: String, effect: String)] {
    let alias = ShellWords.alias(path: ProcessInfo.processInfo.environment["PATH"] ?? "")
    let difference = snapshot.map { ("kvclone snapshot diff \($0)", "show the changes by the merge") }
    return (alias.map { [($0, "")] } ?? []) + [
      ("export KVCLONE_STORE=\(ShellWords.word(facts.path))", ""),
      ("kvclone info", "show a summary"),
      ("kvclone get \(clone) --depth 1", "show the clone and its linked objects"),
      ("kvclone clone \(source) -n", "print the plan of a clone"),
      ("kvclone clone \(source) --exclude albums", "clone without the albums"),
      ("kvclone clone \(source) --keeps-base", "create a draft, to be edited and merged back"),
      ("kvclone blob get Photo/1 image -o photo.bmp", "write an image to a file"),
      ("kvclone model show", "show the model and its clone rules"),
      ("kvclone branch create trial", "create a branch, to change the store aside"),
      ("kvclone check --read-data", "verify every byte"),
    ] + (difference.map { [$0] } ?? [])
  }
}

/// The measurements.
struct DemoFacts {
  let path: String
  var insertSeconds = 0.0
  var planSeconds = 0.0
  var before: StoreInfo?
  var after: StoreInfo?
}
