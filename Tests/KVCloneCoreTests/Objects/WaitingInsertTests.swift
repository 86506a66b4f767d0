import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

private let boxModel = ManagedObjectModel("Boxes") {
  EntityDescription("Box") {
    AttributeDescription("title", .string)
    AttributeDescription("total", .integer64, derivation: "sum:(items.amount)")
    RelationshipDescription("items", toMany: "Item", inverse: "box", deleteRule: .cascade)
    RelationshipDescription("tags", toMany: "Tag", inverse: "boxes")
  }
  EntityDescription("Item", unique: [["code"]]) {
    AttributeDescription("code", .integer64)
    AttributeDescription("amount", .integer64, default: 1)
    RelationshipDescription("box", toOne: "Box", inverse: "items")
  }
  EntityDescription("Tag") { RelationshipDescription("boxes", toMany: "Box", inverse: "tags") }
  EntityDescription("Shelf") { RelationshipDescription("books", toMany: "Book", inverse: "shelf", max: 2) }
  EntityDescription("Book") { RelationshipDescription("shelf", toOne: "Shelf", inverse: "books") }
  EntityDescription("Note") { RelationshipDescription("about", toMany: "Box") }
}

/// Deferred inverse links and index entries of new objects are written before any read could miss them.
@Suite("Links and index entries of new objects that wait")
struct WaitingInsertTests {
  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(boxModel) }

  @Test("a clone in the same transaction sees links that wait", arguments: [3, 20, 600])
  func clone(_ count: Int) throws {
    let tag = try store.insert("Tag")
    let (box, clone) = try store.write { tx in
      let box = try tx.insert("Box", relationships: ["tags": [tag]])
      for _ in 0..<count { try tx.insert("Item", relationships: ["box": [box]]) }
      return (box, try tx.clone([box]).root)
    }
    #expect(try store.count(box, "items") == count && store.count(clone, "items") == count)
    #expect(try store.value(clone, "total") == .integer(Int64(count)))
    #expect(try store.members(tag, "boxes") == [box, clone])
    try checked(store)
  }

  @Test("deferred links, those of clones and later ones are in a list in the order of ids", arguments: [1, 20, 200])
  func cloneBetween(_ count: Int) throws {
    let tag = try store.insert("Tag")
    let source = try store.insert("Box", relationships: ["tags": [tag]])
    let boxes = try store.write { tx in
      var boxes = [source]
      for _ in 0..<count {
        boxes.append(try tx.insert("Box", relationships: ["tags": [tag]]))
        boxes.append(try tx.clone([source]).root)
      }
      return boxes
    }
    #expect(try store.members(tag, "boxes") == boxes)
    try checked(store)
  }

  @Test("a clone is rejected for a value of an object whose index entry is deferred")
  func cloneOfUnique() throws {
    #expect(throws: CloneError.self) {
      try store.write { tx in
        let box = try tx.insert("Box")
        try tx.insert("Item", ["code": 1], relationships: ["box": [box]])
        _ = try tx.clone([box])
      }
    }
    try checked(store)
  }

  @Test("a clone's hook for edges reads links that wait")
  func hook() throws {
    let counts = ContractBox<[Int]>([])
    var options = CloneOptions()
    options.willClone = { edge, source in
      if edge.relationship == "items" {
        let count = try source.count(edge.parent, "items")
        counts.change { $0.append(count) }
      }
      return edge.rule
    }
    try store.write { tx in
      let box = try tx.insert("Box")
      for _ in 0..<4 { try tx.insert("Item", relationships: ["box": [box]]) }
      _ = try tx.clone([box], options: options)
    }
    #expect(Set(counts.value) == [4])
  }

  @Test("a target that was deleted is not known any more, however it went")
  func deletedTarget() throws {
    let box = try store.insert("Box")
    try store.write { tx in
      try tx.insert("Note", relationships: ["about": [box]])
      try tx.insert("Item", relationships: ["box": [box]])
      try tx.delete([box])
      expectError(.objectNotFound) { try tx.insert("Note", relationships: ["about": [box]]) }
      expectError(.objectNotFound) { try tx.insert("Item", relationships: ["box": [box]]) }
    }
    #expect(try store.objects("Note").count == 1 && store.objects("Item").isEmpty)
    try checked(store)
  }

  @Test("a commit validates stored objects whose lists have grown by deferred links")
  func validation() throws {
    let shelf = try store.insert("Shelf")
    #expect(
      expectIssues {
        try store.write { tx in
          for _ in 0..<3 { try tx.insert("Book", relationships: ["shelf": [shelf]]) }
        }
      } == ["tooManyMembers Shelf.books"])
    #expect(try store.count(shelf, "books") == 0)
  }

  @Test("keys that wait are counted with what remembers their places")
  func memory() {
    var keys = DeferredKeys()
    for _ in 0..<1000 { keys.append([1, 2, 3, 4]) }
    #expect(keys.byteCount >= 1000 * (4 + 2 * MemoryLayout<Int>.stride + MemoryLayout<UInt128>.stride))
  }
}
