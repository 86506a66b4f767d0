import ArgumentParser
import KVClone

struct SetCommand: WritingCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Sets attributes and relationships of an object.",
    discussion: "Write values as for `insert`; NAME:=null sets an attribute to nil.",
    examples: [
      "kvclone -s notes.kvclone set Note/12 name=Bread count:=null", "kvclone -s notes.kvclone set Item/3 note=Note/1",
    ])

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The object.", valueName: "id"), completion: StoreCompletion.objects)
  var id: String

  @Argument(help: ArgumentHelp("A value: NAME=VALUE or NAME:=JSON.", valueName: "assignment"))
  var assignments: [String]

  func run(_ store: ObjectStore) throws {
    let model = store.model
    let name = try store.write(label: "set") { transaction in
      let id = try transaction.objectID(named: self.id)
      let object = try transaction.object(id)
      let values = try Assignments(assignments, entity: object.entityName, model: model)
      let attributes = values.attributes.values
      if !attributes.isEmpty { try transaction.setAttributes(id, attributes) }
      for file in values.attributes.files { try file.set(id, in: &transaction, below: ".") }
      for (name, targets) in values.relationships {
        let members = try transaction.objectIDs(named: targets)
        try transaction.setMembers(id, name, members)
      }
      return object.name
    }
    try global.reportChanged(name)
  }
}

extension GlobalOptions {
  /// Reports a change of one object: nothing, or with --json its id.
  func reportChanged(_ name: String) throws {
    guard json else { return detail("changed \(name)") }
    try Output().json { writer in
      writer.member("id", name)
    }
  }
}
