import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone

/// Stores that Core Data itself wrote: how many objects and links there are of each, as counted by hand with SQLite.
@Suite("import of Core Data's stores: corpus", .enabled(if: Corpus.root != nil, "\(Corpus.missing)"))
struct CoreDataCorpusTests {
  private static let energy = "artsy__energy/ArtsyFolio Tests__Migrations__ArtsyPartner_1.4.sqlite"
  private static let care =
    "carekit-apple__CareKit/CareKitStore__CareKitStoreTests__CoreDataSchema__Migrations__SampleStore2.0.sqlite"
  private static let cars =
    "alemar11__CoreDataPlus/Tests__Resources__SampleModel__Fixtures__SampleModel_V1.sqlite"

  private func path(_ name: String) throws -> String { try #require(Corpus.root) + "/stores/" + name }

  /// Imports, checks, and closes; `body` sees the store.
  private func imported(
    _ name: String, model: ManagedObjectModel? = nil, skip: Bool = false,
    _ body: (ObjectStore, CoreDataImportReport) throws -> Void
  ) throws {
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    var options = CoreDataImportOptions()
    options.model = model
    options.skipsBroken = skip
    let report = try ObjectStore.importCoreData(from: try path(name), to: root + "/store", options: options)
    let store = try ObjectStore.open(at: root + "/store")
    defer { store.close() }
    try checked(store)
    #expect(try store.info().counts.filter { $0.value > 0 } == report.counts)
    try body(store, report)
  }

  @Test("with the model that the store holds")
  func care() throws {
    try imported(Self.care) { store, report in
      #expect(
        report.counts == [
          "OCKCDContact": 2, "OCKCDOutcome": 3, "OCKCDOutcomeValue": 3, "OCKCDPersonName": 2, "OCKCDPostalAddress": 2,
          "OCKCDScheduleElement": 4, "OCKCDTask": 3,
        ])
      #expect(report.isStoredModel && report.skippedCount == 0 && report.leftOut.isEmpty)
      let back = try store.read { transaction in
        let contact = try transaction.objectID(named: "OCKCDContact/1")
        guard let name = try transaction.toOne(contact, "name") else { return "" }
        guard let back = try transaction.toOne(name, "contact") else { return "" }
        return try transaction.name(of: back)
      }
      #expect(back == "OCKCDContact/1")
    }
  }

  @Test("inheritance, UUIDs, transformables and uniqueness; the stored model is the one in Xcode's files")
  func cars() throws {
    try imported(Self.cars) { store, report in
      #expect(report.counts.values.reduce(0, +) == 145 && report.counts["Person"] == 20)
      let people = try store.read { try $0.fetch(FetchRequest("Person")) }
      #expect(people.count == 20)
      let bundle = try #require(Corpus.modelBundle("alemar11__CoreDataPlus/SampleModel.xcdatamodeld"))
      let file = try ManagedObjectModel.load(contentsOf: bundle, version: "SampleModel").model
      // Indexes are not in the store; what objects have is.
      let difference = ModelDifference(from: store.model, to: file)
      #expect(difference.refusals.isEmpty, "\(difference.changes)")
      #expect(store.model.entities.map(\.name).sorted() == file.entities.map(\.name).sorted())
      for entity in file.entities {
        #expect(
          store.model.attributes(of: entity.name).map { "\($0.name) \($0.type) \($0.isOptional)" }.sorted()
            == file.attributes(of: entity.name).map { "\($0.name) \($0.type) \($0.isOptional)" }.sorted())
        #expect(store.model.entity(named: entity.name)?.superentityName == entity.superentityName)
      }
    }
  }

  @Test("a store without a model, of which one is given; its name holds a space")
  func energy() throws {
    #expect { try imported(Self.energy) { _, _ in } } throws: { ($0 as? CoreDataImportError)?.kind == .modelMissing }
    let versions = Corpus.modelBundles().filter { $0.contains("artsy__energy") }
      .flatMap { (try? ManagedObjectModel.loadVersions(contentsOf: $0)) ?? [] }
    var fitting: [CoreDataImportReport] = []
    for version in versions {
      do {
        try imported(Self.energy, model: version.model, skip: true) { _, report in fitting.append(report) }
      } catch let error as CoreDataImportError {
        #expect(error.kind == .modelMismatch, "\(error)")
      }
    }
    let report = try #require(fitting.first, "no version of the model fits")
    #expect(report.counts["User"] == 108 && report.counts["Artwork"] == 68 && report.counts["Image"] == 76)
    #expect(report.skippedCount == 0, "\(report.skipped.prefix(3))")
  }
}
