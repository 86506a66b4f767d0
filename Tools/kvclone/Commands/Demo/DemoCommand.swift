import ArgumentParser
import Foundation
import KVClone
import KVCloneDemo
import KVCloneExplorer
import KVCloneMerge

struct DemoCommand: WholeStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo", abstract: "Creates a store with images, clones a project, edits both, and merges them.",
    discussion: "Needs no model and no data. Keeps the store, for trying other commands.",
    examples: ["kvclone demo", "kvclone demo --at photos.kvclone"])

  @OptionGroup var global: GlobalOptions

  @Option(
    help: ArgumentHelp("Create the store at this path (default: in a temporary directory).", valueName: "path"),
    completion: .directory)
  var at: String?

  func validate() throws {
    if at?.isEmpty == true { throw ValidationError("--at is an empty string; give a path") }
  }

  func run() throws {
    if let at { try StoreAddress.requireDirectory(at, for: "a demo") }
    let path = at ?? DemoCommand.temporaryPath()
    let store = try Interruption.uninterrupted { try ObjectStore.create(at: path, model: DemoModel.model) }
    defer { store.close() }
    let images = DemoModel.images()
    var facts = DemoFacts(path: path)
    let clock = ContinuousClock()
    var source: ObjectID?
    facts.insertSeconds =
      try clock.measure {
        source = try store.write(label: "demo") { try DemoModel.insertProject(images, into: &$0) }
      }.inSeconds
    guard let source else { return }
    facts.before = try store.info()
    facts.planSeconds = try clock.measure { _ = try store.planClone([source], options: DemoDraft.options) }.inSeconds
    let result = try store.clone([source], options: DemoDraft.options)
    facts.after = try store.info()
    let names = try store.read { transaction in
      (
        source: try transaction.name(of: source), clone: try transaction.name(of: result.root),
        touched: try result.affectedObjectIDs.map { try transaction.name(of: $0) }
      )
    }
    let rows = try store.read { transaction in
      try DemoRows.rows(source, result.root, transaction)
    }
    let draft = DemoDraft(source: source, draft: result.root)
    try draft.edit(store)
    let plan = try draft.plan(store)
    let merged = try draft.merge(store, plan)
    let output = Output()
    if global.json {
      try output.json { json in
        json.member("path", path)
        json.member("source", names.source)
        json.key("clone")
        json.beginObject()
        json.cloneResult(result, roots: [names.clone], touched: names.touched)
        json.endObject()
        json.member("fileBytesBefore", facts.before?.fileBytes ?? 0)
        json.member("fileBytesAfter", facts.after?.fileBytes ?? 0)
        json.member("insertSeconds", facts.insertSeconds)
        json.member("planSeconds", facts.planSeconds)
        json.key("merge")
        json.beginObject()
        json.member("conflictCount", plan.conflicts.count)
        json.member("inserted", merged.objects.inserted)
        json.member("updated", merged.objects.updated)
        json.member("seconds", merged.duration.inSeconds)
        json.endObject()
      }
      return
    }
    let style = Style(global)
    let mergeLines = try store.read { transaction in
      try DemoMergeReport(style: style, source: names.source, clone: names.clone, plan: plan, result: merged)
        .lines { try transaction.name(of: $0) }
    }
    let report = DemoReport(
      style: style, facts: facts, result: result, source: names.source, clone: names.clone,
      mergeLines: mergeLines, snapshot: merged.snapshots.first)
    try output.write(report.text(rows))
    try output.flush()
  }

  private static func temporaryPath() -> String {
    let directory = URL(fileURLWithPath: NSTemporaryDirectory())
    return directory.appendingPathComponent("kvclone-demo-\(UUID().uuidString.prefix(8))").path
  }
}
