import ArgumentParser
import KVClone

struct InsertCommand: WritingCommand {
  static let configuration = CommandConfiguration(
    commandName: "insert", abstract: "Inserts an object, and prints its id.",
    discussion: """
      NAME=VALUE takes strings, dates, UUIDs and decimals without quotes, numbers, true and false, and comma-separated \
      ids for relationships. NAME:=JSON takes any value of an NDJSON line, for example NAME:=null.
      """,
    examples: [
      "kvclone -s notes.kvclone insert Note name=Milk count=2",
      "kvclone -s notes.kvclone insert Item note=Note/1 rank:=null",
    ])

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The entity.", valueName: "entity"), completion: StoreCompletion.entities)
  var entity: String

  @Argument(help: ArgumentHelp("A value: NAME=VALUE or NAME:=JSON.", valueName: "assignment"))
  var assignments: [String] = []

  func run(_ store: ObjectStore) throws {
    guard store.model.entity(named: entity) != nil else { throw store.model.unknownEntity(entity) }
    let values = try Assignments(assignments, entity: entity, model: store.model)
    let name = try store.write(label: "insert") { transaction in
      var relationships: [String: [ObjectID]] = [:]
      for (name, targets) in values.relationships { relationships[name] = try transaction.objectIDs(named: targets) }
      let id = try transaction.insert(entity, values.attributes.values, relationships: relationships)
      for file in values.attributes.files { try file.set(id, in: &transaction, below: ".") }
      return try transaction.name(of: id)
    }
    try global.show { json in
      json.member("id", name)
    } text: { output in
      try output.line(name)
    }
  }
}
