import ArgumentParser
import Foundation
import KVClone
import KVCloneExplorer

struct ListCommand: ReadingCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls", abstract: "Lists the objects of an entity and its subentities.",
    examples: ["kvclone -s notes.kvclone ls Note", "kvclone -s notes.kvclone ls Note --limit 10 --json"])

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The entity.", valueName: "entity"), completion: StoreCompletion.entities)
  var entity: String

  @Option(help: "Maximum number of objects (default: all).")
  var limit: Int?

  func validate() throws {
    if let limit, limit < 0 { throw ValidationError("--limit needs a number from 0") }
  }

  func run(_ store: ObjectStore) throws {
    let model = store.model
    let output = Output()
    let limit = self.limit ?? Int.max
    let isJSON = global.json
    let width = Terminal.width(ofDescriptor: 1)
    try store.read { transaction in
      var writer = QueryResultWriter(.json, entity, model, output)
      if isJSON { try writer.begin() }
      var count = 0
      // Also for a limit of 0, so that an unknown entity is an error.
      try transaction.forEachObject(of: entity) { object in
        if count == limit { return false }
        count += 1
        if isJSON {
          try writer.write(object, in: transaction)
        } else {
          let properties = try ValueText.properties(of: object, model, transaction, memberLimit: 0)
          let text = properties.map { "\($0.name)=\(Text.cut($0.text, 40))" }.joined(separator: "  ")
          let line = "\(object.name)\t\(text)"
          try output.line(width.map { Text.cut(line, $0) } ?? line)
        }
        return true
      }
      if isJSON { try writer.end() }
    }
    try output.flush()
  }
}
