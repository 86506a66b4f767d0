import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// The largest mapping model of the corpus, between its own versions: 16 entity mappings, a policy, to-one
/// relationships that become to-many, an entity that moves to a new root.
///
/// The file names its destination 2.2, which was the name of version 2.1 when the file was created.
@Suite("CareKit's mapping model", .enabled(if: Corpus.root != nil, "\(Corpus.missing)"))
struct CareKitMappingTests {
  /// Sets the values that are mandatory in the later version, as CareKit's own policy does.
  private struct Policy: EntityMigrationPolicy {
    func createDestinationInstances(
      for source: ObjectID, in mapping: EntityMapping, with manager: inout MigrationManager
    ) throws {
      let id = try manager.createDestinationInstance(for: source, in: mapping)
      let date = try manager.source { tx in
        let object = try tx.object(source)
        return try tx.entityName(of: source) == "OCKCDOutcome" ? object["date"] : nil
      }
      try manager.destination { tx in
        var uuid = (UInt8(0), UInt8(0), UInt8(0), UInt8(0), UInt8(0), UInt8(0), UInt8(0), UInt8(0))
        withUnsafeMutableBytes(of: &uuid) { $0.storeBytes(of: source.rawValue.bigEndian, as: UInt64.self) }
        let bytes = (
          uuid.0, uuid.1, uuid.2, uuid.3, uuid.4, uuid.5, uuid.6, uuid.7, UInt8(0), UInt8(0), UInt8(0), UInt8(0),
          UInt8(0),
          UInt8(0), UInt8(0), UInt8(1)
        )
        try tx.set(id, "uuid", .uuid(UUID(uuid: bytes)))
        guard let date else { return }
        for name in ["effectiveDate", "startDate", "endDate"] { try tx.set(id, name, date) }
        try tx.set(id, "id", .string("outcome \(source.serial)"))
      }
    }
  }

  private static func values(_ entity: String, _ number: Int, _ model: ManagedObjectModel) -> [String: AttributeValue?]
  {
    var values: [String: AttributeValue?] = [:]
    for attribute in model.attributes(of: entity) where !attribute.isOptional || number % 2 == 0 {
      switch attribute.type {
      case .string: values[attribute.name] = .string("\(attribute.name) \(number)")
      case .date: values[attribute.name] = .date(Date(timeIntervalSinceReferenceDate: Double(number)))
      case .binary: values[attribute.name] = .binary(Data(repeating: UInt8(number % 256), count: number * 100))
      case .boolean: values[attribute.name] = .boolean(number % 3 == 0)
      case .integer64, .integer32, .integer16: values[attribute.name] = .integer(Int64(number))
      case .double: values[attribute.name] = .double(Double(number) / 4)
      default: continue
      }
    }
    return values
  }

  /// Inserts plans with two tasks each, which have schedules, outcomes with values, and notes; versions of a plan are a
  /// chain.
  private static func fill(_ store: ObjectStore, _ model: ManagedObjectModel, plans count: Int) throws {
    try store.write { tx in
      func make(_ entity: String, _ number: Int, _ links: [String: [ObjectID]] = [:]) throws -> ObjectID {
        try tx.insert(entity, values(entity, number, model), relationships: links)
      }
      var last: ObjectID?
      for number in 1...count {
        let patient = try make(
          "OCKCDPatient", number, ["name": [try make("OCKCDPersonName", number)]])
        let contact = try make(
          "OCKCDContact", number, ["name": [try make("OCKCDPersonName", number + 1)]])
        _ = try make("OCKCDPostalAddress", number, ["contact": [contact]])
        var links = ["patient": [patient], "contacts": [contact], "notes": [try make("OCKCDNote", number)]]
        if let last { links["previous"] = [last] }
        last = try make("OCKCDCarePlan", number, links)
        for half in [1, 2] {
          let outcome = try make(
            "OCKCDOutcome", number * 2 + half,
            [
              "values": [try make("OCKCDOutcomeValue", number), try make("OCKCDOutcomeValue", number + 1)],
              "notes": [try make("OCKCDNote", number + half)],
            ])
          _ = try make(
            "OCKCDTask", number * 2 + half,
            [
              "carePlan": last.map { [$0] } ?? [], "outcomes": [outcome],
              "scheduleElements": [try make("OCKCDScheduleElement", number)], "notes": [try make("OCKCDNote", number)],
            ])
        }
      }
    }
  }

  @Test("drives a migration between its own versions")
  func migrates() throws {
    let path = try #require(Corpus.mappingModel("carekit-apple__CareKit/2.0_2.1_Mapping.xcmappingmodel"))
    let mapping = try MappingModel.load(contentsOf: path).mapping
    let bundle = try #require(Corpus.modelBundles().first { $0.contains("carekit-apple__CareKit") })
    let versions = try ManagedObjectModel.loadVersions(contentsOf: bundle).map(\.model)
    let from = try #require(versions.first { $0.versionIdentifier == "CareKitStore2.0" })
    let to = try #require(versions.first { $0.versionIdentifier == "CareKitStore2.1" })
    #expect(mapping.destinationVersionName == "CareKitStore2.2")
    let count = 30
    let test = try TestStore(from)
    try Self.fill(test.store, from, plans: count)
    let before = try test.store.info().objectCount
    test.store.close()
    expectError(.mappingRequired) {
      _ = try test.migrate(to: to, migration: MigrationOptions(versions: versions))
    }
    let options = MigrationOptions(
      versions: versions, mappings: [mapping], policies: ["OCKStoreMigration2_0To2_1Policy": Policy()])
    #expect(try test.planMigration(to: to, migration: options).steps.map(\.kind) == [.mapping])
    let report = try test.migrate(to: to, migration: options)
    #expect(report.createdCount == Int(before))
    try test.reopen()
    #expect(test.store.model.modelHash == to.modelHash)
    try checked(test.store)
    // Properties with the same name in both versions are unchanged, and links lead to the migrated members.
    let snapshot = try test.store.snapshot(named: try #require(report.snapshot))
    for entity in mapping.entityMappings {
      guard let source = entity.sourceEntityName, let destination = entity.destinationEntityName else { continue }
      let same = Set(to.attributes(of: destination).map(\.name)).intersection(from.attributes(of: source).map(\.name))
        .subtracting(["userInfo"]).sorted()
      #expect(!same.isEmpty)
      let old = try snapshot.read { tx in
        try tx.fetch(FetchRequest(source)).map { object in same.map { object[$0] } }
      }
      let new = try test.store.read { tx in
        try tx.fetch(FetchRequest(destination)).map { object in same.map { object[$0] } }
      }
      #expect(old == new, "\(entity.name)")
    }
    let plans = try test.store.read { tx in
      try tx.fetchIDs(FetchRequest("OCKCDCarePlan")).map { plan in
        [
          try tx.members(plan, "tasks").count, try tx.members(plan, "previous").count,
          try tx.members(plan, "next").count,
          try tx.members(plan, "contacts").count, try tx.members(plan, "notes").count,
        ]
      }
    }
    #expect(
      plans == (0..<count).map { [2, $0 == 0 ? 0 : 1, $0 == count - 1 ? 0 : 1, 1, 1] })
    let outcomes = try test.store.read { tx in
      try tx.fetch(FetchRequest("OCKCDOutcome")).map { [$0["startDate"], $0["effectiveDate"]] }
    }
    let dates = try snapshot.read { tx in try tx.fetch(FetchRequest("OCKCDOutcome")).map { $0["date"] } }
    #expect(outcomes == dates.map { [$0, $0] })
  }
}
