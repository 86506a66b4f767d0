import ArgumentParser
import KVClone

struct LinkCommand: WritingCommand {
  static let configuration = CommandConfiguration(
    commandName: "link", abstract: "Adds objects to a relationship.",
    discussion: "In a to-one relationship, replaces the object. Updates the inverse relationship.",
    examples: ["kvclone -s notes.kvclone link Note/1 items Item/3 Item/4 --at 0"])

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The object.", valueName: "id"), completion: StoreCompletion.objects)
  var id: String

  @Argument(help: ArgumentHelp("The relationship.", valueName: "relationship"))
  var relationship: String

  @Argument(help: ArgumentHelp("The objects to add.", valueName: "target"), completion: StoreCompletion.objects)
  var targets: [String]

  @Option(
    help: ArgumentHelp(
      "Insert at this position of an ordered relationship, from 0 (default: at the end).", valueName: "index"))
  var at: Int?

  func validate() throws {
    if let at, at < 0 { throw ValidationError("--at needs a position from 0") }
  }

  func run(_ store: ObjectStore) throws {
    let name = try store.write(label: "link") { transaction in
      let id = try transaction.objectID(named: self.id)
      let ids = try transaction.objectIDs(named: targets)
      try transaction.link(id, relationship, ids, at: at)
      return try transaction.name(of: id)
    }
    try global.reportChanged(name)
  }
}
