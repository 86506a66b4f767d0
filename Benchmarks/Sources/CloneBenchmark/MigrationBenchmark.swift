import BenchmarkSupport
import Foundation
import KVClone

/// The cost of migrations: without changes of objects, with type changes of attributes, and through several versions at
/// once.
enum MigrationBenchmark {
  static func run(in directory: String, quick: Bool) throws {
    let workspace = try Workspace(in: directory)
    defer { workspace.remove() }
    report("migration: libraries of albums of 100 photos, 6 attributes and 2 of 1,000 shared tags each")
    try withoutObjects(workspace, sizes: quick ? [10_000, 100_000] : [10_000, 10_000_000], rounds: quick ? 3 : 9)
    try typeChange(workspace, objects: quick ? 100_000 : 1_000_000, rounds: quick ? 3 : 5)
    try chain(workspace, objects: quick ? 100_000 : 1_000_000, rounds: quick ? 3 : 5)
  }

  /// The photo model with a version number, further entities, and a changed photo entity.
  static func model(
    _ version: Int, adding entities: [EntityDescription] = [], _ change: (inout EntityDescription) -> Void
  )
    -> ManagedObjectModel
  {
    var all = PhotoModel.model.entities
    for index in all.indices where all[index].name == "Photo" { change(&all[index]) }
    return ManagedObjectModel(
      name: PhotoModel.model.name, versionIdentifier: "\(PhotoModel.model.name) \(version)", entities: all + entities)
  }

  /// Changes the type of two attributes: `width` to Decimal, `taken` to seconds.
  static func changeTypes(_ photo: inout EntityDescription) {
    for index in photo.attributes.indices {
      switch photo.attributes[index].name {
      case "width": photo.attributes[index].type = .decimal
      case "taken": photo.attributes[index].type = .double
      default: break
      }
    }
  }

  /// A version with one more optional attribute, attribute with a default and entity than the previous one, and another
  /// name of the photo's title.
  private static func grown(_ version: Int) -> ManagedObjectModel {
    let entities = (1...version).map { number in
      EntityDescription("Note\(number)") { AttributeDescription("text", .string) }
    }
    return model(version + 1, adding: entities) { photo in
      for index in photo.attributes.indices where photo.attributes[index].name == "title" {
        photo.attributes[index].name = "caption\(version)"
        photo.attributes[index].renamingIdentifier = "title"
      }
      for number in 1...version {
        photo.attributes.append(AttributeDescription("place\(number)", .string))
        photo.attributes.append(AttributeDescription("stars\(number)", .integer16, optional: false, default: 3))
      }
    }
  }

  private static func withoutObjects(_ workspace: Workspace, sizes: [Int], rounds: Int) throws {
    report(
      "  an optional attribute, one with a default, an entity and a rename, milliseconds (median, least, greatest):")
    for size in sizes {
      let path = "\(workspace.path)/grown-\(size)"
      _ = try PhotoGraph.make(at: path, objects: size)
      var times: [Double] = []
      for round in 1...rounds {
        let migration = try ObjectStore.migrate(at: path, to: grown(round))
        guard migration.rewrittenCount == 0 else {
          throw Unexpected("\(migration.rewrittenCount) objects were rewritten")
        }
        times.append(migration.duration.seconds)
      }
      report(
        "    \("\(size)".right(10)) objects \(fixed(Measuring.median(times) * 1e3, 2).right(9)) "
          + "\(fixed((times.min() ?? 0) * 1e3, 2).right(9)) \(fixed((times.max() ?? 0) * 1e3, 2).right(9))")
      try FileManager.default.removeItem(atPath: path)
    }
  }

  private static func typeChange(_ workspace: Workspace, objects: Int, rounds: Int) throws {
    report("  two attributes of other types (Integer 64 to Decimal, Date to Double), in one durable transaction:")
    let path = "\(workspace.path)/types"
    _ = try PhotoGraph.make(at: path, objects: objects)
    for takesSnapshot in [false, true] {
      var times: [Double] = []
      var count = 0
      for _ in 0..<rounds {
        let copy = "\(workspace.path)/types-copy"
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        sync()
        let migration = try ObjectStore.migrate(
          at: copy, to: model(2, changeTypes), migration: MigrationOptions(takesSnapshot: takesSnapshot))
        times.append(migration.duration.seconds)
        count = migration.rewrittenCount
        try FileManager.default.removeItem(atPath: copy)
      }
      let median = Measuring.median(times)
      report(
        "    \(count) objects, \(takesSnapshot ? "a snapshot first" : "without a snapshot"): \(fixed(median, 2)) s, "
          + "\(fixed(median / Double(max(1, count)) * 1e6, 2)) µs each (least \(fixed((times.min() ?? 0), 2)) s)")
    }
  }

  /// Three versions that each rewrite every photo: `width` to Decimal, `taken` to seconds, `width` to text.
  private static var chainVersions: [ManagedObjectModel] {
    let types: [[String: AttributeType]] = [
      ["width": .decimal], ["width": .decimal, "taken": .double], ["width": .string, "taken": .double],
    ]
    return [PhotoModel.model]
      + types.enumerated().map { index, types in
        model(index + 2) { photo in
          for place in photo.attributes.indices {
            photo.attributes[place].type = types[photo.attributes[place].name] ?? photo.attributes[place].type
          }
        }
      }
  }

  private static func chain(_ workspace: Workspace, objects: Int, rounds: Int) throws {
    report("  three such versions, in one migration and in one for each, without snapshots:")
    let path = "\(workspace.path)/chain"
    _ = try PhotoGraph.make(at: path, objects: objects)
    let versions = chainVersions
    let stage = LightweightMigrationStage(versions.map { ManagedObjectModelReference($0) })
    var times: (atOnce: [Double], each: [Double]) = ([], [])
    var counts: (atOnce: Int, each: Int) = (0, 0)
    for _ in 0..<rounds {
      let copy = "\(workspace.path)/chain-copy"
      try FileManager.default.copyItem(atPath: path, toPath: copy)
      sync()
      let migration = try ObjectStore.migrate(
        at: copy, to: versions[3],
        migration: MigrationOptions(versions: versions, stages: [stage], takesSnapshot: false))
      times.atOnce.append(migration.duration.seconds)
      counts.atOnce = migration.rewrittenCount
      try FileManager.default.removeItem(atPath: copy)
      try FileManager.default.copyItem(atPath: path, toPath: copy)
      sync()
      var seconds = 0.0
      counts.each = 0
      for version in versions.dropFirst() {
        let migration = try ObjectStore.migrate(
          at: copy, to: version, migration: MigrationOptions(takesSnapshot: false))
        seconds += migration.duration.seconds
        counts.each += migration.rewrittenCount
      }
      times.each.append(seconds)
      try FileManager.default.removeItem(atPath: copy)
    }
    let (atOnce, each) = (Measuring.median(times.atOnce), Measuring.median(times.each))
    report("    at once: \(counts.atOnce) records rewritten, \(fixed(atOnce, 2)) s")
    report(
      "    one by one: \(counts.each) records rewritten, \(fixed(each, 2)) s: \(fixed(each / atOnce, 2)) times as long")
  }

  private struct Unexpected: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }
}
