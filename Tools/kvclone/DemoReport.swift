import Foundation
import KVClone

/// The demo's text, at most 100 columns wide.
struct DemoReport {
  private static let columnWidth = 42

  let style: Style
  let facts: DemoFacts
  let result: CloneResult
  let source: String
  let clone: String

  func text(_ rows: [DemoRows.Row]) -> String {
    var lines = introduction()
    lines += ["", header("source", "clone", "rule")]
    for row in rows { lines.append(line(row)) }
    lines += ["", style.bold("What made the difference")]
    for (rule, property, effect) in DemoReport.rules {
      lines.append("  \(style.cyan(Text.padded(rule, 18)))\(Text.padded(property, 21))\(effect)")
    }
    lines += ["", style.bold("What it cost")] + costs()
    lines += ["", style.bold("What to try next")]
    for (command, effect) in suggestions() {
      lines.append(effect.isEmpty ? "  \(command)" : "  \(Text.padded(command, 45))\(style.dim(effect))")
    }
    lines.append("  \(Text.padded("rm -r \(ShellWords.word(facts.path))", 45))\(style.dim("when you are done"))")
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

  /// What the model's userInfo and its inverses say, in the order of the trees.
  private static let rules: [(rule: String, property: String, effect: String)] = [
    ("R16 rebuild=uuid", "Project.id", "a new UUID"),
    ("R16 rebuild=now", "Project.created", "the time of the clone"),
    ("R15 exclude", "Project.shareToken", "not copied: no default, so it is empty"),
    ("R17 followParent", "Album.projectID", "the cloned project's new id, not the old one's"),
    ("R7 follow", "Project.albums …", "the inverse is to-one: what belongs to it is cloned too"),
    ("R6 stop", "Photo.tags, owner", "the inverse is to-many: shared, and it gains the clone"),
    ("R9 inside links", "Project.cover", "points at the clone of the cover, not at the cover"),
    ("R5 exclude", "Photo.exportJob", "not followed, and empty on the clone"),
    ("R12 order", "albums, photos", "the same order, position by position"),
    ("R25 blobs", "Photo.image", "one stored picture, two owners; no byte was copied"),
  ]

  private func costs() -> [String] {
    let before = facts.before?.fileBytes ?? 0
    let after = facts.after?.fileBytes ?? 0
    let growth = after >= before ? after - before : 0
    let rows = [
      ("objects", "\(result.objectCount) cloned, \(result.affectedObjectCount) others changed (tags and the owner)"),
      ("pictures", "\(result.blobsShared) shared: \(Text.bytes(result.bytesShared)) not copied"),
      ("written", "\(Text.bytes(result.bytesWritten)) of records and lists"),
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
    return (alias.map { [($0, "")] } ?? []) + [
      ("export KVCLONE_STORE=\(ShellWords.word(facts.path))", ""),
      ("kvclone info", "facts and counts"),
      ("kvclone get \(clone) --depth 1", "the clone and what it is linked to"),
      ("kvclone clone \(source) -n", "what a clone would do, rule by rule"),
      ("kvclone clone \(source) --exclude albums", "without the albums"),
      ("kvclone blob get Photo/1 image -o photo.bmp", "a picture that opens"),
      ("kvclone model show", "the model and its rules"),
      ("kvclone check --read-data", "verify every byte"),
    ]
  }
}
