import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// The steps that mapping models define: none is skipped silently.
@Suite("Paths of mapping models")
struct MigrationPathTests {
  /// Versions 1 to 5; 2 has an entity that 3 lacks, and 4 has it again.
  private static let versions: [ManagedObjectModel] = (1...5).map { number in
    ManagedObjectModel("Path", version: "\(number)") {
      EntityDescription("Note") { AttributeDescription("text\(number)", .string) }
    }
  }

  private static func mapping(_ from: String?, _ to: String?) -> MappingModel {
    MappingModel(
      [EntityMapping(from: "Note", to: "Note")], name: "\(from ?? "")to\(to ?? "")", sourceModelPath: from,
      destinationModelPath: to)
  }

  /// `>2` is an inferred step to version 2, `1=2` a mapped one.
  private func path(
    _ from: Int, _ to: Int, _ mappings: [(String?, String?)], _ stages: [any MigrationStage] = [], all: Bool = false
  ) throws(StoreError) -> (legs: [String], unused: [String]) {
    let options = MigrationOptions(
      versions: Self.versions, mappings: mappings.map { Self.mapping($0.0, $0.1) }, stages: stages,
      requiresAllMappings: all)
    let path = try MigrationPath(from: Self.versions[from - 1], to: Self.versions[to - 1], options)
    let legs = path.legs.map { "\($0.mapping.map { $0.name ?? "" } ?? "")>\($0.model.versionIdentifier)" }
    return (legs, path.unused.map(\.label))
  }

  @Test("the library takes from a pool what leads from the store's version towards the wanted one")
  func pool() throws {
    func expect(
      _ from: Int, _ to: Int, _ mappings: [(String?, String?)], _ legs: [String], stages: [any MigrationStage] = [],
      unused: [String] = [], location: SourceLocation = #_sourceLocation
    ) throws {
      let found = try path(from, to, mappings, stages)
      #expect(found.legs == legs && found.unused == unused, "\(found)", sourceLocation: location)
    }
    try expect(1, 4, [], [">4"])
    // A jump is one step. Issue: it was skipped, and intermediate steps deleted objects.
    try expect(2, 4, [("2", "4")], ["2to4>4"])
    try expect(1, 4, [("1", "2")], ["1to2>2", ">4"])
    try expect(1, 4, [("2", "3"), ("1", "2")], ["1to2>2", "2to3>3", ">4"])
    try expect(1, 4, [("1", "2"), ("2", "3"), ("3", "4"), ("1", "4")], ["1to4>4"], unused: ["1to2", "2to3", "3to4"])
    // All versions of an app, and a store of any of them.
    let all = [("1", "2"), ("2", "3"), ("3", "4"), ("4", "5")] as [(String?, String?)]
    try expect(3, 5, all, ["3to4>4", "4to5>5"], unused: ["1to2", "2to3"])
    try expect(1, 3, all, ["1to2>2", "2to3>3"], unused: ["3to4", "4to5"])
    // Away from the target version, beyond it, or outside the path.
    try expect(2, 3, [("2", "1")], [">3"], unused: ["2to1"])
    try expect(2, 3, [("2", "5")], [">3"], unused: ["2to5"])
    try expect(1, 4, [("2", "3")], [">4"], unused: ["2to3"])
    try expect(1, 4, [("1", "2"), ("1", "2")], ["1to2>2", ">4"], unused: ["1to2"])
    // No version occurs twice.
    try expect(
      1, 4, [("1", "2"), ("2", "1"), ("2", "3"), ("3", "2")], ["1to2>2", "2to3>3", ">4"], unused: ["2to1", "3to2"])
    // Back, if mapping models lead there.
    try expect(4, 1, [("4", "2")], ["4to2>2", ">1"])
    // Stages and mapping models are combined.
    let light = LightweightMigrationStage(["1", "2"])
    try expect(1, 4, [("2", "4")], [">2", "2to4>4"], stages: [light])
    // A mapping model without names is used for the remaining step.
    try expect(1, 4, [(nil, nil)], ["to>4"])
    try expect(1, 1, [("1", "2")], [], unused: ["1to2"])
  }

  @Test("the tool uses every mapping model, with one inferred step, or none")
  func required() throws {
    func expect(
      _ from: Int, _ to: Int, _ mappings: [(String?, String?)], _ legs: [String],
      location: SourceLocation = #_sourceLocation
    ) throws {
      let found = try path(from, to, mappings, all: true)
      #expect(found.legs == legs && found.unused.isEmpty, "\(found)", sourceLocation: location)
    }
    try expect(1, 4, [], [">4"])
    try expect(2, 4, [("2", "4")], ["2to4>4"])
    try expect(1, 4, [("1", "2")], ["1to2>2", ">4"])
    try expect(1, 4, [("3", "4")], [">3", "3to4>4"])
    try expect(1, 4, [("3", "4"), ("1", "2")], ["1to2>2", ">3", "3to4>4"])
    try expect(1, 5, [("4", "5"), ("1", "2"), ("2", "3"), ("3", "4")], ["1to2>2", "2to3>3", "3to4>4", "4to5>5"])
    try expect(4, 1, [("4", "5")], ["4to5>5", ">1"])
    // Versions that have been renamed since: the ends of the migration.
    try expect(2, 4, [("old 2", "4")], ["old 2to4>4"])
    try expect(2, 4, [("2", "old 4")], ["2toold 4>4"])
    try expect(2, 4, [(nil, nil)], ["to>4"])
  }

  @Test("one that cannot be used is named, and why")
  func unusable() {
    func refused(
      _ from: Int, _ to: Int, _ mappings: [(String?, String?)], says words: String...,
      location: SourceLocation = #_sourceLocation
    ) {
      let error = expectError(.invalidMapping, sourceLocation: location) {
        _ = try path(from, to, mappings, all: true)
      }
      for word in words {
        #expect(error?.message.contains(word) == true, "\(error?.message ?? "")", sourceLocation: location)
      }
    }
    refused(1, 4, [("2", "3")], says: "2to3 (2 → 3) cannot be used", "one is allowed", "migrate to '2'")
    refused(1, 5, [("1", "2"), ("3", "4")], says: "3to4", "one is allowed")
    refused(1, 5, [("1", "2"), ("3", "4"), ("5", "2")], says: "ends with '2'")
    refused(2, 4, [("1", "2")], says: "1to2", "leads to the store's version")
    refused(2, 4, [("4", "5")], says: "4to5", "begins with the target version")
    refused(1, 4, [("1", "2"), ("1", "3")], says: "1to3", "begins with '1', too")
    refused(1, 4, [("1", "3"), ("2", "3")], says: "2to3", "ends with '3', too")
    refused(1, 4, [("1", "2"), ("1", "2")], says: "no version twice")
    refused(1, 4, [("2", "3"), ("3", "2")], says: "cycle")
    refused(1, 4, [("2", "2")], says: "same version")
    refused(4, 4, [("3", "4")], says: "already has the version '4'")
    let other = MappingModel([EntityMapping(from: "Other", to: "Note")], name: "other")
    let error = expectError(.invalidMapping) {
      _ = try MigrationPath(
        from: Self.versions[0], to: Self.versions[1],
        MigrationOptions(versions: Self.versions, mappings: [other], requiresAllMappings: true))
    }
    #expect(error?.message.contains("matches no two available versions") == true)
    // A mapping that fits several steps, none of which begins at the store's version: the paths would be equally short.
    refused(1, 4, [("old", "1")], says: "has no version 'old'", "fits several steps", "same length")
  }

  @Test("a policy that is not registered, and an expression that cannot be computed, are refused in the plan")
  func requirements() throws {
    let test = try TestStore(Self.versions[0])
    try test.store.insert("Note", ["text1": "a"])
    test.store.close()
    func plan(_ mapping: EntityMapping, _ policies: [String: any EntityMigrationPolicy] = [:]) throws -> MigrationPlan {
      try test.planMigration(
        to: Self.versions[1],
        migration: MigrationOptions(mappings: [MappingModel([mapping], name: "M")], policies: policies))
    }
    let error = expectError(.invalidMapping) { _ = try plan(EntityMapping(from: "Note", to: "Note", policy: "App.P")) }
    for word in ["mapping model M", "App.P (entity mapping NoteToNote)", "policies are code", "command line"] {
      #expect(error?.message.contains(word) == true, "\(error?.message ?? "")")
    }
    #expect(try plan(EntityMapping(from: "Note", to: "Note", policy: "App.P"), ["P": Plain()]).isPossible)
    let unsupported = [PropertyMapping("text2", .unsupported("FUNCTION(1)"))]
    let other = expectError(.invalidMapping) {
      _ = try plan(EntityMapping(from: "Note", to: "Note", attributes: unsupported))
    }
    #expect(other?.property == "text2" && other?.message.contains("FUNCTION(1)") == true)
    // Mappings without objects are not reported, nor those that a policy may replace.
    #expect(try plan(EntityMapping(from: nil, to: "Note", attributes: unsupported)).isPossible)
    #expect(
      try plan(EntityMapping(from: "Note", to: "Note", attributes: unsupported, policy: "P"), ["P": Own()]).isPossible
    )
    // The plan runs the policy: a policy that follows the mapping needs the expressions that the mapping lacks.
    let plain = try plan(EntityMapping(from: "Note", to: "Note", attributes: unsupported, policy: "P"), ["P": Plain()])
    #expect(plain.errors.map(\.kindName) == ["invalidMapping"] && plain.errors.first?.property == "text2")
  }

  private struct Plain: EntityMigrationPolicy {}

  /// Creates no objects.
  private struct Own: EntityMigrationPolicy {
    func createDestinationInstances(
      for source: ObjectID, in mapping: EntityMapping, with manager: inout MigrationManager
    ) throws {}
  }
}
