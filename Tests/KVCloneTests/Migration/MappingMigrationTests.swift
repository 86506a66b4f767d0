import Foundation
import KVClone
import KVCloneOperations
import KVCloneTestSupport
import Testing

/// Migrations by mapping models: their expressions, their order, their policies.
@Suite("Migration by mapping models")
struct MappingMigrationTests {
  private static let old = ManagedObjectModel("Shop", version: "Shop 1") {
    EntityDescription("Author") {
      AttributeDescription("name", .string)
      RelationshipDescription("books", toMany: "Book", inverse: "author", ordered: true)
    }
    EntityDescription("Book") {
      AttributeDescription("title", .string)
      AttributeDescription("price", .double)
      AttributeDescription("cover", .binary)
      AttributeDescription("isMagazine", .boolean)
      RelationshipDescription("author", toOne: "Author", inverse: "books")
    }
    EntityDescription("Draft") { AttributeDescription("text", .string) }
  }

  private static let new = ManagedObjectModel("Shop", version: "Shop 2") {
    EntityDescription("Writer") {
      AttributeDescription("firstName", .string)
      AttributeDescription("lastName", .string)
      RelationshipDescription("volumes", toMany: "Volume", inverse: "writer", ordered: true)
    }
    EntityDescription("Volume") {
      AttributeDescription("heading", .string, optional: false)
      AttributeDescription("cents", .integer64)
      AttributeDescription("cover", .binary)
      AttributeDescription("authorName", .string)
      AttributeDescription("state", .string)
      RelationshipDescription("writer", toOne: "Writer", inverse: "volumes")
    }
    EntityDescription("Magazine") {
      AttributeDescription("heading", .string)
    }
  }

  private struct SplitNames: EntityMigrationPolicy {
    func createDestinationInstances(
      for source: ObjectID, in mapping: EntityMapping, with manager: inout MigrationManager
    ) throws {
      let writer = try manager.createDestinationInstance(for: source, in: mapping)
      let name = try manager.source { tx in try tx.object(source)["name"] }
      guard case .string(let text)? = name else { return }
      let parts = text.split(separator: " ").map(String.init)
      try manager.destination { tx in
        try tx.setAttributes(writer, ["firstName": .string(parts[0]), "lastName": .string(parts.last ?? "")])
      }
    }

    func value(
      of method: String, _ arguments: [MigrationValue], in mapping: EntityMapping, with manager: inout MigrationManager
    ) throws -> MigrationValue {
      guard method == "shout:", case .value(.string(let text))? = arguments.first else { return .null }
      return .value(.string(text.uppercased()))
    }
  }

  private static func mapping(heading: MappingExpression = .source("title")) throws -> MappingModel {
    MappingModel([
      EntityMapping(from: "Author", to: "Writer", policy: "SplitNames"),
      EntityMapping(
        from: "Book", to: "Volume", where: .matching(try QueryPredicate(format: "isMagazine == NO")),
        attributes: [
          PropertyMapping("heading", heading), try PropertyMapping("cents", format: "$source.price * 100"),
          PropertyMapping("authorName", .source("author.name")), PropertyMapping("state", .constant("old")),
        ],
        relationships: [
          PropertyMapping("writer", .destinationInstances(mapping: "AuthorToWriter", of: .source("author")))
        ], policy: "SplitNames2"),
      EntityMapping(
        from: "Book", to: "Magazine", where: .matching(try QueryPredicate(format: "isMagazine == YES")),
        attributes: [PropertyMapping("heading", .source("title"))]),
      EntityMapping(from: "Draft", to: nil),
    ])
  }

  private static func policies() -> [String: any EntityMigrationPolicy] {
    ["SplitNames": SplitNames(), "SplitNames2": Shouting()]
  }

  /// Creates objects by the mapping, and implements one method.
  private struct Shouting: EntityMigrationPolicy {
    func value(
      of method: String, _ arguments: [MigrationValue], in mapping: EntityMapping, with manager: inout MigrationManager
    ) throws -> MigrationValue {
      try SplitNames().value(of: method, arguments, in: mapping, with: &manager)
    }
  }

  private static func filled() throws -> TestStore {
    let test = try TestStore(old)
    try test.store.write { tx in
      let authors = try ["Jane Austen", "Mark Twain"].map { try tx.insert("Author", ["name": .string($0)]) }
      for number in 0..<200 {
        try tx.insert(
          "Book",
          [
            "title": .string("Title \(number)"), "price": .double(Double(number)),
            "isMagazine": .boolean(number % 10 == 0),
            "cover": .binary(Data(repeating: UInt8(number), count: number % 3 == 0 ? 3_000 : 3)),
          ], relationships: ["author": [authors[number % 2]]])
      }
      try tx.insert("Draft", ["text": "gone"])
    }
    return test
  }

  private static func checked(_ store: ObjectStore) throws {
    let report = try store.check(CheckOptions(readData: true))
    #expect(report.isClean, "\(report.issues)")
  }

  @Test("objects are split, filtered, renamed and linked, and old names lead to them")
  func everything() throws {
    let test = try Self.filled()
    let oldName = try test.store.read { tx in try tx.uri(of: try tx.objectID(named: "Book/2")) }
    let before = try test.store.read { tx in try tx.fetch(FetchRequest("Book")).map { $0["title"] } }
    test.store.close()
    let report = try test.migrate(
      to: Self.new,
      migration: MigrationOptions(
        mappings: [try Self.mapping(heading: .policy("shout:", [.source("title")]))], policies: Self.policies()))
    #expect(report.createdCount == 202)
    try test.reopen()
    try Self.checked(test.store)
    try test.store.read { tx in
      let volumes = try tx.fetch(FetchRequest("Volume"))
      #expect(volumes.count == 180)
      for volume in volumes {
        guard case .integer(let cents)? = volume["cents"] else { throw CocoaError(.featureUnsupported) }
        let number = cents / 100
        #expect(number % 10 != 0)
        #expect(volume["heading"] == .string("TITLE \(number)"))
        #expect(volume["state"] == "old")
        #expect(volume["authorName"] == .string(number % 2 == 0 ? "Jane Austen" : "Mark Twain"))
        let bytes = try tx.data(volume.id, "cover")?.count
        #expect(bytes == (number % 3 == 0 ? 3_000 : 3))
      }
      #expect(try tx.fetch(FetchRequest("Magazine")).count == 20)
      let writers = try tx.fetch(FetchRequest("Writer"))
      #expect(
        writers.map { $0["firstName"] } == ["Jane", "Mark"] && writers.map { $0["lastName"] } == ["Austen", "Twain"])
      let first = try tx.members(writers[0].id, "volumes")
      #expect(first.count == 80)
      let headings = try first.map { try tx.object($0)["heading"] }
      #expect(headings.first == "TITLE 2")
      let moved = try tx.objectID(named: oldName)
      #expect(try tx.object(moved)["heading"] == "TITLE 1")
    }
    let snapshot = try test.store.snapshot(named: try #require(report.snapshot))
    let then = try snapshot.read { tx in try tx.fetch(FetchRequest("Book")).map { $0["title"] } }
    #expect(then == before)
    #expect(try snapshot.read { tx in try tx.fetch(FetchRequest("Draft")).count } == 1)
    try test.store.deleteSnapshots(named: try test.store.snapshots().map(\.name))
    try Self.checked(test.store)
    try test.store.write { tx in _ = try tx.delete(try tx.fetchIDs(FetchRequest("Volume"))) }
    try Self.checked(test.store)
  }

  @Test("impossible mappings are rejected before anything is written, and leave the store unchanged")
  func refusals() throws {
    let test = try Self.filled()
    test.store.close()
    func fails(_ kind: StoreError.Kind, _ options: MigrationOptions, _ place: SourceLocation = #_sourceLocation) throws
    {
      var thrown: StoreError.Kind?
      do { try test.migrate(to: Self.new, migration: options) } catch { thrown = error.kind }
      #expect(thrown == kind, sourceLocation: place)
      try test.reopen()
      #expect(test.store.model.versionIdentifier == "Shop 1", sourceLocation: place)
      #expect(try test.store.info().objectCount == 203, sourceLocation: place)
      try Self.checked(test.store)
      test.store.close()
    }
    let mapping = try Self.mapping()
    try fails(.invalidMapping, MigrationOptions(mappings: [mapping]))
    try fails(
      .invalidMapping, MigrationOptions(mappings: [MappingModel([EntityMapping(from: "Nobody", to: "Writer")])]))
    // The heading is mandatory, and a title without a writer is nil.
    let nothing = try Self.mapping(heading: .constant(nil))
    try fails(.invalidObject, MigrationOptions(mappings: [nothing], policies: Self.policies()))
    let wrong = try Self.mapping(heading: .source("price"))
    var plain = wrong
    plain.entityMappings[1].attributeMappings[1] = PropertyMapping("cents", .source("title"))
    try fails(.notConvertible, MigrationOptions(mappings: [plain], policies: Self.policies()))
  }

  @Test("mapping models of real projects", .enabled(if: Corpus.root != nil, "\(Corpus.missing)"))
  func corpus() throws {
    let projects: [(String, String, [String: any EntityMigrationPolicy])] = [
      ("jessesquires__JSQCoreDataKit", "Version1_to_Version2", [:]),
      ("wibosco__CoreDataMigration-Example", "Migration1to2", [:]),
      ("objcio__issue-4-core-data-migration", "Model1_to_Model2", ["MHWBookToBookPolicy": Shouting()]),
    ]
    for (project, name, policies) in projects {
      let path = try #require(Corpus.mappingModel("\(project)/\(name).xcmappingmodel"))
      let mapping = try MappingModel.load(contentsOf: path).mapping
      let bundle = try #require(Corpus.modelBundles().first { $0.contains(project) })
      let versions = try ManagedObjectModel.loadVersions(contentsOf: bundle).map(\.model)
      let from = try #require(versions.first { $0.versionIdentifier == mapping.sourceVersionName })
      let to = try #require(versions.first { $0.versionIdentifier == mapping.destinationVersionName })
      let test = try TestStore(from)
      let made = try test.store.write { tx -> Int in
        var count = 0
        for entity in from.entities where !entity.isAbstract {
          for number in 0..<40 {
            var values: [String: AttributeValue?] = [:]
            for attribute in from.attributes(of: entity.name) where attribute.type == .string {
              values[attribute.name] = .string("\(attribute.name) \(number)")
            }
            for attribute in from.attributes(of: entity.name) where attribute.type == .date {
              values[attribute.name] = .date(Date(timeIntervalSinceReferenceDate: Double(number)))
            }
            try tx.insert(entity.name, values)
            count += 1
          }
        }
        return count
      }
      test.store.close()
      let options = MigrationOptions(versions: versions, mappings: [mapping], policies: policies)
      let report = try test.migrate(to: to, migration: options)
      #expect(report.createdCount == made, "\(project)")
      try test.reopen()
      #expect(test.store.model.modelHash == to.modelHash)
      try Self.checked(test.store)
      // Properties with the same name in both versions are unchanged.
      let snapshot = try test.store.snapshot(named: try #require(report.snapshot))
      for entity in mapping.entityMappings {
        guard let source = entity.sourceEntityName, let destination = entity.destinationEntityName else { continue }
        let same = Set(to.attributes(of: destination).map(\.name)).intersection(
          from.attributes(of: source).filter { $0.type == .string }.map(\.name))
        let old = try snapshot.read { tx in try tx.fetch(FetchRequest(source)).map { object in same.map { object[$0] } }
        }
        let new = try test.store.read { tx in
          try tx.fetch(FetchRequest(destination)).map { object in same.map { object[$0] } }
        }
        #expect(old == new, "\(project) \(entity.name)")
      }
    }
  }
}
