import KVClone
import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

@Suite("Subqueries of subqueries")
struct NestedSubqueryTests {
  private static let model = ManagedObjectModel("M") {
    EntityDescription("Folder") {
      AttributeDescription("name", .string)
      RelationshipDescription("tags", toMany: "Tag", inverse: "folder", ordered: true)
    }
    EntityDescription("Tag") {
      AttributeDescription("name", .string)
      RelationshipDescription("folder", toOne: "Folder", inverse: "tags")
      RelationshipDescription("photos", toMany: "Photo", inverse: "tag", ordered: true)
    }
    EntityDescription("Photo") {
      AttributeDescription("title", .string)
      RelationshipDescription("tag", toOne: "Tag", inverse: "photos")
    }
  }

  /// Issue: the first member was used as the inner subquery's own element.
  @Test("each sees its own element", arguments: 0..<3)
  func elements(place: Int) throws {
    let test = try TestStore(Self.model)
    try test.store.write { tx in
      let folder = try tx.insert("Folder", ["name": "f"])
      for tag in ["x", "z", "x"] {
        let tag = try tx.insert("Tag", ["name": .string(tag)], relationships: ["folder": [folder]])
        for number in 0..<3 {
          let title = AttributeValue.string(number == place ? "y" : "n")
          try tx.insert("Photo", ["title": title], relationships: ["tag": [tag]])
        }
      }
    }
    let photos = "SUBQUERY(SUBQUERY(tags, $t, $t.name == 'x').photos, $p, $p.title == 'y')"
    for (condition, count) in [
      ("\(photos).@count == 2", 1), ("\(photos).@count > 2", 0),
      ("SUBQUERY(SUBQUERY(tags, $t, $t.name == 'q').photos, $p, $p.title == 'y').@count == 0", 1),
      ("SUBQUERY(tags, $t, SUBQUERY($t.photos, $p, $p.title == 'y' AND $t.name == 'z').@count == 1).@count == 1", 1),
    ] {
      let predicate = try QueryPredicate(format: condition)
      let found = try test.store.read { try $0.fetch(FetchRequest("Folder", predicate: predicate)).count }
      #expect(found == count, "\(condition)")
    }
  }
}
