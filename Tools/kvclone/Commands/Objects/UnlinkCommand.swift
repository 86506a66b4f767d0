import ArgumentParser
import KVClone

struct UnlinkCommand: WritingCommand {
  static let configuration = CommandConfiguration(
    commandName: "unlink", abstract: "Removes objects from a relationship: the given ones, or all.",
    examples: ["kvclone -s notes.kvclone unlink Note/1 items Item/3", "kvclone -s notes.kvclone unlink Note/1 items"])

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The object.", valueName: "id"), completion: StoreCompletion.objects)
  var id: String

  @Argument(help: ArgumentHelp("The relationship.", valueName: "relationship"))
  var relationship: String

  @Argument(
    help: ArgumentHelp("The objects to remove (default: all).", valueName: "target"),
    completion: StoreCompletion.objects)
  var targets: [String] = []

  func run(_ store: ObjectStore) throws {
    let name = try store.write(label: "unlink") { transaction in
      let id = try transaction.objectID(named: self.id)
      let ids = try transaction.objectIDs(named: targets)
      try transaction.unlink(id, relationship, targets.isEmpty ? nil : ids)
      return try transaction.name(of: id)
    }
    try global.reportChanged(name)
  }
}
