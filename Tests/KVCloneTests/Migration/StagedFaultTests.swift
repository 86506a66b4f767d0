import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneQuery

/// Handlers that make all kinds of changes, between steps that do the same.
///
/// `KVCLONE_SEEDS` is the number of runs for every change of the model; by default, some changes are tested once.
@Suite("Staged migrations: graphs and faults")
struct StagedFaultTests {
  /// Deletes, changes, links and inserts objects randomly.
  private struct Handling: Sendable {
    let model: ManagedObjectModel
    let seed: UInt64

    @Sendable func run(_ manager: inout StagedMigrationManager) throws {
      var generator = SeededGenerator(seed: seed)
      for entity in model.entities where entity.superentityName == nil {
        try manager.forEachObject(of: entity.name) { tx, id in try change(&tx, id, &generator) }
      }
      try manager.write { tx in
        for entity in model.entities where !entity.isAbstract {
          for _ in 0..<2 { try change(&tx, try tx.insert(entity.name), &generator) }
        }
      }
    }

    private func change(_ tx: inout WriteTransaction, _ id: ObjectID, _ generator: inout SeededGenerator) throws {
      let entity = try tx.entityName(of: id)
      switch Int.random(in: 0..<6, using: &generator) {
      case 0: _ = try tx.delete([id])
      case 1:
        for attribute in model.attributes(of: entity) where !attribute.isDerived && !attribute.isTransient {
          switch attribute.type {
          case .string: try tx.set(id, attribute.name, .string("text \(Int.random(in: 0..<1_000, using: &generator))"))
          case .binary:
            let count = Int.random(in: 0..<20_000, using: &generator)
            try tx.set(id, attribute.name, .binary(Data(repeating: UInt8(count % 256), count: count)))
          case .integer16, .integer32: try tx.set(id, attribute.name, .integer(Int64(id.serial)))
          default: break
          }
        }
      case 2, 3:
        for relationship in model.relationships(of: entity) where !relationship.isTransient {
          var ids = try tx.fetchIDs(FetchRequest(relationship.destinationEntityName))
          ids.shuffle(using: &generator)
          let count = Int.random(in: 0...(relationship.isToMany ? 25 : 1), using: &generator)
          try tx.setMembers(id, relationship.name, Array(ids.prefix(count)))
        }
      default: break
      }
    }
  }

  private func stages(_ versions: [ManagedObjectModel], _ seed: UInt64) -> [any MigrationStage] {
    zip(versions, versions.dropFirst()).enumerated().map { index, pair in
      let place = seed * 100 + UInt64(index) * 10
      return CustomMigrationStage(
        migratingFrom: .init(pair.0), to: .init(pair.1),
        willMigrate: Handling(model: pair.0, seed: place).run,
        didMigrate: Handling(model: pair.1, seed: place + 1).run)
    }
  }

  /// The kinds of changes that can be inferred for any data.
  private static let changes: [ModelChange] = Library.changes.filter { change in
    let path = [change.first] + change.versions
    // A new constraint would reject random values.
    let aspects: Set<String?> = ["unique", "type", "inverse"]
    return Set(path.map(\.modelHash)).count == path.count
      && zip(path, path.dropFirst()).allSatisfy { old, new in
        let difference = ModelDifference(from: old, to: new)
        return difference.refusals.isEmpty && !difference.changes.contains { aspects.contains($0.aspect) }
      }
  }

  @Test("whatever handlers do, the store is sound, and the snapshot has the earlier state", arguments: [true, false])
  func graphs(takesSnapshot: Bool) throws {
    #expect(Self.changes.count > 30)
    let seeds = MigrationCorpusTests.seeds
    for round in 1...(seeds ?? 1) {
      for (index, change) in Self.changes.enumerated() {
        if seeds == nil, index % 12 != (takesSnapshot ? 0 : 6) { continue }
        let seed = round * 100 + UInt64(index)
        let what = "\(change.name), seed \(seed)"
        let migrated = try MigratedStore(change.first, seed: seed, size: 4)
        let versions = [change.first] + change.versions
        let options = MigrationOptions(
          versions: versions, stages: stages(versions, seed), takesSnapshot: takesSnapshot)
        try migrated.migrate(to: versions[versions.count - 1], options: options, what)
        try migrated.workOn(seed: seed, what)
        try migrated.deleteSnapshots(what)
      }
    }
  }

  @Test("each call of storage fails", arguments: [true, false])
  func everyCall(takesSnapshot: Bool) throws {
    let versions = [Library.model, MigrationFaultTests.next]
    let inner = MemoryStorage()
    let first = try ObjectStore.create(in: inner, model: Library.model)
    try first.write { tx in
      let tags = try (0..<3).map { try tx.insert("Tag", ["label": .string("\($0)")]) }
      let person = try tx.insert("Person", ["name": "x"])
      for number in 0..<6 {
        let book = try tx.insert(
          number % 2 == 0 ? "Book" : "Comic", ["data": .binary(Data(repeating: 7, count: 5_000))],
          relationships: ["author": [person], "tags": tags])
        try tx.insert("Chapter", ["text": "t"], relationships: ["book": [book]])
      }
    }
    let options = MigrationOptions(versions: versions, stages: stages(versions, 3), takesSnapshot: takesSnapshot)
    let faulty = FaultyEngine(inner)
    var number = 1
    while true {
      faulty.arm(number)
      var thrown: (any Error)?
      do {
        _ = try StoreMigrator.migrate(faulty, path: "faulty", to: versions[1], options, StoreOptions())
      } catch { thrown = error }
      let fired = faulty.fired
      faulty.arm(nil)
      let store = try StoreOpening.assemble(inner, path: "m", model: nil, options: StoreOptions())
      guard let fired else {
        #expect(thrown == nil, "\(thrown.map { "\($0)" } ?? "")")
        #expect(store.model.modelHash == versions[1].modelHash)
        try checked(store)
        return
      }
      let place = "call \(number): \(fired.rawValue)"
      #expect((thrown as? StoreError)?.kind == .io, "\(place): \(thrown.map { "\($0)" } ?? "nothing")")
      #expect(store.model.modelHash == versions[0].modelHash, "\(place)")
      #expect(try store.snapshots().isEmpty, "\(place)")
      #expect(try store.info().objectCount == 16, "\(place)")
      if number % 8 == 1 { try checked(store) }
      number += 1 + number / 6
    }
  }
}
