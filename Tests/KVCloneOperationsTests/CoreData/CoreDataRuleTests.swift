import Foundation
import KVClone
import KVCloneCoreData
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneOperations

/// Objects that violate rules of their model: Core Data checks these when it saves, and reads invalid objects.
@Suite("import of Core Data's stores: broken rules")
struct CoreDataRuleTests {
  private func entities(_ change: (inout EntityDescription) -> Void) -> ManagedObjectModel {
    ManagedObjectModel(
      name: "Fixture",
      entities: CoreDataFixture.model.entities.map { entity in
        var entity = entity
        change(&entity)
        return entity
      })
  }

  private func run(_ place: CoreDataPlace, _ model: ManagedObjectModel?, skip: Bool = true) throws
    -> CoreDataImportReport
  {
    var options = CoreDataImportOptions()
    options.model = model
    options.skipsBroken = skip
    return try ObjectStore.importCoreData(from: place.database, to: place.store, options: options)
  }

  private func refusal(_ place: CoreDataPlace, _ model: ManagedObjectModel) -> CoreDataImportError? {
    do {
      _ = try run(place, model, skip: false)
      return nil
    } catch {
      return error as? CoreDataImportError
    }
  }

  /// A rule, and the objects of the fixture that violate it.
  struct Rule: Sendable, CustomTestStringConvertible {
    let kind: String
    let objects: Set<String>
    let change: @Sendable (inout EntityDescription) -> Void

    var testDescription: String { kind }
  }

  static let rules: [Rule] = [
    Rule(kind: "valueTooLarge", objects: ["Note/10"]) { entity in
      if entity.name == "Note" { entity.attributes[0].maxValue = 10 }
    },
    Rule(kind: "valueTooSmall", objects: ["Note/10"]) { entity in
      if entity.name == "Note" { entity.attributes[2].minValue = 0 }
    },
    Rule(kind: "stringTooLong", objects: ["Folder/9"]) { entity in
      if entity.name == "Folder" { entity.attributes[0].maxValue = 4 }
    },
    Rule(kind: "stringTooShort", objects: ["Folder/1", "Folder/2"]) { entity in
      if entity.name == "Folder" { entity.attributes[0].minValue = 5 }
    },
    Rule(kind: "patternMismatch", objects: ["Folder/2", "Folder/9"]) { entity in
      if entity.name == "Folder" { entity.attributes[0].regularExpression = "H.*" }
    },
    Rule(kind: "requiredRelationshipMissing", objects: ["Summary/4"]) { entity in
      if entity.name == "Summary" { entity.relationships[0].isOptional = false }
    },
    Rule(kind: "tooFewMembers", objects: ["LinkNote/30"]) { entity in
      if entity.name == "Note" { entity.relationships[4].minCount = 2 }
    },
    Rule(kind: "tooManyMembers", objects: ["Note/10"]) { entity in
      if entity.name == "Note" { entity.relationships[4].maxCount = 2 }
    },
  ]

  @Test(
    "an object that breaks a rule stays as it is, and is listed; without --skip-broken it is refused", arguments: rules)
  func kept(_ rule: Rule) throws {
    let place = try CoreDataPlace()
    let model = entities(rule.change)
    let refusal = self.refusal(place, model)
    #expect(refusal?.kindName == rule.kind && refusal?.message.contains("--skip-broken") == true, "\(refusal as Any)")
    #expect(place.others.isEmpty)
    let report = try run(place, model)
    let planned = try place.plan()
    #expect(report.objectCount == 15 && report.linkCount == planned.linkCount)
    #expect(Set(report.skipped.compactMap(\.error.object)) == rule.objects, "\(report.skipped)")
    #expect(report.skipped.allSatisfy { $0.error.kindName == rule.kind && !$0.isWholeObject })
    let store = try place.open()
    defer { store.close() }
    try checked(store)
    #expect(try store.values("Note/10", ["count", "small"]) == [.integer(.max), .integer(-32_768)])
    #expect(try store.members("Note/10", "labels").count == 3)
  }

  @Test("NULL in a required attribute is nil, or the model's default value")
  func required() throws {
    var fixture = CoreDataFixture()
    fixture.rows["ZFOLDER"]?[2] = (9, CoreDataFixture.folder(nil, cover: nil))
    let place = try CoreDataPlace(fixture)
    let model = entities { entity in
      if entity.name == "Note" { entity.attributes[0].isOptional = false }
      if entity.name == "Note" { entity.attributes[2].isOptional = false }
    }
    #expect(refusal(place, model)?.kindName == "requiredValueMissing")
    let report = try run(place, model)
    // Four notes have neither a count nor a small, and one folder has no name.
    #expect(report.objectCount == 15 && report.skippedCount == 9, "\(report.skipped)")
    #expect(report.skipped.allSatisfy { $0.error.kind == .requiredValueMissing && !$0.isWholeObject })
    let store = try place.open()
    defer { store.close() }
    try checked(store)
    #expect(try store.values("ImageNote/20", ["count", "small"]) == [.integer(5), nil])
    #expect(try store.values("Folder/9", ["name"]) == [nil])
    // As in Core Data, the object is checked when it changes.
    let error = #expect(throws: ValidationError.self) {
      try store.write { transaction in
        try transaction.link(
          try transaction.objectID(named: "Folder/9"), "notes", [try transaction.insert("Note", ["small": 1])])
      }
    }
    #expect(error?.issues.map(\.kind) == [.requiredValueMissing] && error?.object == "Folder/9")
    try store.write { transaction in
      let folder = try transaction.objectID(named: "Folder/9")
      try transaction.set(folder, "name", "Archive")
      try transaction.link(folder, "notes", [try transaction.insert("Note", ["small": 1])])
    }
    try checked(store)
  }

  @Test("of objects with the same unique values, those with greater keys lose a value, and stay")
  func unique() throws {
    var fixture = CoreDataFixture()
    let names = ["a", "b", "b", "b", "a"]
    fixture.rows["ZTAG"] = names.enumerated().map { (Int64($0.offset + 1), CoreDataFixture.tag($0.element)) }
    let place = try CoreDataPlace(fixture)
    let model = entities { if $0.name == "Tag" { $0.uniquenessConstraints = [["name"]] } }
    #expect(refusal(place, model)?.kindName == "uniquenessConflict")
    let report = try run(place, model)
    #expect(report.objectCount == 15 && report.skippedCount == 3, "\(report.skipped)")
    #expect(report.skipped.map(\.error.object) == ["Tag/3", "Tag/4", "Tag/5"])
    #expect(report.skipped.allSatisfy { !$0.isWholeObject && $0.error.property == "name" })
    let store = try place.open()
    defer { store.close() }
    try checked(store)
    for (key, name) in zip(1..., ["a", "b", nil, nil, nil]) {
      #expect(try store.values("Tag/\(key)", ["name"]) == [name.map { .string($0) }], "Tag/\(key)")
    }
    #expect(try store.members("Folder/1", "favourites") == ["Tag/4", "Tag/5"])
  }

  // MARK: Ambiguous bytes

  /// The model decides: bytes of an attribute without external storage are the value, regardless of their prefix.
  @Test("bytes that look like external ones are plain where the model says so", arguments: [false, true])
  func plainBytes(_ isStored: Bool) throws {
    let model = entities { entity in
      for place in entity.attributes.indices { entity.attributes[place].allowsExternalBinaryDataStorage = false }
    }
    let marked: [UInt8] = [1] + (0..<23).map { UInt8($0) }
    let named: [UInt8] = [2] + Array("00000000-0000-0000-0000-000000000000".utf8) + [0]
    var fixture = CoreDataFixture()
    fixture.rows["ZNOTE"] = [
      (20, CoreDataFixture.note(3, ["ZIMAGE": .blob(marked)])), (21, CoreDataFixture.note(3, ["ZIMAGE": .blob(named)])),
      (22, CoreDataFixture.note(3, ["ZIMAGE": .blob([3, 1])])),
      (23, CoreDataFixture.note(3, ["ZIMAGE": .text("\u{1}text")])),
    ]
    fixture.rows["ZFOLDER"] = []
    fixture.rows["ZSUMMARY"] = []
    fixture.links = [:]
    if isStored { fixture.storedModel = ModelArchiveWriter.bytes(model) }
    let place = try CoreDataPlace(fixture)
    let report = try run(place, isStored ? nil : model, skip: false)
    #expect(report.skippedCount == 0 && report.isStoredModel == isStored)
    let store = try place.open()
    defer { store.close() }
    try checked(store)
    for (key, bytes) in [(20, marked), (21, named), (22, [3, 1]), (23, Array("\u{1}text".utf8))] {
      #expect(try store.values("ImageNote/\(key)", ["image"]) == [.binary(Data(bytes))], "\(key)")
    }
  }

  // MARK: The store's own model

  @Test("a store is read by the model that it holds, of any age", arguments: [false, true])
  func storedModel(_ usesProxies: Bool) throws {
    var fixture = CoreDataFixture()
    fixture.storedModel = ModelArchiveWriter.bytes(
      CoreDataFixture.model, .init(usesProxies: usesProxies, usesKnownKeys: !usesProxies))
    let place = try CoreDataPlace(fixture)
    let wanted = try place.plan()
    let report = try run(place, nil, skip: false)
    #expect(report.isStoredModel && report.modelOmissions.isEmpty && report.counts == wanted.counts)
    #expect(
      report.linkCount == wanted.linkCount && report.externalAttributes == ["ImageNote.image", "PinnedNote.image"])
    let store = try place.open()
    defer { store.close() }
    try checked(store)
    #expect(try store.members("Folder/1", "notes") == ["ImageNote/20", "Note/10", "LinkNote/30"])
    #expect(try store.values("LinkNote/30", ["pin", "price"]) == [.integer(44), .decimal(7)])
    #expect(store.model.entity(named: "PinnedNote")?.attributes.isEmpty == true)
  }

  @Test("a stored model with a composite attribute is refused by name, and the error names the option for the source")
  func composite() throws {
    let model = entities { entity in
      if entity.name == "Tag" {
        entity.attributes.append(
          AttributeDescription("place", .composite, elements: [AttributeDescription("lat", .double)]))
      }
    }
    var fixture = CoreDataFixture()
    fixture.storedModel = ModelArchiveWriter.bytes(model)
    let place = try CoreDataPlace(fixture)
    let error = #expect(throws: CoreDataImportError.self) { try run(place, nil) }
    #expect(error?.kind == .unreadableModel && error?.entity == "Tag" && error?.property == "place")
    #expect(error?.message.contains("composite") == true && error?.message.contains("--model") == true)
    #expect(place.others.isEmpty)
  }
}
