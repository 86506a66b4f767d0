import ArgumentParser
import KVClone
import KVCloneExplorer

struct DeleteCommand: WritingCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Deletes objects, and applies their delete rules.",
    examples: ["kvclone -s notes.kvclone delete Note/12 Item/3"])

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The objects to delete.", valueName: "id"), completion: StoreCompletion.objects)
  var ids: [String]

  func run(_ store: ObjectStore) throws {
    let result = try store.write(label: "delete") { transaction in
      let objects = try transaction.objectIDs(named: ids)
      return try transaction.delete(objects)
    }
    try global.report { json in
      json.member("deleted", result.deletedCount)
    } text: { output in
      try output.line("deleted \(Text.count(result.deletedCount, "object"))")
    }
  }
}
