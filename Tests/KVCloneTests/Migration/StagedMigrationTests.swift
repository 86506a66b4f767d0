import Foundation
import KVCloneModel
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// Versions of a shop: an attribute that is optional in version 2 is mandatory, and unique, in version 3.
enum Shop {
  static let first = ManagedObjectModel("Shop", version: "1") {
    EntityDescription("Item", abstract: true) { AttributeDescription("title", .string) }
    EntityDescription("Book", parent: "Item") {
      AttributeDescription("price", .integer32)
      AttributeDescription("cover", .binary)
      RelationshipDescription("shelf", toOne: "Shelf", inverse: "books")
    }
    EntityDescription("Comic", parent: "Book") {}
    EntityDescription("Shelf") {
      AttributeDescription("name", .string)
      AttributeDescription("total", .integer32, derivation: "books.@sum.price")
      RelationshipDescription("books", toMany: "Book", inverse: "shelf")
    }
  }
  static let second = first.next("2") { $0["Book"].attributes.append(AttributeDescription("isbn", .string)) }
  static let third = second.next("3") {
    $0.attribute("Book", "isbn") { $0.isOptional = false }
    $0["Book"].uniquenessConstraints = [["isbn"]]
    $0.attribute("Shelf", "total") { $0.derivationExpression = "books.@max.price" }
  }
  static let fourth = third.next("4") { draft in
    draft.attribute("Book", "price") { $0.type = .integer64 }
    draft.attribute("Shelf", "total") { $0.type = .integer64 }
    draft["Shelf"].attributes.append(AttributeDescription("room", .string, default: "cellar"))
  }
  static let versions = [first, second, third, fourth]

  /// Creates books and comics alternately, on two shelves.
  static func filled(_ count: Int = 40, options: StoreOptions = StoreOptions()) throws -> TestStore {
    let test = try TestStore(first, options: options)
    try test.store.write { tx in
      let shelves = try ["a", "b"].map { try tx.insert("Shelf", ["name": .string($0)]) }
      for number in 1...count {
        let values: [String: AttributeValue?] = [
          "title": .string("Title \(number)"), "price": .integer(Int64(number)),
          "cover": .binary(Data(repeating: UInt8(number % 256), count: number % 5 == 0 ? 5_000 : 5)),
        ]
        try tx.insert(number % 4 == 0 ? "Comic" : "Book", values, relationships: ["shelf": [shelves[number % 2]]])
      }
    }
    return test
  }

  /// Sets a number for each book.
  static let numbering = CustomMigrationStage(
    migratingFrom: "1", to: "2", label: "numbering",
    didMigrate: { manager in
      try manager.forEachObject(of: "Book") { tx, id in try tx.set(id, "isbn", .string("isbn \(id.serial)")) }
    })

  struct Failure: Error, Equatable { let number: Int }
}

/// Handlers of the app between the steps of a migration.
@Suite("Staged migrations")
struct StagedMigrationTests {
  private func options(_ stages: any MigrationStage..., snapshot: Bool = true) -> MigrationOptions {
    MigrationOptions(versions: Shop.versions, stages: stages, takesSnapshot: snapshot)
  }

  private func lines(_ store: ObjectStore) throws -> [Substring] {
    var bytes: [UInt8] = []
    _ = try store.dump { span in span.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix(#"{"kvclone""#) }
  }

  /// Runs a migration, and expects that it fails and leaves the store unchanged.
  @discardableResult
  private func fails(
    _ kind: StoreError.Kind, _ test: TestStore, to model: ManagedObjectModel = Shop.fourth, _ options: MigrationOptions,
    _ location: SourceLocation = #_sourceLocation
  ) throws -> StoreError? {
    let before = try lines(test.store)
    let version = test.store.model
    test.store.close()
    let error = expectError(kind, sourceLocation: location) {
      try test.migrate(to: model, migration: options)
    }
    try test.reopen()
    #expect(test.store.model == version, sourceLocation: location)
    #expect(try test.store.snapshots().isEmpty, sourceLocation: location)
    #expect(try lines(test.store) == before, sourceLocation: location)
    try checked(test.store, sourceLocation: location)
    return error
  }

  @Test("a mandatory attribute without a default, by a version in between")
  func mandatory() throws {
    let test = try Shop.filled()
    let refused = try fails(.mappingRequired, test, MigrationOptions(versions: Shop.versions))
    #expect(refused?.underlyingError == nil)
    #expect(refused?.entity == "Book" && refused?.property == "isbn")
    test.store.close()
    let options = self.options(Shop.numbering)
    let plan = try test.planMigration(to: Shop.fourth, migration: options)
    #expect(plan.isPossible)
    #expect(plan.steps.map(\.to) == ["2", "4"] && plan.steps.map(\.stage) == ["numbering", nil])
    let report = try test.migrate(to: Shop.fourth, migration: options)
    #expect(report.versions == ["1", "2", "4"] && report.stages == ["numbering"])
    try test.reopen()
    try checked(test.store)
    try test.store.read { tx in
      let books = try tx.fetch(FetchRequest("Book"))
      #expect(books.count == 40)
      #expect(books.allSatisfy { $0["isbn"] == .string("isbn \($0.id.serial)") })
      #expect(books.allSatisfy { $0["price"] == .integer(Int64($0.id.serial)) })
      #expect(try tx.fetch(FetchRequest("Shelf")).map { $0["total"] } == [40, 39])
    }
    let snapshot = try test.store.snapshot(named: try #require(report.snapshot))
    let prices = try snapshot.read { tx in try tx.fetch(FetchRequest("Book")).map { $0["price"] } }
    let expected = (Int64(1)...40).map { AttributeValue.integer($0) }
    #expect(prices == expected)
    try test.store.deleteSnapshots(named: try test.store.snapshots().map(\.name))
    try test.store.expectNoPreviousStates()
    try checked(test.store)
  }

  @Test("an object that a handler has left without a value is named, and nothing has happened")
  func unfilled() throws {
    let test = try Shop.filled()
    let stage = CustomMigrationStage(
      migratingFrom: "1", to: "2",
      didMigrate: { manager in
        try manager.forEachObject(of: "Book") { tx, id in
          if id.serial != 8 { try tx.set(id, "isbn", .string("\(id.serial)")) }
        }
      })
    let error = try fails(.mappingRequired, test, options(stage))
    #expect(error?.object == "Comic/8" && error?.property == "isbn", "\(error?.message ?? "")")
    // The same in a handler before the step itself; and in one that deletes the object instead.
    let later = CustomMigrationStage(
      migratingFrom: "2", to: "3",
      willMigrate: { manager in
        let rest = try manager.read { tx in
          try tx.fetchIDs(FetchRequest("Book", predicate: try QueryPredicate(format: "isbn == nil")))
        }
        try manager.write { tx in _ = try tx.delete(rest) }
      })
    test.store.close()
    let report = try test.migrate(to: Shop.third, migration: options(stage, later))
    #expect(report.stages.count == 2)
    try test.reopen()
    #expect(try test.store.info().counts == ["Book": 30, "Comic": 9, "Shelf": 2])
    try checked(test.store)
  }

  @Test("an error of a handler ends everything, and can be had")
  func handlerErrors() throws {
    let test = try Shop.filled(5)
    for isAfter in [false, true] {
      let handler: CustomMigrationStage.Handler = { manager in
        try manager.write { tx in _ = try tx.insert("Shelf", ["name": "new"]) }
        throw Shop.Failure(number: 7)
      }
      let stage = CustomMigrationStage(
        migratingFrom: "2", to: "4", label: "failing", willMigrate: isAfter ? nil : handler,
        didMigrate: isAfter ? handler : nil)
      let error = try fails(.stageFailed, test, options(Shop.numbering, stage))
      #expect(error?.underlyingError as? Shop.Failure == Shop.Failure(number: 7))
      #expect(error?.message.contains("stage failing") == true)
      #expect(error?.message.contains(isAfter ? "didMigrate" : "willMigrate") == true)
    }
    // Errors of the store keep their kind.
    let unknown = CustomMigrationStage(
      migratingFrom: "1", to: "2",
      willMigrate: { manager in
        try manager.forEachObject(of: "Comic") { tx, id in try tx.set(id, "isbn", "of the next version") }
      })
    let error = try fails(.stageFailed, test, options(unknown))
    #expect((error?.underlyingError as? StoreError)?.kind == .unknownProperty && error?.property == "isbn")
    let cancelled = CustomMigrationStage(migratingFrom: "1", to: "2", didMigrate: { _ in throw CancellationError() })
    #expect(try fails(.cancelled, test, options(cancelled))?.underlyingError is CancellationError)
    // A partial failure cannot be ignored.
    let careless = CustomMigrationStage(
      migratingFrom: "1", to: "2",
      didMigrate: { manager in
        let book = try manager.read { tx in try tx.objectID(named: "Book/1") }
        try? manager.write { tx in
          try tx.setData(book, "cover") { writer in
            try writer.append(Data(repeating: 1, count: 3_000_000))
            throw Shop.Failure(number: 1)
          }
        }
      })
    let aborted = try fails(.stageFailed, test, options(careless))?.underlyingError as? StoreError
    #expect(aborted?.kind == .transactionAborted)
  }

  @Test("what handlers leave is validated by the version that they worked with")
  func validation() throws {
    let test = try Shop.filled(8)
    let same = CustomMigrationStage(
      migratingFrom: "2", to: "3", label: "same",
      didMigrate: { manager in
        try manager.forEachObject(of: "Book") { tx, id in try tx.set(id, "isbn", "1") }
      })
    let error = try fails(.invalidObject, test, options(Shop.numbering, same))
    let issues = (error?.underlyingError as? ValidationError)?.issues
    #expect(issues?.count == 8 && issues?.allSatisfy { $0.kind == .uniquenessConflict } == true)
    #expect(error?.message.contains("stage same") == true)
    // A merge policy of the store resolves them.
    let merging = CustomMigrationStage(
      migratingFrom: "2", to: "3",
      didMigrate: { manager in
        manager.write { tx in tx.mergePolicy = .overwrite }
        try manager.write { tx in _ = try tx.insert("Book", ["isbn": "isbn 3", "title": "newer"]) }
      })
    test.store.close()
    try test.migrate(to: Shop.third, migration: options(Shop.numbering, merging))
    try test.reopen()
    let request = FetchRequest("Book", predicate: try QueryPredicate(format: "isbn == 'isbn 3'"))
    #expect(try test.store.read { tx in try tx.fetch(request).map { $0["title"] } } == ["newer"])
    try checked(test.store)
  }

  @Test("each object is visited once, whatever is changed in between")
  func passing() throws {
    let test = try Shop.filled(3_000)
    let seen = Mutex<[UInt64]>([])
    let stage = CustomMigrationStage(
      migratingFrom: "1", to: "2",
      willMigrate: { manager in
        try manager.forEachObject(of: "Item", where: try QueryPredicate(format: "title != 'Title 5'")) { tx, id in
          seen.withLock { $0.append(id.serial) }
          if id.serial % 2 == 1 { try tx.insert("Book", ["title": "made"]) }
          // Its neighbour, before it is reached, and an object of the next batch.
          if id.serial % 10 == 2 { _ = try tx.delete([ObjectID(rootCode: id.rootCode, serial: id.serial + 1)]) }
          if id.serial == 1 { _ = try tx.delete([ObjectID(rootCode: id.rootCode, serial: 2_500)]) }
        }
        let comics = try manager.read { tx in try tx.count(entity: "Comic") }
        var count = 0
        try manager.forEachObject(of: "Book", includesSubentities: false) { tx, _ in count += 1 }
        let all = try manager.read { tx in try tx.count(entity: "Book") }
        guard count == all - comics else { throw Shop.Failure(number: count) }
      })
    test.store.close()
    try test.migrate(to: Shop.second, migration: options(stage))
    let gone: Set<UInt64> = [5, 2_500]
    let expected = (UInt64(1)...3_000).filter { (serial: UInt64) -> Bool in serial % 10 != 3 && !gone.contains(serial) }
    #expect(seen.withLock { $0 } == expected)
    try test.reopen()
    let made = expected.count { $0 % 2 == 1 }
    #expect(try test.store.read { tx in try tx.count(entity: "Book") } == 3_000 - 301 + made)
    try checked(test.store)
  }

  @Test("progress is reported, and a handler is cancelled between objects")
  func progress() throws {
    let test = try Shop.filled(3_000)
    let phases = Mutex<[String]>([])
    let options = options(Shop.numbering, snapshot: false)
    func run(_ cancellation: Cancellation? = nil, when limit: Int = .max) throws(StoreError) {
      try test.migrate(
        to: Shop.third, migration: options,
        progress: { progress in
          phases.withLock { $0.append("\(progress.step) \(progress.phase) \(progress.completed)") }
          if progress.phase == .didMigrate, progress.completed >= limit { cancellation?.cancel() }
        }, cancellation: cancellation)
    }
    test.store.close()
    expectError(.cancelled) { try run(Cancellation(), when: 1024) }
    #expect(phases.withLock { $0.last } == "0 didMigrate 1024")
    phases.withLock { $0.removeAll() }
    try run()
    let told = phases.withLock { $0 }
    #expect(Array(told.prefix(5)) == ["0", "1024", "2048", "3000"].map { "0 didMigrate \($0)" } + ["1 index 0"])
    try test.reopen()
    try checked(test.store)
  }

  @Test("what handlers change is in the history, what steps do is not")
  func history() throws {
    var tracking = StoreOptions()
    tracking.tracksHistory = true
    tracking.author = "migrator"
    let test = try Shop.filled(4, options: tracking)
    let token = try test.store.currentToken()
    test.store.close()
    let stage = CustomMigrationStage(
      migratingFrom: "2", to: "3",
      willMigrate: { manager in
        try manager.write { tx in
          _ = try tx.delete([try tx.objectID(named: "Book/1")])
          let shelf = try tx.insert("Shelf", ["name": "new"])
          let stillborn = try tx.insert("Shelf")
          _ = try tx.delete([stillborn])
          try tx.set(try tx.objectID(named: "Comic/4"), "title", "changed")
          try tx.setToOne(try tx.objectID(named: "Book/2"), "shelf", shelf)
        }
      })
    try test.migrate(
      to: Shop.fourth, migration: options(Shop.numbering, stage), options: tracking)
    try test.reopen(options: tracking)
    try checked(test.store)
    let transactions = try test.store.history(after: token)
    #expect(transactions.count == 1)
    let transaction = try #require(transactions.first)
    #expect(transaction.author == "migrator" && transaction.operation == "migration")
    let commit = try test.store.info().commit
    #expect(transaction.commit == commit)
    let changes = try test.store.read { tx in
      try transaction.changes().map { change in
        switch change {
        case .inserted(let id): "+ \(try tx.name(of: id))"
        case .updated(let id, let properties): "M \(try tx.name(of: id)) \(properties.sorted())"
        case .deleted(let id, let entity, _): "- \(entity)/\(id.serial)"
        }
      }.sorted()
    }
    #expect(changes.contains("+ Shelf/3") && !changes.contains { $0.contains("Shelf/4") })
    #expect(changes.contains("- Book/1") && changes.contains(#"M Comic/4 ["isbn", "title"]"#))
    #expect(changes.contains(#"M Book/2 ["isbn", "shelf"]"#) && changes.contains(#"M Book/3 ["isbn"]"#))
    // Without handlers, nothing is recorded.
    let now = try test.store.currentToken()
    test.store.close()
    try test.migrate(
      to: Shop.fourth.next("5") { $0.rename(entity: "Shelf", to: "Board") }, options: tracking)
    try test.reopen(options: tracking)
    #expect(try test.store.history(after: now).isEmpty)
    try checked(test.store)
  }

  @Test("a mapping model between handlers")
  func mapping() throws {
    let test = try Shop.filled()
    let mapped = Shop.first.next("mapped") { draft in
      draft["Shelf"].attributes.append(AttributeDescription("size", .integer64, optional: false))
    }
    let counts = Mutex<[Int]>([])
    let stage = CustomMigrationStage(
      migratingFrom: "1", to: "mapped",
      willMigrate: { manager in
        try manager.write { tx in _ = try tx.delete([try tx.objectID(named: "Shelf/1")]) }
        counts.withLock { $0.append(0) }
      },
      didMigrate: { manager in
        let ids = try manager.read { tx in try tx.fetchIDs(FetchRequest("Shelf")) }
        counts.withLock { $0.append(ids.count) }
        try manager.write { tx in try tx.set(ids[0], "size", 3) }
      })
    let mapping = MappingModel([
      EntityMapping(from: "Book", to: "Book"), EntityMapping(from: "Comic", to: "Comic"),
      EntityMapping(from: "Shelf", to: "Shelf", attributes: [PropertyMapping("size", .constant(.integer(1)))]),
    ])
    test.store.close()
    let options = MigrationOptions(versions: [Shop.first, mapped], mappings: [mapping], stages: [stage])
    let report = try test.migrate(to: mapped, migration: options)
    #expect(report.createdCount == 41 && counts.withLock { $0 } == [0, 1])
    try test.reopen()
    #expect(try test.store.read { tx in try tx.fetch(FetchRequest("Shelf")).map { $0["size"] } } == [3])
    try checked(test.store)
  }

  @Test("opening a store with another version runs the stages, too")
  func automatic() throws {
    let test = try Shop.filled()
    var options = StoreOptions()
    options.automaticMigration = self.options(Shop.numbering)
    try test.reopen(model: Shop.third, options: options)
    #expect(try test.store.read { tx in try tx.fetch(FetchRequest("Comic")).first?["isbn"] } == "isbn 4")
    try checked(test.store)
  }
}
