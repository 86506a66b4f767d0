import ArgumentParser
import KVClone

struct DeleteCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Deletes objects, and applies their delete rules.",
    examples: ["kvclone -s notes.kvclone delete Note/12 Item/3"])

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The objects to delete.", valueName: "id"), completion: StoreCompletion.objects)
  var ids: [String]

  func run() throws {
    let store = try global.openStore(isReadOnly: false)
    defer { store.close() }
    let result = try store.write(label: "delete") { transaction in
      let objects = try transaction.objectIDs(named: ids)
      return try transaction.delete(objects)
    }
    let output = Output()
    if global.json {
      try output.json { json in
        json.beginObject()
        json.member("deleted", result.deletedCount)
        json.endObject()
      }
    } else if !global.quiet {
      try output.line("deleted \(Text.count(result.deletedCount, "object"))")
      try output.flush()
    }
  }
}
