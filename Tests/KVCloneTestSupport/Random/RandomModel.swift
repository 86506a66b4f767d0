import Foundation
package import KVClone

/// The model of the random operations.
package let randomModel = RandomModel().description

/// A model of relationships of every shape and delete rule, inheritance, a constraint and blobs; optionally with fetch
/// indexes and derived attributes.
package struct RandomModel: Equatable {
  /// Fetch indexes that a store can gain and lose.
  package enum Index: CaseIterable {
    case name, motto, text, author, badge, bossName, derived
  }

  package var indexes: Set<Index> = []
  /// Whether the model has derived attributes, see ``StoreOracle/derived(_:_:)``.
  package var isDeriving = false

  package init(indexes: Set<Index> = [], isDeriving: Bool = false) {
    self.indexes = indexes
    self.isDeriving = isDeriving
  }

  private func index(_ index: Index, _ columns: [String]) -> [FetchIndexDescription] {
    guard indexes.contains(index) else { return [] }
    return [
      FetchIndexDescription(
        columns.joined(separator: "_"),
        columns.map { column in
          let name = column.trimmingCharacters(in: CharacterSet(charactersIn: "-"))
          return .init(name, ascending: name == column)
        })
    ]
  }

  private func derived(_ name: String, _ type: AttributeType, _ expression: String) -> [AttributeDescription] {
    isDeriving ? [AttributeDescription(name, type, derivation: expression)] : []
  }

  package var description: ManagedObjectModel {
    ManagedObjectModel("Random") {
      EntityDescription("Named", abstract: true, unique: [["code"]], indexes: index(.name, ["name", "-code"])) {
        AttributeDescription("code", .integer32)
        AttributeDescription("name", .string, default: "nobody")
        AttributeDescription("data", .binary)
      }
      EntityDescription(
        "Person", parent: "Named",
        indexes: index(.bossName, ["boss", "name"]) + (isDeriving ? index(.derived, ["noteCount"]) : [])
      ) {
        for attribute in derived("noteCount", .integer64, "notes.@count") { attribute }
        RelationshipDescription("spouse", toOne: "Person", inverse: "spouse")
        RelationshipDescription("friends", toMany: "Person", inverse: "friends")
        RelationshipDescription("boss", toOne: "Person", inverse: "reports")
        RelationshipDescription("reports", toMany: "Person", inverse: "boss", ordered: true)
        RelationshipDescription("next", toOne: "Person", inverse: "previous", deleteRule: .noAction)
        RelationshipDescription("previous", toOne: "Person", inverse: "next")
        RelationshipDescription("clubs", toMany: "Club", inverse: "members", ordered: true)
        RelationshipDescription("tags", toMany: "Tag", inverse: "people")
        RelationshipDescription("notes", toMany: "Note", inverse: "author", ordered: true, deleteRule: .cascade)
        RelationshipDescription("idol", toOne: "Named")
        RelationshipDescription("favourites", toMany: "Named", ordered: true)
        RelationshipDescription("seen", toMany: "Named", deleteRule: .noAction)
      }
      EntityDescription("Employee", parent: "Person", indexes: index(.badge, ["badge"])) {
        AttributeDescription("badge", .integer64, optional: false, default: 1)
      }
      EntityDescription("Club", parent: "Named", unique: [["motto", "sponsor"]], indexes: index(.motto, ["-motto"])) {
        AttributeDescription("motto", .integer16)
        RelationshipDescription("members", toMany: "Person", inverse: "clubs", ordered: true)
        RelationshipDescription("sponsor", toOne: "Person", deleteRule: .deny)
        RelationshipDescription("mascot", toOne: "Note", deleteRule: .cascade)
      }
      EntityDescription("Tag") {
        for attribute in derived("crowd", .integer64, "people.@count") { attribute }
        RelationshipDescription("people", toMany: "Person", inverse: "tags")
      }
      EntityDescription("Note", indexes: index(.text, ["text"]) + index(.author, ["author"])) {
        AttributeDescription("text", .string)
        for attribute in derived("authorName", .string, "author.name") { attribute }
        RelationshipDescription("author", toOne: "Person", inverse: "notes")
        RelationshipDescription("answers", toMany: "Note", inverse: "question", deleteRule: .cascade)
        RelationshipDescription("question", toOne: "Note", inverse: "answers")
      }
    }
  }
}
