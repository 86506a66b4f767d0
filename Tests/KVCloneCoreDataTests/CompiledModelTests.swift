import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVCloneCoreData

/// Models that Xcode compiled: archives, in bundles or alone.
@Suite("compiled models")
struct CompiledModelTests {
  typealias Options = ModelArchiveWriter.Options

  static let forms: [Options] = [
    Options(), Options(usesProxies: true), Options(usesKnownKeys: true), Options(isXML: true),
    Options(usesProxies: true, usesKnownKeys: true, isXML: true),
  ]

  /// A model with one of everything that an archive can contain.
  private static func model(version: String = "M 2") -> ManagedObjectModel {
    var name = AttributeDescription(
      "name", .string, optional: false, default: "untitled", min: 1, max: 64, regularExpression: "^[a-z <&>]*$",
      userInfo: ["key": "value"], renamingIdentifier: "title")
    name.versionHashModifier = "2"
    var photo = AttributeDescription("photo", .binary)
    photo.allowsExternalBinaryDataStorage = true
    var identifier = AttributeDescription(
      "id", .uuid, default: .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))))
    identifier.preservesValueInHistoryOnDeletion = true
    var recent = FetchedPropertyDescription(
      "recent", FetchRequestTemplate("fetchedPropertyFetchRequest", entity: "Note", predicate: "count > 1"),
      userInfo: ["a": "b"]
    )
    recent.renamingIdentifier = "latest"
    let base = EntityDescription(
      name: "Base", isAbstract: true, attributes: [identifier, name],
      relationships: [RelationshipDescription("tags", toMany: "Tag", inverse: "notes", deleteRule: .cascade)],
      fetchedProperties: [recent],
      indexes: [FetchIndexDescription("indexed:name", [.init("name")], origin: .indexedAttribute)],
      userInfo: ["k": "v"])
    let note = EntityDescription(
      name: "Note", managedObjectClassName: "App.Note", superentityName: "Base",
      attributes: [
        AttributeDescription("count", .integer32, default: 3, min: -5, max: 1_000),
        AttributeDescription("done", .boolean, default: true),
        AttributeDescription(
          "made", .date, default: .date(Date(timeIntervalSinceReferenceDate: 12.5)),
          min: .date(Date(timeIntervalSinceReferenceDate: 0))),
        photo, AttributeDescription("price", .decimal, default: .decimal(Decimal(string: "-12.50") ?? 0)),
        AttributeDescription("ratio", .double, default: 0.25, max: 1.5),
        AttributeDescription("scratch", .string, transient: true),
        AttributeDescription("tagCount", .integer64, derivation: "tags.@count"),
        AttributeDescription("tint", .transformable, transformer: "Tint", valueClass: "NSColor"),
      ],
      indexes: [
        FetchIndexDescription(
          "byCount", [.init("count", ascending: false), .init("made")], partialPredicate: "count > 0 AND done == TRUE")
      ], renamingIdentifier: "Memo")
    let tag = EntityDescription(
      name: "Tag", attributes: [AttributeDescription("label", .string)],
      relationships: [RelationshipDescription("notes", toMany: "Base", inverse: "tags", ordered: true)],
      uniquenessConstraints: [["label"]])
    return ManagedObjectModel(
      name: "M", versionIdentifier: version, entities: [base, note, tag], configurations: ["Cloud": ["Note", "Tag"]],
      fetchRequestTemplates: [
        FetchRequestTemplate(
          "Done", entity: "Note", predicate: "done == TRUE AND NOT name CONTAINS[cd] $TEXT", limit: 5, resultType: 2,
          includesPendingChanges: false, returnsDistinctResults: true),
        FetchRequestTemplate(
          "Few", entity: "Tag", predicate: "label IN $LABELS OR ANY notes.name == nil", batchSize: 20),
      ])
  }

  /// A model in the form of an archive: without data that only the model editor needs, and in the archive's order.
  static func archived(_ given: ManagedObjectModel) -> ManagedObjectModel {
    let entities = given.entities.map { entity in
      var entity = entity
      entity.codeGenerationType = nil
      entity.coreSpotlightDisplayNameExpression = nil
      entity.attributes = entity.attributes.map { attribute in
        var attribute = attribute
        attribute.usesScalarValueType = false
        attribute.isIndexedBySpotlight = false
        attribute.allowsCloudEncryption = false
        if attribute.type != .binary { attribute.allowsExternalBinaryDataStorage = false }
        if attribute.type != .transformable { attribute.attributeValueClassName = nil }
        return attribute
      }.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
      entity.relationships.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
      entity.fetchedProperties.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
      // With fetch indexes, Xcode's older index marks add nothing.
      if entity.indexes.contains(where: { $0.origin == .fetchIndex }) {
        entity.indexes.removeAll { $0.origin != .fetchIndex }
      }
      return entity
    }.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    return ManagedObjectModel(
      name: given.name, versionIdentifier: given.versionIdentifier, entities: entities,
      configurations: given.configurations.mapValues { $0.sorted() },
      fetchRequestTemplates: given.fetchRequestTemplates.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    )
  }

  @Test("an archive of each form has everything that the model has", arguments: forms.indices)
  func everything(_ form: Int) throws {
    let model = Self.model()
    let archived = try ModelArchive.model(
      in: ModelArchiveWriter.bytes(model, Self.forms[form]), name: "M", version: "M 2")
    #expect(archived.omitted.isEmpty, "\(archived.omitted)")
    let (read, wanted) = (archived.model, Self.archived(model))
    for (entity, other) in zip(read.entities, wanted.entities) { #expect(entity == other) }
    #expect(read.fetchRequestTemplates == wanted.fetchRequestTemplates && read.configurations == wanted.configurations)
    #expect(read == wanted && read.modelHash == model.modelHash)
    #expect(ModelDifference(from: read, to: model).changes.isEmpty, "\(ModelDifference(from: read, to: model).changes)")
    _ = try read.validate()
  }

  /// A subentity's proxy was read as an attribute without a type, declared next to the attribute that it represents.
  @Test("a proxy is an inherited property, and no declaration")
  func proxies() throws {
    let model = try ModelArchive.model(
      in: ModelArchiveWriter.bytes(Self.model(), Options(usesProxies: true)), name: "M"
    ).model
    let note = try #require(model.entity(named: "Note"))
    #expect(
      !note.attributes.map(\.name).contains("name") && note.relationships.isEmpty && note.fetchedProperties.isEmpty)
    #expect(model.attribute("name", of: "Note")?.defaultValue == .string("untitled"))
    #expect(model.relationship("tags", of: "Note")?.deleteRule == .cascade)
    #expect(model.inverse(of: "notes", in: "Tag")?.relationship.name == "tags")
  }

  @Test("composite attributes are refused by name", arguments: [false, true])
  func composites(_ isXML: Bool) throws {
    let model = ManagedObjectModel(
      name: "M",
      entities: [
        EntityDescription(
          name: "Place",
          attributes: [AttributeDescription("at", .composite, elements: [AttributeDescription("lat", .double)])])
      ])
    let folder = try TemporaryFolder()
    let file = folder.path + "/M.mom"
    try Data(ModelArchiveWriter.bytes(model, Options(isXML: isXML))).write(to: URL(fileURLWithPath: file))
    let error = #expect(throws: ModelFileError.self) { try ManagedObjectModel.load(contentsOf: file) }
    #expect(error?.kind == .unsupportedArchive && error?.entity == "Place" && error?.property == "at")
    #expect(error?.description.contains("composite") == true && error?.description.contains(".xcdatamodeld") == true)
  }

  // MARK: Bundles

  /// A bundle of two versions.
  private func bundle(current: String? = "M 2", infoXML: Bool = false) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.path + "/M.momd", withIntermediateDirectories: true)
    let first = ManagedObjectModel(name: "M", versionIdentifier: "M", entities: [EntityDescription(name: "Old")])
    let second = Self.model()
    func write(_ bytes: [UInt8], _ name: String) throws {
      try Data(bytes).write(to: URL(fileURLWithPath: "\(folder.path)/M.momd/\(name)"))
    }
    try write(ModelArchiveWriter.bytes(first, Options(isXML: true)), "M.mom")
    try write(ModelArchiveWriter.bytes(second), "M 2.mom")
    try write(Array("momv2$srsraori".utf8), "M 2.omo")
    try write(ModelArchiveWriter.versionInfo([first, second], current: current, isXML: infoXML), "VersionInfo.plist")
    return folder
  }

  @Test("VersionInfo.plist names the versions and the current one", arguments: [false, true])
  func versions(_ infoXML: Bool) throws {
    let folder = try bundle(infoXML: infoXML)
    let path = folder.path + "/M.momd"
    let versions = try ManagedObjectModel.modelVersions(at: path)
    #expect(versions.names == ["M 2", "M"] && versions.current == "M 2" && versions.warnings.isEmpty)
    let loaded = try ManagedObjectModel.load(contentsOf: path + "/")
    #expect(loaded.model == Self.archived(Self.model()))
    // Warnings about the model itself are the same from any file.
    let ofFiles = loaded.warnings.filter { [.strayFile, .currentVersion, .unknownContent].contains($0.kind) }
    #expect(ofFiles.isEmpty, "\(ofFiles)")
    #expect(try ManagedObjectModel.load(contentsOf: path, version: "M").model.entities.map(\.name) == ["Old"])
    #expect(try ManagedObjectModel.load(contentsOf: path, version: "M 2.mom").model.versionIdentifier == "M 2")
    #expect(
      try ManagedObjectModel.loadVersions(contentsOf: path).map(\.model.versionIdentifier) == ["M", "M 2"])
    // A single version has the bundle's name.
    for name in ["M 2.mom", "M 2.omo"] {
      let one = try ManagedObjectModel.load(contentsOf: path + "/" + name).model
      #expect(one == loaded.model, "\(name)")
    }
    #expect(MappingModel.modelVersion(at: "App/M.xcdatamodeld/M 2.xcdatamodel", near: path) == path + "/M 2.mom")
  }

  @Test("an unknown version is an error with a line for each that there is, and the option that names one")
  func unknownVersion() throws {
    let path = try bundle().path + "/M.momd"
    let folder = try bundle()
    let error = #expect(throws: ModelFileError.self) {
      try ManagedObjectModel.load(contentsOf: folder.path + "/M.momd", version: "M 3")
    }
    #expect(error?.kind == .unknownVersion && !path.isEmpty)
    #expect(
      error?.description.hasSuffix("(--model-version, for a migration --to):\n  M 2\n  M") == true, "\(error as Any)")
  }

  @Test("incomplete bundles")
  func damagedBundles() throws {
    let folder = try bundle(current: "M 9")
    let path = folder.path + "/M.momd"
    // The version with the bundle's name.
    let loaded = try ManagedObjectModel.load(contentsOf: path)
    #expect(loaded.model.versionIdentifier == "M" && loaded.warnings.map(\.kind) == [.currentVersion])
    try Data("no list".utf8).write(to: URL(fileURLWithPath: path + "/VersionInfo.plist"))
    #expect(try ManagedObjectModel.load(contentsOf: path).warnings.map(\.kind) == [.currentVersion])
    try FileManager.default.removeItem(atPath: path + "/M 2.mom")
    #expect(try ManagedObjectModel.load(contentsOf: path).warnings.map(\.kind) == [.strayFile, .currentVersion])
    // Only the copy that Core Data reads remains.
    #expect(throws: ModelFileError.optimizedModel(path: path + "/M 2.omo")) {
      try ManagedObjectModel.load(contentsOf: path + "/M 2.omo")
    }
    // An archive is recognized under any name.
    try Data(ModelArchiveWriter.bytes(Self.model())).write(to: URL(fileURLWithPath: path + "/M 2.omo"))
    #expect(try ManagedObjectModel.load(contentsOf: path + "/M 2.omo").model.entities.count == 3)
    try Data([1, 2, 3]).write(to: URL(fileURLWithPath: path + "/M.mom"))
    #expect {
      try ManagedObjectModel.load(contentsOf: path)
    } throws: {
      ($0 as? ModelFileError)?.kind == .unreadableArchive
    }
    try FileManager.default.removeItem(atPath: path + "/M.mom")
    #expect(throws: ModelFileError.noVersion(path: path)) { try ManagedObjectModel.load(contentsOf: path) }
    #expect(throws: ModelFileError.notFound(path: path + "/M.mom")) {
      try ManagedObjectModel.load(contentsOf: path + "/M.mom")
    }
  }

  @Test("a version with other entities than the bundle lists has a warning")
  func otherEntities() throws {
    let folder = try bundle()
    let path = folder.path + "/M.momd"
    let other = ManagedObjectModel(name: "M", entities: [EntityDescription(name: "Other")])
    try Data(ModelArchiveWriter.bytes(other)).write(to: URL(fileURLWithPath: path + "/M 2.mom"))
    let warnings = try ManagedObjectModel.load(contentsOf: path).warnings.filter { $0.kind == .unknownContent }
    #expect(warnings.count == 1 && warnings.first?.message.contains("Other") == true, "\(warnings)")
  }

  // MARK: Hostile archives

  @Test("damaged archives of each form end in a model or an error", arguments: SQLiteSeeds.seeds)
  func damage(_ seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for form in Self.forms {
      let sound = ModelArchiveWriter.bytes(Self.model(), form)
      for _ in 0..<(form.isXML ? 12 : 120) {
        var bytes = sound
        for _ in 0...generator.below(8) {
          bytes[generator.below(bytes.count)] = .random(in: 0...255, using: &generator)
        }
        if let model = try? ModelArchive.model(in: bytes, name: "M").model { _ = try? model.validate() }
        _ = CompiledModelInfo(bytes)
      }
    }
  }

  @Test("a chain of proxies that leads back into itself ends")
  func endlessProxies() {
    var list = TestValue.dictionary([])
    let proxy = { (target: Int) in
      TestValue.dictionary([("NSUnderlyingProperty", .reference(target)), ("$class", .reference(5))])
    }
    list = .dictionary([
      ("$top", .dictionary([("root", .reference(1))])),
      (
        "$objects",
        .array([
          .string("$null"),
          .dictionary([("NSEntities", .reference(6)), ("$class", .reference(2))]),
          .dictionary([("$classname", .string("NSManagedObjectModel"))]),
          proxy(4), proxy(3), .dictionary([("$classname", .string("_NSPropertyDescriptionProxy"))]),
          .dictionary([
            ("NS.keys", .array([.reference(8)])), ("NS.objects", .array([.reference(7)])), ("$class", .reference(9)),
          ]),
          .dictionary([("NSProperties", .reference(10)), ("NSEntityName", .reference(8)), ("$class", .reference(11))]),
          .string("E"), .dictionary([("$classname", .string("NSDictionary"))]),
          .dictionary([
            ("NS.keys", .array([.reference(8)])), ("NS.objects", .array([.reference(3)])), ("$class", .reference(9)),
          ]), .dictionary([("$classname", .string("NSEntityDescription"))]),
        ])
      ),
    ])
    for bytes in [PropertyListWriter.bytes(list), PropertyListWriter.xml(list)] {
      #expect(throws: ModelArchive.Problem.corrupted) { try ModelArchive.model(in: bytes, name: "M") }
    }
  }
}

/// Real models: compiled ones, and those of the corpus as archives.
@Suite("compiled models: corpus", .enabled(if: Corpus.root != nil, "\(Corpus.missing)"))
struct CompiledCorpusTests {
  @Test("every model of the corpus is the same out of an archive")
  func everyModel() throws {
    var count = 0
    for (bundle, version) in Corpus.allContents() {
      var model = try ManagedObjectModel.load(contentsOf: bundle, version: version).model
      if model.entities.contains(where: { $0.attributes.contains { $0.type == .composite } }) { continue }
      model = Self.writable(model)
      let options = ModelArchiveWriter.Options(usesProxies: count % 2 == 0, usesKnownKeys: count % 3 == 0)
      let read = try ModelArchive.model(
        in: ModelArchiveWriter.bytes(model, options), name: model.name, version: version
      ).model
      let wanted = CompiledModelTests.archived(model)
      for (entity, other) in zip(read.entities, wanted.entities) { #expect(entity == other, "\(bundle) \(version)") }
      #expect(read.entities.count == wanted.entities.count && read.modelHash == model.modelHash)
      #expect(read.fetchRequestTemplates == wanted.fetchRequestTemplates, "\(bundle) \(version)")
      #expect(read.configurations == wanted.configurations)
      count += 1
    }
    #expect(count > 70)
  }

  /// Removes index expressions, which Core Data does not archive and the tests' writer does not write, and renaming
  /// identifiers that equal the name.
  private static func writable(_ given: ManagedObjectModel) -> ManagedObjectModel {
    let entities = given.entities.map { entity in
      var entity = entity
      if entity.renamingIdentifier == entity.name { entity.renamingIdentifier = nil }
      for place in entity.attributes.indices
      where entity.attributes[place].renamingIdentifier == entity.attributes[place].name {
        entity.attributes[place].renamingIdentifier = nil
      }
      for place in entity.relationships.indices
      where entity.relationships[place].renamingIdentifier == entity.relationships[place].name {
        entity.relationships[place].renamingIdentifier = nil
      }
      for place in entity.fetchedProperties.indices {
        entity.fetchedProperties[place].fetchRequest = spelled(entity.fetchedProperties[place].fetchRequest)
      }
      return entity
    }
    func spelled(_ request: FetchRequestTemplate) -> FetchRequestTemplate {
      var request = request
      request.predicateString = request.predicateString.flatMap { try? QueryPredicate(format: $0).predicateFormat }
      return request
    }
    return ManagedObjectModel(
      name: given.name, versionIdentifier: given.versionIdentifier, entities: entities,
      configurations: given.configurations,
      fetchRequestTemplates: given.fetchRequestTemplates.map(spelled))
  }

  /// Compiled by Xcode 13.4 from SwiftGen's model, and the output of `kvclone model` for the sources in the same
  /// repository.
  @Test("a bundle that Xcode compiled is what its sources are")
  func swiftGen() throws {
    let path = try #require(Corpus.field("compiled-model.momd"))
    let versions = try ManagedObjectModel.modelVersions(at: path)
    #expect(versions.names == ["Model 2", "Model"] && versions.current == "Model 2" && versions.warnings.isEmpty)
    let loaded = try ManagedObjectModel.load(contentsOf: path)
    #expect(
      loaded.warnings.filter { $0.kind == .unknownContent || $0.kind == .strayFile }.isEmpty, "\(loaded.warnings)")
    let model = loaded.model
    #expect(model.modelHash.hex == "d303c630a4069c17604f031cba85d8f99fa593c1c076516a5cafdd51af32f7eb")
    #expect(
      try ManagedObjectModel.load(contentsOf: path, version: "Model").model.modelHash.hex
        == "d852784d245504da900504b64871404814745c6fdae924fe0976a6598f31030b")
    #expect(
      model.entity(named: "ChildEntity")?.attributes.map(\.derivationExpression) == [
        "canonical:(optionalString)", "oneToMany.@count", "now()",
      ])
    #expect(
      model.entity(named: "NewEntity")?.indexes == [FetchIndexDescription("byIdentifierIndex", [.init("identifier")])])
    #expect(model.entity(named: "NewEntity")?.uniquenessConstraints == [["identifier"]])
    #expect(model.entity(named: "SecondaryEntity")?.managedObjectClassName == ".SecondaryEntity")
    #expect(model.attribute("decimal", of: "MainEntity")?.defaultValue == .decimal(0))
    #expect(model.configurations == ["Custom": ["NewEntity"]])
    #expect(
      model.fetchRequestTemplates.map(\.predicateString) == [
        nil, "uuid == $UUID", "oneToOne.name == $NAME OR string == $NEEDLE",
      ])
    #expect(model.entity(named: "MainEntity")?.fetchedProperties.map(\.fetchRequest.entityName) == ["NewEntity"])
  }
}
