import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVCloneCoreData

/// Real mapping models are read completely, checked against the text of their files.
@Suite(.enabled(if: Corpus.root != nil, "there is no corpus: set KVCLONE_CORPUS to its folder"))
struct MappingCorpusTests {
  private func path(_ name: String) throws -> String { try #require(Corpus.mappingModel(name)) }

  private func load(_ name: String) throws -> LoadedMappingModel {
    try MappingModel.load(contentsOf: try path(name))
  }

  private static let names = [
    "jessesquires__JSQCoreDataKit/Version1_to_Version2.xcmappingmodel",
    "objcio__issue-4-core-data-migration/Model1_to_Model2.xcmappingmodel",
    "carekit-apple__CareKit/2.0_2.1_Mapping.xcmappingmodel",
    "wibosco__CoreDataMigration-Example/Migration1to2.xcmappingmodel",
  ]

  /// A file with mappings that belong to no other one.
  private static let withLeftovers = "kodecocodes__cdt-materials/UnCloudNotesMappingModel_v2_to_v3.xcmappingmodel"

  @Test func leftoversAreOneWarning() throws {
    let loaded = try load(Self.withLeftovers)
    #expect(loaded.warnings.filter { $0.kind == .unknownContent }.count == 1, "\(loaded.warnings)")
    #expect(loaded.warnings.first { $0.kind == .unknownContent }?.message.contains("3 mappings") == true)
    #expect(loaded.mapping.entityMappings.count == 2)
  }

  @Test func everyPartArrives() throws {
    #expect(
      Corpus.mappingModels().map { $0.split(separator: "/").suffix(2).joined(separator: "/") }
        == (Self.names + [Self.withLeftovers]).sorted())
    var total = 0
    for name in Self.names {
      let loaded = try load(name)
      #expect(loaded.warnings.isEmpty, "\(name): \(loaded.warnings)")
      let mappings = loaded.mapping.entityMappings
      let text = try String(contentsOfFile: try path(name) + "/xcmapping.xml", encoding: .utf8)
      // Counts marks in the text, without any code of the reader.
      func count(_ mark: String) -> Int { text.components(separatedBy: mark).count - 1 }
      let properties = mappings.flatMap { $0.attributeMappings + $0.relationshipMappings }
      #expect(mappings.count == count("<object type=\"XDDEVENTITYMAPPING\""), "\(name)")
      #expect(mappings.reduce(0) { $0 + $1.attributeMappings.count } == count("<object type=\"XDDEVATTRIBUTEMAPPING\""))
      #expect(
        mappings.reduce(0) { $0 + $1.relationshipMappings.count } == count("<object type=\"XDDEVRELATIONSHIPMAPPING\""))
      #expect(properties.filter { $0.valueExpression != .automatic }.count == count("name=\"valueexpressiondata\""))
      #expect(mappings.filter { $0.entityMigrationPolicyClassName != nil }.count == count("migrationpolicyclassname"))
      #expect(mappings.filter { $0.mappingType == .custom }.count == count("migrationpolicyclassname"))
      #expect(mappings.filter { !$0.userInfo.isEmpty }.count == count("name=\"userinfodata\""))
      #expect(mappings.compactMap(\.sourceEntityName).count == count("name=\"sourcename\""))
      #expect(Set(mappings.map(\.name)).count == mappings.count)
      let numbered = try text.matches(of: Regex("name=\"mappingnumber\" type=\"int16\">(\\d+)<")).count
      #expect(numbered == mappings.count)
      total += properties.count
    }
    #expect(total == 6 + 4 + 4 + 162 + 82 + 3)
  }

  @Test func constantsAndFunctionsArrive() throws {
    let mapping = try load(Self.names[0]).mapping
    #expect(mapping.sourceVersionName == "Version 1" && mapping.destinationVersionName == "Version 2")
    let employee = try #require(mapping.entityMapping(named: "EmployeeToEmployee"))
    let expressions = Dictionary(
      uniqueKeysWithValues: employee.attributeMappings.map { ($0.name, $0.valueExpression ?? .unsupported("")) })
    #expect(expressions["companyName"] == .constant("Unknown"))
    #expect(expressions["companyProfits"] == .constant(0))
    #expect(expressions["companyDateFounded"] == .value(.function(.now, [])))
    #expect(expressions["salary"] == .automatic && expressions.count == 6)
  }

  @Test func keyPathsUserInfoAndPoliciesArrive() throws {
    let posts = try load(Self.names[3]).mapping
    #expect(
      posts.entityMapping(named: "PostToPost")?.attributeMappings
        == [.init("postID"), .init("date"), .init("hexColor", .source("color"))])
    let books = try load(Self.names[1]).mapping
    #expect(books.entityMappings.map(\.name) == ["UserToUser", "Author", "BookToBook"])
    #expect(books.entityMappings.map(\.mappingType) == [.undefined, .add, .custom])
    let book = try #require(books.entityMapping(named: "BookToBook"))
    #expect(book.entityMigrationPolicyClassName == "MHWBookToBookPolicy" && book.userInfo == ["modelVersion": "2"])
    #expect(book.relationshipMappings.map(\.name) == ["authors", "users"])
    let care = try load(Self.names[2]).mapping
    #expect(care.entityMappings.first?.name == "OCKCDHealthKitTask" && care.entityMappings.last?.name == "OCKCDClock")
    #expect(care.entityMapping(named: "OCKCDTaskToOCKCDTask")?.attributeMappings.count == 16)
  }

  /// Against the versions named in the files, which are elsewhere in the corpus than the mappings.
  @Test func mappingsFitTheirModels() throws {
    for name in [Self.names[0], Self.names[1], Self.names[3]] {
      let mapping = try load(name).mapping
      let project = try #require(name.split(separator: "/").first.map(String.init))
      let folder = try #require(Corpus.root) + "/models/" + project
      let source = try #require(try mapping.sourceModel(near: folder)).model
      let destination = try #require(try mapping.destinationModel(near: folder)).model
      #expect(source.versionIdentifier == mapping.sourceVersionName)
      let resolved = try mapping.resolved(from: source, to: destination)
      let properties = resolved.entityMappings.flatMap { $0.attributeMappings + $0.relationshipMappings }
      #expect(properties.allSatisfy { $0.valueExpression != .automatic })
      #expect(resolved.entityMappings.allSatisfy { $0.mappingType != .undefined })
      #expect(try resolved.resolved(from: source, to: destination) == resolved)
    }
  }
}
