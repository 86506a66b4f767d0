import ArgumentParser
import Foundation
import KVClone
import KVCloneDemo
import KVCloneExplorer

struct DemoCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo", abstract: "Creates a store with images, clones a project in it, and explains the result.",
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
    facts.planSeconds = try clock.measure { _ = try store.planClone([source]) }.inSeconds
    let result = try store.clone([source])
    facts.after = try store.info()
    let names = try store.read { transaction in
      (
        source: try transaction.name(of: source), clone: try transaction.name(of: result.root),
        touched: try result.affectedObjectIDs.map { try transaction.name(of: $0) }
      )
    }
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
      }
      return
    }
    let report = DemoReport(
      style: Style(global), facts: facts, result: result, source: names.source, clone: names.clone)
    let rows = try store.read { transaction in
      try DemoRows.rows(source, result.root, transaction)
    }
    try output.write(report.text(rows))
    try output.flush()
  }

  private static func temporaryPath() -> String {
    let directory = URL(fileURLWithPath: NSTemporaryDirectory())
    return directory.appendingPathComponent("kvclone-demo-\(UUID().uuidString.prefix(8))").path
  }
}
