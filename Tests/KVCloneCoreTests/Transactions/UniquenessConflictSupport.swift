import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

let mergeModel = ManagedObjectModel("Merge") {
  EntityDescription("Person", unique: [["code"], ["team", "number"]]) {
    AttributeDescription("code", .integer64)
    AttributeDescription("number", .integer64)
    AttributeDescription("name", .string)
    AttributeDescription("memo", .string)
    AttributeDescription("level", .integer16, default: 1)
    AttributeDescription("data", .binary)
    AttributeDescription("shown", .string, derivation: "uppercase:(name)")
    RelationshipDescription("team", toOne: "Team", inverse: "people")
    RelationshipDescription("tags", toMany: "Tag", inverse: "people")
    RelationshipDescription("notes", toMany: "Note", inverse: "person", ordered: true, deleteRule: .cascade)
    RelationshipDescription("card", toOne: "Card", inverse: "person", deleteRule: .cascade)
    RelationshipDescription("chief", toOne: "Person", inverse: "staff")
    RelationshipDescription("staff", toMany: "Person", inverse: "chief", deleteRule: .cascade)
  }
  EntityDescription("Pilot", parent: "Person", unique: [["license"]]) {
    AttributeDescription("license", .string)
    RelationshipDescription("locks", toMany: "Lock", inverse: "pilot", deleteRule: .deny)
  }
  EntityDescription("Team") {
    AttributeDescription("name", .string)
    RelationshipDescription("people", toMany: "Person", inverse: "team", ordered: true)
  }
  EntityDescription("Tag") { RelationshipDescription("people", toMany: "Person", inverse: "tags") }
  EntityDescription("Note") { RelationshipDescription("person", toOne: "Person", inverse: "notes") }
  EntityDescription("Card") { RelationshipDescription("person", toOne: "Person", inverse: "card") }
  EntityDescription("Lock") { RelationshipDescription("pilot", toOne: "Pilot", inverse: "locks") }
  EntityDescription("Log") {
    RelationshipDescription("about", toOne: "Person")
    RelationshipDescription("all", toMany: "Person", ordered: true)
  }
  EntityDescription("Word", unique: [["folded"]]) {
    AttributeDescription("text", .string)
    AttributeDescription("uses", .integer64)
    AttributeDescription("folded", .string, derivation: "lowercase:(text)")
  }
}

extension ObjectStore {
  /// The values of a person that merging affects, on one line.
  func shown(_ person: ObjectID) throws -> String {
    let object = try object(person)
    func text(_ name: String) -> String {
      switch object[name] {
      case .integer(let number)?: "\(number)"
      case .string(let text)?: text
      default: "-"
      }
    }
    let counts = try ["tags", "notes", "card", "team"].map { "\($0) \(try count(person, $0))" }
    return (["code", "name", "memo", "level"].map { "\($0) \(text($0))" } + counts).joined(separator: ", ")
  }

  /// Writes with a policy.
  @discardableResult
  func merge<R>(_ policy: MergePolicy, _ body: (inout WriteTransaction) throws -> R) throws -> R {
    try write(mergePolicy: policy, body)
  }
}
