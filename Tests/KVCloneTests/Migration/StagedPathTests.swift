import KVCloneModel
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVClone
@testable import KVCloneCore

/// The stages that a migration runs, and those that are rejected before anything is written.
@Suite("Stages on the way")
struct StagedPathTests {
  private struct OwnStage: MigrationStage { let label = "own" }

  private static func stage(_ from: ManagedObjectModelReference, _ to: ManagedObjectModelReference)
    -> CustomMigrationStage
  {
    CustomMigrationStage(migratingFrom: from, to: to)
  }

  private func path(
    _ source: ManagedObjectModel, _ destination: ManagedObjectModel, _ stages: any MigrationStage...,
    versions: [ManagedObjectModel] = Shop.versions
  ) throws(StoreError) -> [String] {
    let path = try MigrationPath(
      from: source, to: destination, MigrationOptions(versions: versions, stages: stages))
    return path.legs.map { leg in
      leg.model.versionIdentifier + (leg.stage.map { " (\($0.label))" } ?? "")
        + (leg.lightweight == nil ? "" : " light")
    }
  }

  @Test func stagesAreEdgesFromTheStoresVersion() throws {
    let (first, fourth) = (Shop.first, Shop.fourth)
    #expect(try path(first, fourth, Self.stage("1", "2")) == ["2 ('1' → '2')", "4"])
    // An edge that does not begin at a version of the path is not used.
    #expect(try path(first, fourth, Self.stage("2", "3")) == ["4"])
    #expect(try path(Shop.second, fourth, Self.stage("1", "3")) == ["4"])
    #expect(try path(first, fourth, Self.stage("3", "4"), Self.stage("1", "3")) == ["3 ('1' → '3')", "4 ('3' → '4')"])
    // Edges that lead to the target version take precedence over those that only lead towards it.
    #expect(
      try path(first, fourth, Self.stage("1", "3"), Self.stage("1", "2"), Self.stage("2", "4"))
        == ["2 ('1' → '2')", "4 ('2' → '4')"])
    #expect(try path(first, fourth, Self.stage("1", "2"), Self.stage("1", "3")) == ["3 ('1' → '3')", "4"])
    // Edges before the store's version, beyond the target or backwards are omitted.
    #expect(try path(Shop.third, fourth, Self.stage("1", "3")) == ["4"])
    #expect(try path(first, Shop.second, Self.stage("2", "4")) == ["2"])
    #expect(try path(first, Shop.third, Self.stage("1", "4")) == ["3"])
    #expect(try path(Shop.second, Shop.third, Self.stage("2", "1")) == ["3"])
    #expect(try path(fourth, Shop.third, Self.stage("1", "2")) == ["3"])
    #expect(try path(fourth, first, Self.stage("4", "2")) == ["2 ('4' → '2')", "1"])
    #expect(try path(first, first, Self.stage("1", "2")).isEmpty)
    let light = LightweightMigrationStage(["1", "2"])
    #expect(try path(first, fourth, light, Self.stage("2", "4")) == ["2 light", "4 ('2' → '4')"])
    #expect(try path(first, fourth, LightweightMigrationStage(["1", "3"])) == ["3 light", "4"])
    #expect(try path(first, Shop.second, LightweightMigrationStage(["2"]), LightweightMigrationStage([])) == ["2"])
    // A store of an unknown version precedes all others.
    let zero = first.next("0") { $0.remove(entity: "Comic") }
    #expect(try path(zero, fourth, Self.stage("2", "3")) == ["4"])
    // By hashes; and the target version need not be one of the given versions.
    let byHash = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(Shop.second),
      to: ManagedObjectModelReference(versionChecksum: fourth.modelHash), label: "hash")
    #expect(try path(Shop.second, fourth, byHash, versions: Array(Shop.versions.prefix(3))) == ["4 (hash)"])
    // Two versions with the same content are one, under the last name.
    let twin = Shop.second.next("twin") { $0["Book"].userInfo = ["a": "b"] }
    let versions = [first, Shop.second, twin, fourth]
    #expect(
      try path(first, fourth, Self.stage("1", "2"), Self.stage("2", "4"), versions: versions)
        == ["twin ('1' → '2')", "4 ('2' → '4')"])
  }

  @Test func valuesThatDoNotFitAreReportedExactly() throws {
    let (first, fourth) = (Shop.first, Shop.fourth)
    func refused(
      _ source: ManagedObjectModel, _ destination: ManagedObjectModel, _ stages: any MigrationStage...,
      versions: [ManagedObjectModel] = Shop.versions, says words: String..., location: SourceLocation = #_sourceLocation
    ) {
      let error = expectError(.invalidStage, sourceLocation: location) {
        _ = try MigrationPath(from: source, to: destination, MigrationOptions(versions: versions, stages: stages))
      }
      for word in words {
        #expect(error?.message.contains(word) == true, "\(error?.message ?? "")", sourceLocation: location)
      }
    }
    refused(first, fourth, Self.stage("2", "9"), says: "'2' → '9'", "the version '9'", "'1', '2', '3', '4'")
    // Even if the stage is not needed.
    refused(first, Shop.second, Self.stage("3", "9"), says: "'9'")
    refused(first, fourth, LightweightMigrationStage(["1", "0"]), says: "'0'")
    let unknown = ManagedObjectModelReference(Shop.first.next { $0.remove(entity: "Comic") })
    refused(first, fourth, Self.stage(unknown, "2"), says: "with the hash")
    refused(first, fourth, Self.stage("2", "2"), says: "same version")
    let twin = Shop.second.next("2") { $0["Book"].attributes.append(AttributeDescription("other", .string)) }
    refused(
      first, fourth, Self.stage("2", "3"), versions: [first, Shop.second, twin, Shop.third, fourth],
      says: "2 versions of different content")
    refused(first, fourth, Self.stage("1", "2"), Self.stage("1", "2"), says: "same step")
    refused(first, fourth, LightweightMigrationStage(["1", "2", "3"]), Self.stage("2", "3"), says: "contains the step")
    refused(first, fourth, OwnStage(), says: "unsupported type")
  }

  @Test func aLightweightStageIsInferredOrRefused() throws {
    let test = try TestStore(Shop.first)
    test.store.close()
    func plan(_ stages: any MigrationStage..., mappings: [MappingModel] = []) throws -> MigrationPlan {
      let options = MigrationOptions(versions: Shop.versions, mappings: mappings, stages: stages)
      return try test.planMigration(to: Shop.fourth, migration: options)
    }
    // Without objects in the store, an otherwise rejected step is possible without the stage.
    #expect(try plan().isPossible)
    #expect(try plan(LightweightMigrationStage(["1", "2"])).isPossible)
    let error = expectError(.invalidStage) { _ = try plan(LightweightMigrationStage(["1", "2", "3"], label: "light")) }
    #expect(error?.property == "isbn" && error?.message.contains("from 2 to 3 of the lightweight stage light") == true)
    let mapping = MappingModel([], sourceModelPath: "1", destinationModelPath: "2")
    let other = expectError(.invalidStage) {
      _ = try plan(LightweightMigrationStage(["1", "2"]), mappings: [mapping])
    }
    #expect(other?.message.contains("mapping model") == true)
  }

  @Test func stagesThatLieBehindAreNotRun() throws {
    let test = try Shop.filled(5)
    let ran = Mutex<[String]>([])
    let stages = zip(Shop.versions, Shop.versions.dropFirst()).map { old, new in
      CustomMigrationStage(
        migratingFrom: .init(old), to: .init(new), label: new.versionIdentifier,
        didMigrate: { manager in
          ran.withLock { $0.append(manager.stage.label) }
          guard manager.stage.label == "2" else { return }
          try Shop.numbering.didMigrateHandler?(&manager)
        })
    }
    let options = MigrationOptions(versions: Shop.versions, stages: stages)
    test.store.close()
    for version in [Shop.second, Shop.second, Shop.fourth] {
      try test.migrate(to: version, migration: options)
    }
    #expect(ran.withLock { $0 } == ["2", "3", "4"])
    try test.reopen()
    try checked(test.store)
  }
}
