import Foundation
import KVClone
import KVCloneGenerator
import Testing

/// Names that are reserved in Swift, and texts that could escape from literals and comments.
struct GeneratorNameTests {
  private func source(_ model: ManagedObjectModel, namespace: String? = nil) throws -> String {
    try ModelGenerator(model, options: .init(namespace: namespace)).singleFile(named: "M.swift").text
  }

  /// Compiles the sources and returns the diagnostics.
  private func compile(_ sources: [String]) throws -> String {
    let folder = URL(fileURLWithPath: NSTemporaryDirectory() + "/kvclone-names-" + UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var paths: [String] = []
    for (index, source) in sources.enumerated() {
      let url = folder.appendingPathComponent("M\(index).swift")
      try Data(source.utf8).write(to: url)
      paths.append(url.path)
    }
    return try GeneratorTests().typecheck(paths)
  }

  private static let words = [
    "class", "self", "Self", "Type", "init", "default", "Any", "any", "some", "Protocol", "protocol", "extension", "in",
    "consume", "copy", "each", "await", "async", "_", "actor", "unsafe",
  ]
  private static let types = [
    "Set", "Data", "Date", "String", "Int64", "Bool", "Decimal", "UUID", "URL", "Sendable", "Codable", "PartialKeyPath",
    "Object", "Fields", "ID", "Superentity", "Swift", "Foundation", "KVClone", "ToMany", "OrderedToMany", "StoreError",
    "EntityObject", "EntityDescription", "AttributeDescription", "ManagedObject", "ManagedObjectModel", "ObjectValues",
    "Hashable", "Optional", "Array", "Error", "Int", "Never", "Grüße", "日本", "Naïve\u{301}",
  ]
  private static let properties = [
    "objectID", "objectState", "hashValue", "hash", "values", "elements", "object", "entity", "properties", "encode",
    "description", "attributeValue", "Fields", "Object", "ID", "größe", "x-y", "1st", "Data",
  ]

  @Test func everyNameCompiles() throws {
    let attributes =
      (Self.words + Self.properties).enumerated().map { index, name in
        AttributeDescription(
          name, [.string, .date, .binary, .composite, .integer16][index % 5],
          composite: index % 5 == 3 ? "String" : nil)
      }
    let entities = (Self.words + Self.types).map { name in
      EntityDescription(
        name: name, attributes: name == "Set" ? attributes : [AttributeDescription("a", .uuid)],
        relationships: [
          RelationshipDescription("one", toOne: "Object"), RelationshipDescription("many", toMany: "Set"),
          RelationshipDescription("list", toMany: "class", ordered: true),
        ])
    }
    let composites = [
      CompositeAttributeDescription(
        "String",
        elements: [
          AttributeDescription("values", .string), AttributeDescription("in", .composite, composite: "Inner"),
        ]), CompositeAttributeDescription("Inner", elements: [AttributeDescription("elements", .uri)]),
    ]
    let model = ManagedObjectModel(name: "default", entities: entities, composites: composites)
    let empty = ManagedObjectModel(name: "Empty", entities: [])
    let bare = ManagedObjectModel(name: "Bare", entities: [EntityDescription(name: "Bare")])
    let output = try compile([
      try source(model, namespace: "Outer.protocol") + "public enum Outer { public enum `protocol` {} }\n",
      try source(empty), try source(bare),
    ])
    #expect(output == "", "\(output.prefix(4000))")
  }

  /// `typealias Object` of the fields of each entity would hide an entity of that name.
  @Test func fieldsNameTheEntityThatIsMeant() throws {
    let model = ManagedObjectModel("M") {
      EntityDescription("Object") { AttributeDescription("a", .string) }
      EntityDescription("Note") { RelationshipDescription("object", toOne: "Object") }
    }
    let text = try source(model)
    #expect(text.contains("public struct Object_: EntityObject"))
    #expect(text.contains("public var object: Object_.Fields? { switch self {} }"))
  }

  @Test func aCaseCalledNoneIsNoNil() throws {
    let model = ManagedObjectModel("M") {
      EntityDescription("E") {
        AttributeDescription("a", .integer16, default: 0, userInfo: ["swiftEnum": "Kind: none, some"])
        AttributeDescription(
          "b", .integer16, optional: false, default: 1, userInfo: ["swiftEnum": "Kind: none, some"])
      }
    }
    let text = try source(model)
    #expect(text.contains("a: Kind? = Kind.none, b: Kind = .some"))
    #expect(try compile([text]) == "")
  }

  @Test func anEnumThatHidesATypeIsAnErrorOrDistinguishedFromIt() throws {
    func model(_ annotation: String, _ attribute: String = "a") -> ManagedObjectModel {
      ManagedObjectModel("M") {
        EntityDescription("E") {
          AttributeDescription(attribute, .integer16, userInfo: ["swiftEnum": annotation])
          AttributeDescription("b", .string)
          RelationshipDescription("e", toMany: "E")
        }
        EntityDescription("F", parent: "E") { AttributeDescription("c", .string) }
      }
    }
    for (annotation, attribute) in [("E: x", "a"), ("F: x", "a"), ("Kind: x", "Kind")] {
      #expect(throws: GeneratorError.self, "\(annotation)") { _ = try source(model(annotation, attribute)) }
    }
    for name in ["String", "Set", "Int16", "Codable", "EntityFields", "AttributeDescription"] {
      #expect(try compile([try source(model("\(name): x, y"))]) == "", "\(name)")
    }
  }

  /// A model file may contain any text in these places.
  @Test func lineBreaksDoNotEndAComment() throws {
    let text = "1\nimport Nothing\r\nimport Nothing\rimport Nothing\u{2028}import Nothing"
    let model = ManagedObjectModel(
      name: "M" + text, versionIdentifier: text,
      entities: [
        EntityDescription(
          name: "E",
          attributes: [
            AttributeDescription("a", .string, userInfo: ["documentation": text]),
            AttributeDescription("b", .string, regularExpression: text),
            AttributeDescription("c", .string, derivation: text),
          ])
      ])
    #expect(try compile([try source(model)]) == "")
  }
}
