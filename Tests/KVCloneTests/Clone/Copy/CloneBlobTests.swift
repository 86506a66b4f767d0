import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

private let model = ManagedObjectModel("Blobs") {
  EntityDescription("Item") {
    AttributeDescription("data", .binary)
    AttributeDescription("draft", .binary, userInfo: ["exclude": "YES"])
    AttributeDescription("note", .string, userInfo: ["exclude": "YES"])
    AttributeDescription("cover", .binary, userInfo: ["followParent": "data", "withoutParent": "blank"])
    RelationshipDescription("parent", toOne: "Item", inverse: "parts")
    RelationshipDescription("parts", toMany: "Item", inverse: "parent")
  }
}

/// The treatment of blobs by clones, dry runs and limits.
@Suite("Clones of blobs")
struct CloneBlobTests {
  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(model) }

  @Test(
    "R29, R36: what is excluded is not counted, and what is followed is", .tags(.r29, .r36),
    arguments: [CloneOptions.Blobs.share, .copy])
  func counts(_ blobs: CloneOptions.Blobs) throws {
    let item = try store.insert("Item")
    let part = try store.insert("Item", relationships: ["parent": [item]])
    try store.set(item, "data", .binary(Data(repeating: 1, count: 3_000)))
    try store.set(item, "draft", .binary(Data(repeating: 2, count: 2_500_000)))
    try store.set(item, "note", .string(String(repeating: "n", count: 900)))
    try store.set(part, "cover", .binary(Data(repeating: 3, count: 70_000)))
    var options = CloneOptions()
    options.blobs = blobs
    // The item's data, and a second time as the value that the part's cover follows.
    options.maxBytes = blobs == .copy ? 6_600 : 600
    let plan = try store.planClone([item], options: options)
    #expect(plan.errors.isEmpty)
    let result = try store.clone([item], options: options)
    #expect(plan.bytesCopied == result.bytesCopied && plan.bytesShared == result.bytesShared)
    #expect(plan.blobsShared == result.blobsShared)
    #expect(plan.bytesCopied + plan.bytesShared == 6_000)
    try checked(store)
  }

  @Test("lengths in a corrupted record do not overflow", arguments: [CloneOptions.Blobs.share, .copy])
  func lies(_ blobs: CloneOptions.Blobs) throws {
    let items = try store.insert("Item", count: 2)
    for item in items { try store.set(item, "data", .binary(Data(repeating: 7, count: 2_000))) }
    try store.setMembers(items[1], "parent", [items[0]])
    try store.write { tx in
      try tx.changeObjects { (session) throws(StoreError) in
        for (number, id) in items.enumerated() {
          let entity = try session.load(id)
          let field = entity.attributes.first { $0.path == "data" }?.field ?? 0
          let lie = BlobReference(id: UInt64(number + 1), byteCount: .max - 5, isTransformable: false)
          do throws(RecordError) {
            try session.scratch.set(field, .blob(lie))
          } catch {
            throw StoreError(.corrupted, error.description)
          }
          try session.store(id, entity)
        }
        session.changes.isEmpty = false
      }
    }
    var options = CloneOptions()
    options.blobs = blobs
    options.maxBytes = .max - 1
    _ = try? store.planClone([items[0]], options: options)
    _ = try? store.clone([items[0]], options: options)
    let kinds = Set(try store.check().issues.map(\.kind))
    #expect(kinds == [.missingBlob], "\(kinds)")
  }
}
