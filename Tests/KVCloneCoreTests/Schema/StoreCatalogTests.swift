import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

private let catalogModel = ManagedObjectModel("Catalog") {
  EntityDescription("Folder", unique: [["name"]]) {
    AttributeDescription("name", .string)
    RelationshipDescription("items", toMany: "Item", inverse: "folder")
    RelationshipDescription("seen", toMany: "Item")
  }
  EntityDescription("Item") {
    RelationshipDescription("folder", toOne: "Folder", inverse: "items")
  }
}

/// The valid content of the store's catalog.
@Suite("The store's catalog")
struct StoreCatalogTests {
  /// Each makes the document invalid: codes assigned twice, or beyond the last one; an unparsable model.
  @Test(
    "a document with codes that cannot be is damage",
    arguments: [
      (#""Item":2"#, #""Item":1"#), (#""Item":2"#, #""Item":3"#), (#""Item":2"#, #""Item":0"#),
      (#""lastEntity":2"#, #""lastEntity":65535"#), (#""items":2"#, #""items":1"#), (#""seen":4"#, #""seen":3"#),
      (#""lastLayout":2"#, #""lastLayout":1"#), (#""name":1}"#, #""name":9}"#), (#"\"Item\""#, #"\"Folder\""#),
    ])
  func codes(_ change: (from: String, to: String)) throws {
    let engine = MemoryStorage()
    try ObjectStore.create(in: engine, model: catalogModel).close()
    engine.reopen()
    let metadata = try engine.openTables([.metadata], create: false)[0]
    let key = MetadataKey.bytes(MetadataKey.model(1))
    var isChanged = false
    engine.tamper(metadata) { entries in
      guard let index = entries.firstIndex(where: { $0.key == key }) else { return }
      let text = String(decoding: entries[index].value.dropFirst(8), as: UTF8.self)
      let changed = text.replacing(change.from, with: change.to)
      isChanged = changed != text
      entries[index].value = BytesValue(Array(changed.utf8)).encoded(
        seed: ValueEnvelope.seed(tableCode: .metadata, key: key))
    }
    #expect(isChanged)
    expectError(.corrupted) {
      _ = try StoreOpening.assemble(engine, path: "engine", model: nil, options: StoreOptions())
    }
  }

  @Test("a record has at most 16,384 properties; a model with more is refused before anything is made")
  func properties() throws {
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    // Elements of composites: so many attributes would take too long.
    let elements = (0..<3_300).map { AttributeDescription("a\($0)", .boolean) }
    let model = ManagedObjectModel("Wide") {
      CompositeAttributeDescription("Flags", elements: elements)
      EntityDescription("Wide") {
        for number in 0..<5 { AttributeDescription("flags\(number)", .composite, composite: "Flags") }
      }
    }
    let error = expectError(.invalidModel) { _ = try ObjectStore.create(at: root + "/wide", model: model) }
    #expect(error?.message.contains("Wide has 16500") == true, "\(error?.message ?? "")")
    #expect(!FileManager.default.fileExists(atPath: root + "/wide"))
  }
}
