import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVCloneCoreData

/// A written model is read back as the same model.
struct ModelWriterTests {
  private func written(_ model: ManagedObjectModel) throws -> ManagedObjectModel {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/\(model.name).xcdatamodeld"
    try model.write(to: path)
    let loaded = try ManagedObjectModel.load(contentsOf: path)
    #expect(loaded.warnings.filter { [.unknownContent, .currentVersion, .strayFile].contains($0.kind) }.isEmpty)
    #expect(try ManagedObjectModel.modelVersions(at: path).names == [model.versionIdentifier])
    return loaded.model
  }

  @Test(.enabled(if: Corpus.root != nil, Comment(rawValue: Corpus.missing)))
  func everyCorpusModelComesBack() throws {
    for (bundle, version) in Corpus.allContents() {
      let model = try ManagedObjectModel.load(contentsOf: bundle, version: version).model
      let again = try written(model)
      #expect(again == model, "\(bundle) \(version)")
      #expect(again.modelHash == model.modelHash)
    }
  }

  @Test func oneOfEverythingComesBack() throws {
    let model = try KVCloneCoreDataTests.read(everything).model
    let again = try written(model)
    #expect(again == model)
    #expect(again.modelHash == model.modelHash)
    // Nothing is written twice: the text of the model that was read is the same.
    #expect(try again.contentsText() == model.contentsText())
  }

  @Test func textIsWrittenSoThatItIsReadAsItIs() throws {
    let texts = [
      "", " ", "\t\n\r\r\n", "<a b=\"c\">&amp;'</a>", "]]>", "<?x?>", "<!DOCTYPE x>", "<!ENTITY a \"b\">",
      "é e\u{301} 😀 \u{85}\u{2028}",
      "\u{7F}\u{9F}\u{FFFD}\u{10FFFF}", "a  b ", "$x == \"y\" AND z > 1",
    ]
    for text in texts {
      var entity = EntityDescription(name: "Naïve<&>\"'", attributes: [AttributeDescription("a&b<\">'", .string)])
      entity.attributes[0].defaultValue = .string(text)
      entity.attributes[0].userInfo = [text: text, "k": text]
      entity.userInfo = [text + "1": text]
      if !text.isEmpty {
        entity.managedObjectClassName = text
        entity.attributes[0].regularExpression = text
        entity.attributes[0].renamingIdentifier = text
        entity.versionHashModifier = text
        entity.indexes = [FetchIndexDescription(text, [.init("a&b<\">'")], partialPredicate: text)]
      }
      let request = FetchRequestTemplate(text, entity: entity.name, predicate: text.isEmpty ? nil : text)
      let model = ManagedObjectModel(
        name: "M", versionIdentifier: "V & <2>", entities: [entity], configurations: [text: [entity.name]],
        fetchRequestTemplates: [request])
      let again = try written(model)
      #expect(again == model, "\(text.debugDescription)")
      // Strings compare by canonical equivalence; the store compares bytes.
      #expect(again.entities[0].attributes[0].defaultValue == .string(text))
      #expect(again.modelHash == model.modelHash)
    }
  }

  @Test func valuesComeBackToTheLastBit() throws {
    let seconds: [Double] = [
      0, -0.0, 388_411_200, 0.1, 1e300, -63_114_076_800.125, .leastNonzeroMagnitude, 9_007_199_254_740_993,
    ]
    let floats: [Float] = [0, -0.0, 0.1, .pi, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 16_777_217, 1e-10]
    var attributes: [AttributeDescription] = []
    func add(_ type: AttributeType, _ value: AttributeValue) {
      var attribute = AttributeDescription("a\(attributes.count)", type, default: value)
      if type != .string && type != .uri && type != .uuid && type != .boolean {
        attribute.minValue = value
        attribute.maxValue = value
      }
      attributes.append(attribute)
    }
    for number in seconds {
      add(.date, .date(Date(timeIntervalSinceReferenceDate: number)))
      add(.double, .double(number))
    }
    for number in floats { add(.float, .float(number)) }
    for number in [Int64.min, -1, 0, Int64.max] { add(.integer64, .integer(number)) }
    for text in ["0", "-12.50", "12345678901234567890123456789012345678", "1e-100", "-3.4e120"] {
      add(.decimal, .decimal(try #require(Decimal(string: text))))
    }
    for isOn in [true, false] { add(.boolean, .boolean(isOn)) }
    add(.uuid, .uuid(UUID()))
    add(.uri, .uri("a b?c=d&e"))
    var string = AttributeDescription("length", .string, min: 2, max: 64)
    string.usesScalarValueType = true
    attributes.append(string)
    let model = ManagedObjectModel(name: "M", entities: [EntityDescription(name: "E", attributes: attributes)])
    #expect(try written(model) == model)
  }

  @Test func randomModelsComeBack() throws {
    for seed in UInt64(1)...300 {
      var numbers = SeededNumbers(state: seed)
      let model = RandomContents.model(&numbers)
      let text = try model.contentsText()
      let again = try read(Data(text.utf8), name: model.name, version: model.versionIdentifier)
      #expect(again == model.expressibleForm, "seed \(seed)")
      #expect(again.modelHash == model.modelHash, "seed \(seed)")
    }
  }

  private func read(_ bytes: Data, name: String, version: String) throws -> ManagedObjectModel {
    try ModelReader.read(try XMLTree.parse(bytes, path: "contents"), file: "contents", name: name, version: version)
      .model
  }

  @Test func elementsWithoutANameGetOne() throws {
    let point = [AttributeDescription("x", .double), AttributeDescription("y", .double)]
    let inner = AttributeDescription("inner", .composite, elements: point)
    let place = AttributeDescription("place", .composite, elements: [inner, AttributeDescription("name", .string)])
    let model = ManagedObjectModel(
      name: "M", entities: [EntityDescription(name: "E", attributes: [place])],
      composites: [CompositeAttributeDescription("E_place", elements: point)])
    let again = try written(model)
    #expect(again.modelHash == model.modelHash)
    #expect(again.composites.map(\.name) == ["E_place", "E_place__inner", "E_place_"])
    let elements = again.attribute("place", of: "E")?.elements
    #expect(elements?.map(\.name) == ["inner", "name"] && elements?.first?.elements.map(\.name) == ["x", "y"])
  }

  /// An entity that redeclares an inherited attribute names the same composite; otherwise no store would accept the
  /// model.
  @Test func inheritedElementsKeepOneName() throws {
    let place = AttributeDescription("place", .composite, elements: [AttributeDescription("x", .double)])
    let long = AttributeDescription(
      String(repeating: "l", count: 150), .composite, elements: [AttributeDescription("y", .double)])
    let name = String(repeating: "E", count: 150)
    let model = ManagedObjectModel(
      name: "M",
      entities: [
        EntityDescription(name: name, attributes: [place, long]),
        EntityDescription(name: "Sub", superentityName: name, attributes: [place]),
      ])
    let again = try written(model)
    #expect(again.modelHash == model.modelHash)
    #expect(again.composites.count == 2)
    _ = try again.validate()
  }

  @Test func whatAFileCannotSayIsRefusedByName() throws {
    func refused(
      _ entity: String?, _ property: String?, _ change: (inout EntityDescription) -> Void,
      _ location: SourceLocation = #_sourceLocation
    ) throws {
      var given = EntityDescription(
        name: "E", attributes: [AttributeDescription("a", .string)],
        relationships: [RelationshipDescription("r", toOne: "E")])
      change(&given)
      let model = ManagedObjectModel(name: "M", entities: [given])
      let folder = try TemporaryFolder()
      do {
        try model.write(to: folder.path + "/M.xcdatamodeld")
        Issue.record("was written", sourceLocation: location)
      } catch {
        #expect(error.kind == .inexpressible && error.entity == entity, "\(error)", sourceLocation: location)
        #expect(error.property == property, "\(error)", sourceLocation: location)
        #expect(!"\(error)".contains("\u{1}"), sourceLocation: location)
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [], sourceLocation: location)
    }
    for text in ["\u{0}", "\u{1}", "a\u{B}b", "\u{1F}", "\u{FFFE}", "\u{FFFF}"] {
      try refused("E", "a") { $0.attributes[0].defaultValue = .string(text) }
      try refused("E", "a") { $0.attributes[0].userInfo = ["k": text] }
      try refused("E", "r") { $0.relationships[0].userInfo = [text: "v"] }
      try refused("E", nil) { $0.userInfo = ["k": text] }
      try refused("E", nil) { $0.indexes = [FetchIndexDescription("i", [.init("a")], partialPredicate: text)] }
    }
    try refused("E", "a") { $0.attributes = [AttributeDescription("a", .double, default: .double(.nan))] }
    try refused("E", "a") { $0.attributes = [AttributeDescription("a", .float, max: .float(.infinity))] }
    try refused("E", "a") { $0.attributes = [AttributeDescription("a", .decimal, min: .decimal(.nan))] }
    try refused("E", "a") { $0.attributes = [AttributeDescription("a", .binary, default: .binary(Data([1])))] }
    try refused("E", "a") { $0.attributes[0].regularExpression = "" }
    try refused("E", "r") { $0.relationships[0].minCount = -1 }
    try refused("E", nil) { $0.managedObjectClassName = "" }
  }

  @Test func onlyNewBundlesWithAUsableNameAreMade() throws {
    let folder = try TemporaryFolder()
    let model = ManagedObjectModel(name: "M", entities: [EntityDescription(name: "E")])
    let path = folder.path + "/M.xcdatamodeld"
    try model.write(to: path)
    func kind(_ model: ManagedObjectModel, _ path: String) -> String? {
      do {
        try model.write(to: path)
        return nil
      } catch {
        return error.kind.rawValue
      }
    }
    #expect(kind(model, path) == "alreadyExists")
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/L.xcdatamodeld", withDestinationPath: folder.path + "/nowhere")
    #expect(kind(model, folder.path + "/L.xcdatamodeld") == "alreadyExists")
    #expect(kind(model, folder.path + "/M.xcdatamodel") == "unwritable")
    #expect(kind(model, folder.path + "/no/M.xcdatamodeld") == "unwritable")
    for version in ["a/b", "\u{0}", "\u{1}", String(repeating: "x", count: 300)] {
      let named = ManagedObjectModel(name: "M", versionIdentifier: version, entities: [])
      #expect(kind(named, folder.path + "/N.xcdatamodeld") == "inexpressible")
    }
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["L.xcdatamodeld", "M.xcdatamodeld"])
  }
}

/// Random models of everything that a file can express.
private enum RandomContents {
  private static let alphabet: [Character] = [
    "a", "B", "7", "<", ">", "&", "\"", "'", " ", "\n", "\t", "é", "😀", "]", "-", ".",
  ]

  static func text(_ numbers: inout SeededNumbers) -> String {
    String((0..<Int.random(in: 1...8, using: &numbers)).map { _ in alphabet.randomElement(using: &numbers) ?? "a" })
  }

  private static func maybe(_ numbers: inout SeededNumbers) -> String? {
    Bool.random(using: &numbers) ? text(&numbers) : nil
  }

  private static func info(_ numbers: inout SeededNumbers) -> [String: String] {
    var result: [String: String] = [:]
    for _ in 0..<Int.random(in: 0...2, using: &numbers) { result[text(&numbers)] = text(&numbers) }
    return result
  }

  static func model(_ numbers: inout SeededNumbers) -> ManagedObjectModel {
    let count = Int.random(in: 1...5, using: &numbers)
    let names = (0..<count).map { "E\($0)" }
    let entities = names.enumerated().map { index, name -> EntityDescription in
      var entity = EntityDescription(name: name)
      if index > 0 && Bool.random(using: &numbers) { entity.superentityName = names[index - 1] }
      entity.isAbstract = Bool.random(using: &numbers)
      entity.managedObjectClassName = maybe(&numbers)
      entity.renamingIdentifier = maybe(&numbers)
      entity.versionHashModifier = maybe(&numbers)
      entity.codeGenerationType = maybe(&numbers)
      entity.userInfo = info(&numbers)
      for number in 0..<Int.random(in: 0...4, using: &numbers) {
        entity.attributes.append(attribute("\(name)a\(number)", &numbers))
      }
      for number in 0..<Int.random(in: 0...3, using: &numbers) {
        entity.relationships.append(relationship("\(name)r\(number)", names, &numbers))
      }
      indexes(of: &entity, &numbers)
      if Bool.random(using: &numbers) {
        let request = FetchRequestTemplate("r", entity: name, predicate: maybe(&numbers), limit: 3)
        entity.fetchedProperties = [
          FetchedPropertyDescription(
            "\(name)f", request, optional: Bool.random(using: &numbers), userInfo: info(&numbers))
        ]
      }
      return entity
    }
    let request = FetchRequestTemplate(
      text(&numbers), entity: names[0], predicate: maybe(&numbers), batchSize: 20, resultType: 2,
      includesSubentities: Bool.random(using: &numbers), includesPropertyValues: Bool.random(using: &numbers),
      includesPendingChanges: Bool.random(using: &numbers), returnsObjectsAsFaults: Bool.random(using: &numbers),
      returnsDistinctResults: Bool.random(using: &numbers))
    return ManagedObjectModel(
      name: "M", versionIdentifier: "M 2", entities: entities,
      composites: [CompositeAttributeDescription("C", elements: [attribute("c", &numbers)], userInfo: info(&numbers))],
      configurations: [text(&numbers): names, "K": []], fetchRequestTemplates: [request])
  }

  private static func attribute(_ name: String, _ numbers: inout SeededNumbers) -> AttributeDescription {
    var attribute = AttributeDescription(
      name, .string, optional: Bool.random(using: &numbers), userInfo: info(&numbers))
    switch Int.random(in: 0...6, using: &numbers) {
    case 0: attribute.defaultValue = .string(text(&numbers))
    case 1:
      attribute.type = .double
      attribute.defaultValue = .double(Double(bitPattern: numbers.next() & 0xFFEF_FFFF_FFFF_FFFF))
    case 2:
      attribute.type = .transformable
      attribute.valueTransformerName = maybe(&numbers)
      attribute.attributeValueClassName = maybe(&numbers)
    case 3:
      attribute.type = .integer64
      attribute.derivationExpression = text(&numbers)
    case 4:
      attribute.type = .undefined
      attribute.isTransient = true
    case 5 where name != "c":
      attribute.type = .composite
      attribute.elements = [AttributeDescription("x", .double), AttributeDescription("y", .date)]
    default:
      attribute.type = .binary
      attribute.allowsExternalBinaryDataStorage = true
    }
    attribute.renamingIdentifier = maybe(&numbers)
    attribute.versionHashModifier = maybe(&numbers)
    attribute.usesScalarValueType = Bool.random(using: &numbers)
    attribute.isIndexedBySpotlight = Bool.random(using: &numbers)
    attribute.preservesValueInHistoryOnDeletion = Bool.random(using: &numbers)
    attribute.allowsCloudEncryption = Bool.random(using: &numbers)
    return attribute
  }

  private static func relationship(
    _ name: String, _ names: [String], _ numbers: inout SeededNumbers
  ) -> RelationshipDescription {
    let destination = names.randomElement(using: &numbers) ?? ""
    let rule = DeleteRule.allCases.randomElement(using: &numbers) ?? .nullify
    var relationship =
      Bool.random(using: &numbers)
      ? RelationshipDescription(name, toOne: destination, deleteRule: rule)
      : RelationshipDescription(
        name, toMany: destination, ordered: Bool.random(using: &numbers), min: 1,
        max: Int.random(in: 0...9, using: &numbers),
        deleteRule: rule)
    relationship.inverseName = maybe(&numbers)
    relationship.inverseEntityName = names.randomElement(using: &numbers)
    relationship.isOptional = Bool.random(using: &numbers)
    relationship.isTransient = Bool.random(using: &numbers)
    relationship.userInfo = info(&numbers)
    relationship.renamingIdentifier = maybe(&numbers)
    relationship.versionHashModifier = maybe(&numbers)
    return relationship
  }

  private static func indexes(of entity: inout EntityDescription, _ numbers: inout SeededNumbers) {
    let names = entity.attributes.map(\.name)
    guard let first = names.first else { return }
    var indexes = [
      FetchIndexDescription("indexed:\(first)", [.init(first)], origin: .indexedAttribute),
      FetchIndexDescription("indexed:\(text(&numbers))", [.init(first)], origin: .indexedAttribute),
      FetchIndexDescription(
        text(&numbers), [.init(first, ascending: false, kind: .rTree)], partialPredicate: maybe(&numbers)),
      FetchIndexDescription("e", [.init(expression: text(&numbers)), .init(first)]),
      FetchIndexDescription(
        "compound:" + names.joined(separator: ","), names.map { .init($0) }, origin: .compoundIndex),
    ]
    indexes.shuffle(using: &numbers)
    entity.indexes = Array(indexes.prefix(Int.random(in: 0...5, using: &numbers)))
    entity.uniquenessConstraints = Bool.random(using: &numbers) ? [names, []] : []
  }
}
