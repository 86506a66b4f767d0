import Foundation
import KVCloneCoreData
import KVCloneModel
import KVCloneTestSupport
import Testing

/// Every real model loads, and its content is read completely.
@Suite(.enabled(if: Corpus.root != nil, "there is no corpus: set KVCLONE_CORPUS to its folder"))
struct CorpusTests {
  @Test func everyVersionLoads() throws {
    let all = Corpus.allContents()
    #expect(all.count == 84)
    for (bundle, version) in all {
      do {
        let loaded = try ManagedObjectModel.load(contentsOf: bundle, version: version)
        #expect(loaded.model.versionIdentifier == version)
        let unknown = loaded.warnings.filter { $0.kind == .unknownContent }
        #expect(unknown.isEmpty, "\(unknown)")
      } catch {
        Issue.record("\(bundle), \(version): \(error)")
      }
    }
  }

  @Test func everyElementArrives() throws {
    for (bundle, version) in Corpus.allContents() {
      let model = try ManagedObjectModel.load(contentsOf: bundle, version: version).model
      let text = try String(contentsOfFile: "\(bundle)/\(version).xcdatamodel/contents", encoding: .utf8)
      func count(_ pattern: String) throws -> Int { text.matches(of: try Regex(pattern)).count }
      #expect(try model.entities.count == count("<entity "), "\(bundle) \(version)")
      let elements = model.composites.reduce(0) { $0 + $1.elements.count }
      #expect(try model.entities.reduce(elements) { $0 + $1.attributes.count } == count("<attribute "))
      #expect(try model.entities.reduce(0) { $0 + $1.relationships.count } == count("<relationship "))
      #expect(try model.entities.reduce(0) { $0 + $1.uniquenessConstraints.count } == count("<uniquenessConstraint>"))
      #expect(
        try model.entities.reduce(0) { $0 + $1.indexes.count }
          == count("<fetchIndex ") + count("<compoundIndex>") + count("indexed=\"YES\""))
      #expect(try model.entities.reduce(0) { $0 + $1.fetchedProperties.count } == count("<fetchedProperty "))
      #expect(
        try model.entities.flatMap(\.relationships).filter(\.isToMany).count
          == count("<relationship [^>]*toMany=\"YES\""))
      #expect(
        try model.entities.flatMap(\.relationships).filter(\.isOrdered).count
          == count("<relationship [^>]*ordered=\"YES\""))
      let entries =
        model.entities.reduce(0) { sum, entity in
          sum + entity.userInfo.count + entity.attributes.reduce(0) { $0 + $1.userInfo.count }
            + entity.relationships.reduce(0) { $0 + $1.userInfo.count }
        }
      #expect(try entries == count("<entry "), "\(bundle) \(version)")
    }
  }

  @Test func everyModelSurvivesItsStoredForm() throws {
    for (bundle, version) in Corpus.allContents() {
      let model = try ManagedObjectModel.load(contentsOf: bundle, version: version).model
      let stored = try model.encodedJSON()
      let read = try ManagedObjectModel(encodedJSON: stored)
      #expect(read == model)
      #expect(try read.encodedJSON() == stored)
      #expect(read.modelHash == model.modelHash)
      #expect(try model.shownJSON().isEmpty == false)
    }
  }

  @Test func everyBundleNamesItsCurrentVersion() throws {
    for bundle in Corpus.modelBundles() {
      let versions = try ManagedObjectModel.modelVersions(at: bundle)
      let current = try #require(versions.current, "\(bundle)")
      #expect(try ManagedObjectModel.load(contentsOf: bundle).model.versionIdentifier == current)
    }
  }

  @Test func mutualInversesAreFound() throws {
    let bundle = try #require(Corpus.modelBundle("fatbobman__MOCloner/Model.xcdatamodeld"))
    let loaded = try ManagedObjectModel.load(contentsOf: bundle)
    #expect(loaded.warnings.isEmpty)
    #expect(loaded.model.inverse(of: "items", in: "Note")?.relationship.name == "note")
    #expect(loaded.model.attribute("noteIDBlank", of: "Item")?.cloneRule().withoutParent == .blank)
    #expect(loaded.model.attribute("id", of: "Note")?.cloneRule().rebuild == .uuid)
    #expect(loaded.model.attribute("createDate", of: "Note")?.cloneRule().rebuild == .now)
    #expect(loaded.model.attribute("transient", of: "Note")?.isTransient == true)
    #expect(loaded.model.attribute("transient", of: "Note")?.isOptional == false)
    #expect(loaded.model.attribute("transient", of: "Note")?.defaultValue == true)
  }
}
