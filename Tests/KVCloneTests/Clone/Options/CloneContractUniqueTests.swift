import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// R24 and R25 for several copies.
@Suite("Clone contract: what copies share")
struct CloneContractUniqueTests {
  private func model(_ key: AttributeDescription, unique: [[String]] = [["key"]]) -> ManagedObjectModel {
    ManagedObjectModel("Unique") {
      EntityDescription("Top") {
        AttributeDescription("id", .uuid, userInfo: ["rebuild": "uuid"])
        AttributeDescription("code", .string)
        RelationshipDescription("items", toMany: "Item", inverse: "top")
      }
      EntityDescription("Item", unique: unique) {
        key
        AttributeDescription("number", .integer32)
        RelationshipDescription("top", toOne: "Top", inverse: "items")
        RelationshipDescription("group", toOne: "Group", inverse: "items")
      }
      EntityDescription("Group") { RelationshipDescription("items", toMany: "Item", inverse: "group") }
    }
  }

  private func expectConflict(
    _ test: ContractStore, _ root: ObjectID, _ object: ObjectID, count: Int, properties: [String] = ["key"],
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let error = try test.expectRefusal(
      .uniquenessConflict, [root], .contract(count: count), sourceLocation: sourceLocation)
    let place = Comment(rawValue: "\(String(describing: error))")
    #expect(error?.entity == "Item" && error?.object == "Item/\(object.serial)", place, sourceLocation: sourceLocation)
    for property in properties {
      #expect(error?.property?.contains(property) == true, place, sourceLocation: sourceLocation)
      #expect(error?.message.contains(property) == true, place, sourceLocation: sourceLocation)
    }
    // Compared with the reference cloner, too.
    if count > 3 { return }
    try test.cloneAsReference([root], .contract(count: count), sourceLocation: sourceLocation)
  }

  @Test("R24: a copied value conflicts at once, nil never", .tags(.r24))
  func copied() throws {
    let test = try ContractStore(model(AttributeDescription("key", .string)))
    let item = try test.store.insert("Item", ["key": "k"])
    for count in [1, 3, 1000] { try expectConflict(test, item, item, count: count) }
    let blank = try test.store.insert("Item")
    #expect(try test.store.clone([blank], options: .contract(count: 1000)).objectCount == 1000)
    try test.expectClean()
  }

  @Test("R24: a default conflicts from the second copy on, and with a first copy that is in the store", .tags(.r24))
  func defaults() throws {
    let key = AttributeDescription("key", .string, optional: false, default: "d", userInfo: ["exclude": ""])
    let test = try ContractStore(model(key))
    let item = try test.store.insert("Item", ["key": "k"])
    try expectConflict(test, item, item, count: 2)
    try expectConflict(test, item, item, count: 3)
    #expect(try test.cloneAsReference([item]) != nil)
    try expectConflict(test, item, item, count: 1)
  }

  @Test("R24: now is the same for all copies, a rebuilt UUID is not", .tags(.r24))
  func rebuilt() throws {
    let date = try ContractStore(model(AttributeDescription("key", .date, userInfo: ["rebuild": "now"])))
    let item = try date.store.insert("Item", ["key": .date(Date(timeIntervalSinceReferenceDate: 5))])
    try expectConflict(date, item, item, count: 2)
    #expect(try date.cloneAsReference([item]) != nil)
    let uuid = try ContractStore(model(AttributeDescription("key", .uuid, userInfo: ["rebuild": "UUID"])))
    let other = try uuid.store.insert("Item", ["key": .uuid(UUID())])
    #expect(try uuid.store.clone([other], options: .contract(count: 1000)).objectCount == 1000)
    try uuid.expectClean()
  }

  @Test("R24: followed values conflict where the parents' do", .tags(.r24))
  func followed() throws {
    let fresh = ["followParent": "id", "withoutParent": "keep"]
    let test = try ContractStore(model(AttributeDescription("key", .uuid, userInfo: fresh)))
    let top = try test.store.insert("Top", ["id": .uuid(UUID())])
    let item = try test.store.insert("Item", ["key": .uuid(UUID())], relationships: ["top": [top]])
    // Every copy has a separate parent.
    for count in [1, 3, 1000] { #expect(try test.store.clone([top], options: .contract(count: count)).objectCount > 0) }
    try test.expectClean()
    let twin = try test.store.insert("Item", ["key": .uuid(UUID())], relationships: ["top": [top]])
    let error = try test.expectRefusal(.uniquenessConflict, [top], .contract(count: 3))
    #expect(["Item/\(item.serial)", "Item/\(twin.serial)"].contains(error?.object ?? ""))

    let copied = ["followParent": "code", "withoutParent": "keep"]
    let second = try ContractStore(model(AttributeDescription("key", .string, userInfo: copied)))
    let parent = try second.store.insert("Top", ["code": "c"])
    let child = try second.store.insert("Item", ["key": "k"], relationships: ["top": [parent]])
    try expectConflict(second, parent, child, count: 2)
    #expect(try second.cloneAsReference([parent]) != nil)
    try expectConflict(second, parent, child, count: 1)
  }

  @Test(
    "R24: a constraint with a relationship: a parent that is cloned differs by copy, a shared one does not", .tags(.r24)
  )
  func relationship() throws {
    let key = AttributeDescription("key", .string)
    let owned = try ContractStore(model(key, unique: [["number", "top"]]))
    let top = try owned.store.insert("Top")
    for number in 0..<3 {
      try owned.store.insert("Item", ["number": .integer(Int64(number))], relationships: ["top": [top]])
    }
    #expect(try owned.cloneAsReference([top], .contract(count: 3)) != nil)
    let item = try #require(try owned.store.members(top, "items").first)
    try expectConflict(owned, item, item, count: 1, properties: ["number", "top"])
    let alone = CloneOptions.contract(count: 3) { $0.excludedRelationshipNames = ["top"] }
    #expect(try owned.cloneAsReference([item], alone) != nil, "nil never conflicts")

    let shared = try ContractStore(model(key, unique: [["number", "group"]]))
    let group = try shared.store.insert("Group")
    let member = try shared.store.insert("Item", ["number": 1], relationships: ["group": [group]])
    try expectConflict(shared, member, member, count: 2, properties: ["number", "group"])
  }

  @Test(
    "R25: any subset of source and copies can go; the last one takes the bytes along", .tags(.r25), arguments: 1..<15)
  func subsets(_ subset: Int) throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let doc = try store.insert("Doc", ["cover": contractData(1)])
    let result = try store.clone([doc], options: .contract(count: 3))
    #expect(result.blobsShared == 3 && result.bytesShared == 6000 && result.bytesCopied == 0)
    #expect(try store.blobCount() == 1)
    let all = [doc] + result.roots
    let gone = all.indices.filter { subset & (1 << $0) != 0 }.map { all[$0] }
    let rest = all.filter { !gone.contains($0) }
    let bytes = try #require(try store.data(doc, "cover"))
    #expect(.binary(bytes) == contractData(1))
    // Rolled back first, then committed.
    struct GivenUp: Error {}
    #expect(throws: GivenUp.self) {
      try store.write { tx in
        try tx.delete(gone)
        for id in rest { #expect(try tx.data(id, "cover") == bytes) }
        throw GivenUp()
      }
    }
    for id in all { #expect(try store.data(id, "cover") == bytes) }
    try store.delete(gone)
    for id in rest { #expect(try store.data(id, "cover") == bytes) }
    #expect(try store.blobCount() == 1)
    try test.expectClean()
    try test.test.reopen()
    for id in rest { #expect(try test.store.data(id, "cover") == bytes) }
    try test.store.delete(rest)
    #expect(try test.store.blobCount() == 0)
    try test.expectClean()
  }

  @Test("R25: a thousand copies of one value; changing a copy releases it", .tags(.r25))
  func manyReferences() throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    let before = try store.info()
    let roots = try store.clone([source.doc], options: .contract(count: 1000)).roots
    #expect(try store.blobCount() == 1)
    let bytes = try #require(try store.data(source.doc, "cover"))
    #expect(
      try store.info().fileBytes - before.fileBytes < 4_000_000, "two values of 2,000 bytes each would be four million")
    try store.write { tx in
      try tx.set(roots[0], "cover", contractData(2))
      try tx.set(roots[1], "cover", nil)
      try tx.delete([source.doc] + roots[2..<999])
    }
    #expect(try store.blobCount() == 2)
    #expect(try store.data(roots[999], "cover") == bytes && store.data(roots[0], "cover") != bytes)
    try test.expectClean()
    try store.delete([roots[999], roots[0]])
    // The page of copy 1 still has it.
    let page = try store.members(roots[1], "pages")[2]
    #expect(try store.data(page, "image") == bytes && store.blobCount() == 1)
    try store.delete([roots[1]])
    #expect(try store.blobCount() == 0)
    try test.expectClean()
  }

  @Test("R25: copied values are not shared", .tags(.r25), arguments: [1, 3])
  func copies(_ count: Int) throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let doc = try store.insert("Doc", ["cover": contractData(3)])
    let options = CloneOptions.contract(count: count) { $0.blobs = .copy }
    let plan = try store.planClone([doc], options: options)
    let result = try store.clone([doc], options: options)
    test.expectEqual(plan, result)
    #expect(result.bytesCopied == UInt64(2000 * count) && result.bytesShared == 0 && result.blobsShared == 0)
    let bytes = try #require(try store.data(doc, "cover"))
    try store.delete([doc])
    for root in result.roots { #expect(try store.data(root, "cover") == bytes) }
    try test.expectClean()
    try store.delete(result.roots)
    #expect(try store.blobCount() == 0)
  }

  @Test("R25: values at the inline size and around it", .tags(.r25), arguments: [0, 1, 1023, 1024, 1025, 9000])
  func sizes(_ size: Int) throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let doc = try store.insert("Doc", ["cover": contractData(4, count: size)])
    let result = try store.clone([doc], options: .contract(count: 3))
    #expect(result.blobsShared == (size > 1024 ? 3 : 0))
    for root in result.roots {
      #expect(try store.data(root, "cover").map { .binary($0) } == contractData(4, count: size))
    }
    try store.delete([doc])
    #expect(try store.data(result.root, "cover")?.count == size)
    try test.expectClean()
  }
}
