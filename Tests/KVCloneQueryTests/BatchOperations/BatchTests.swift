import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneQuery

private let batchModel = ManagedObjectModel("Batch") {
  EntityDescription("Item", unique: [["code"]]) {
    AttributeDescription("code", .integer64)
    AttributeDescription("state", .string, max: 5)
    AttributeDescription("shown", .string, derivation: "uppercase:(state)")
    RelationshipDescription("list", toOne: "List", inverse: "items")
  }
  EntityDescription("Special", parent: "Item") { AttributeDescription("note", .string) }
  EntityDescription("List") {
    AttributeDescription("name", .string)
    AttributeDescription("count", .integer64, derivation: "items.@count")
    RelationshipDescription("items", toMany: "Item", inverse: "list", deleteRule: .cascade)
    RelationshipDescription("locks", toMany: "Lock", inverse: "list", deleteRule: .deny)
  }
  EntityDescription("Lock") { RelationshipDescription("list", toOne: "List", inverse: "locks", deleteRule: .cascade) }
}

@Suite("Batch operations")
struct BatchTests {
  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(batchModel) }

  private func request(_ format: String, _ entity: String = "Item") throws -> FetchRequest {
    FetchRequest(entity, predicate: try QueryPredicate(format: format))
  }

  private func fill(_ count: Int) throws {
    _ = try store.write { tx in
      try tx.batchInsert("Item", (0..<count).lazy.map { ["code": .integer(Int64($0)), "state": "new"] })
    }
  }

  @Test("inserting takes any sequence, and answers the ids in its order")
  func insert() throws {
    let result = try store.write { tx in
      try tx.batchInsert(
        "Special", (0..<300).lazy.map { ["code": .integer(Int64($0)), "note": "n"] }, resultType: .objectIDs)
    }
    #expect(result.count == 300)
    #expect(try result.objectIDs == store.objects("Special"))
    #expect(try store.value(result.objectIDs[299], "code") == 299)
    let counted = try store.write { tx in try tx.batchInsert("Item", [[:], ["state": "new"]]) }
    #expect(counted == BatchResult.counted(2))
    try checked(store)
  }

  @Test("a batch keeps the rules that single changes keep, and is all or nothing")
  func rules() throws {
    try fill(10)
    #expect(
      expectIssues { _ = try store.write { tx in try tx.batchInsert("Item", [["code": 100], ["code": 3]]) } }
        == ["uniquenessConflict Item.code"])
    expectError(.unknownProperty) { _ = try store.write { tx in try tx.batchInsert("Item", [[:], ["nothing": 1]]) } }
    expectError(.abstractEntity) {
      let abstract = try TestStore(ManagedObjectModel("Abstract") { EntityDescription("A", abstract: true) {} })
      _ = try abstract.store.write { tx in try tx.batchInsert("A", [[:]]) }
    }
    let issues = expectIssues {
      let all = try request("code < 2")
      _ = try store.write { tx in try tx.batchUpdate(all, propertiesToUpdate: ["state": "too long"]) }
    }
    #expect(issues == ["stringTooLong Item.state", "stringTooLong Item.state"])
    #expect(try store.objects("Item").count == 10)
    try checked(store)
  }

  @Test("updating changes what the request matches, with its limit, and derived attributes follow")
  func update() throws {
    try fill(20)
    let some = try request("code BETWEEN {5, 9}")
    let result = try store.write { tx in
      try tx.batchUpdate(some, propertiesToUpdate: ["state": "old"], resultType: .objectIDs)
    }
    let items = try store.objects("Item")
    #expect(result.count == 5 && result.objectIDs == Array(items[5..<10]))
    #expect(try items.filter { try store.value($0, "shown") == "OLD" } == Array(items[5..<10]))
    var first = try request("state == 'new'")
    first.fetchLimit = 3
    first.sortDescriptors = [QuerySortDescriptor(key: "code", ascending: false)]
    let last = try store.write { [first] tx in
      // The predicate is not evaluated again on changed objects.
      try tx.batchUpdate(first, propertiesToUpdate: ["state": nil], resultType: .objectIDs)
    }
    #expect(last.objectIDs == Array(items[17..<20]))
    let nothing = try request("code == 1000")
    for (name, kind) in [("nothing", StoreError.Kind.unknownProperty), ("shown", .wrongType), ("code", .wrongType)] {
      expectError(kind) { _ = try store.write { tx in try tx.batchUpdate(nothing, propertiesToUpdate: [name: "x"]) } }
    }
    try checked(store)
  }

  @Test("deleting cascades, nullifies, and is rejected completely if a relationship denies it")
  func delete() throws {
    try fill(5)
    let lists = try store.insert("List", count: 3)
    let items = try store.objects("Item")
    try store.setMembers(lists[0], "items", Array(items[0..<2]))
    try store.setMembers(lists[1], "items", Array(items[2..<3]))
    let lock = try store.insert("Lock", relationships: ["list": [lists[1]]])
    let all = FetchRequest("List")
    let error = expectError(.deleteDenied) { _ = try store.write { tx in try tx.batchDelete(all) } }
    #expect(error?.property == "locks" && error?.object == "List/2")
    #expect(try store.objects("List") == lists)
    // Deleting the object with the deny rule in the same call is allowed.
    #expect(try store.delete([lock]) == 3)
    #expect(try store.objects("Item") == [items[0], items[1], items[3], items[4]])
    let result = try store.write { tx in try tx.batchDelete(all, resultType: .objectIDs) }
    #expect(result.count == 4 && result.objectIDs == [lists[0], lists[2]])
    #expect(try store.objects("Item") == Array(items[3...]))
    try checked(store)
  }
}

extension BatchResult {
  fileprivate static func counted(_ count: Int) -> BatchResult {
    var result = BatchResult()
    result.count = count
    return result
  }
}
