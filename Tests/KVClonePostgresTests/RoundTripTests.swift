#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneOperations
  import KVCloneRecords
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  /// Copies from a directory to a cluster and back: every table is equal, entry for entry.
  ///
  /// `KVCLONE_POSTGRES_ROUNDS=1` generates 20 stores instead of 6. A failure prints the seed, which `KVCLONE_SEEDS`
  /// repeats.
  @Suite(
    "Copies to a cluster and back", .serialized, .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none")
  )
  struct RoundTripTests {
    @Test("generated stores: objects of every type, history, snapshots, deleted objects", arguments: seeds)
    func generated(_ seed: UInt64) throws {
      let place = try RoundTripPlace()
      try place.generate(Self.model(seed), seed: seed)
      try place.roundTrip("seed \(seed)")
    }

    @Test(
      "stores that Core Data has written, imported", .enabled(if: Corpus.root != nil, "\(Corpus.missing)"),
      arguments: corpus)
    func corpusStore(_ path: String) throws {
      let place = try RoundTripPlace()
      try place.importStore(path)
      try place.roundTrip(path)
    }

    static let seeds: [UInt64] = {
      if PropertySeeds.hasGivenSeeds { return PropertySeeds.seeds }
      let isLong = ProcessInfo.processInfo.environment["KVCLONE_POSTGRES_ROUNDS"] != nil
      return (0..<(isLong ? 20 : 6)).map { _ in .random(in: 0 ... .max) }
    }()

    static let corpus: [String] = {
      let folder = (Corpus.root ?? "") + "/stores"
      let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
      return names.filter { $0.hasSuffix(".sqlite") }.sorted().map { folder + "/" + $0 }
        + ["property-proxies.sqlite", "swiftdata.store"].compactMap { Corpus.field($0) }
    }()

    /// One of the models of the tests and of the corpus.
    private static func model(_ seed: UInt64) throws -> ManagedObjectModel {
      let own = [randomModel, CheckFixture.model, MOClonerModel.model]
      let files = Corpus.allContents()
      let number = Int(seed % UInt64(own.count + files.count))
      if number < own.count || seed % 2 == 0 { return own[number % own.count] }
      let file = files[number - own.count]
      return try ManagedObjectModel.load(contentsOf: file.bundle, version: file.version).model
    }
  }

  /// A store in a directory and its copies, all removed after the test.
  private final class RoundTripPlace {
    private let root: String
    private let server: PostgresServer
    private var path: String { root + "/original" }

    init() throws {
      root = try temporaryDirectory()
      server = try PostgresServer(caches: true, isEmpty: true)
    }

    deinit {
      server.drop()
      try? FileManager.default.removeItem(atPath: root)
    }

    func generate(_ model: ManagedObjectModel, seed: UInt64) throws {
      var random = SeededGenerator(seed: seed)
      var options = StoreOptions()
      options.tracksHistory = random.chance(in: 2)
      options.journalMode = random.chance(in: 2) ? .writeAheadLog : .copyOnWrite
      let store = try ObjectStore.create(at: path, model: model, options: options)
      defer { store.close() }
      let made = GraphGenerator.generate(ModelView(model), seed: seed, size: 4 + random.below(30))
      var text = Array(try made.ndjson(model: ModelView(model)).utf8)[...]
      _ = try store.load { buffer in
        defer { text = text.dropFirst(10_000) }
        buffer.append(contentsOf: text.prefix(10_000))
        return !text.isEmpty
      }
      try store.createSnapshot(named: "loaded")
      // Deleted objects leave tombstones and previous states.
      for entity in model.entities where !entity.isAbstract {
        for id in try store.objects(entity.name).shuffled(using: &random).prefix(3) where try store.exists(id) {
          do {
            try store.delete([id])
          } catch let error as StoreError where error.kind == .deleteDenied {
          } catch is ValidationError {
            // Another object needs the deleted one.
          }
        }
      }
      #expect(try store.info().objectCount > 0)
    }

    /// Imports a store of Core Data; with the first version in the corpus that fits, if it does not contain its model.
    func importStore(_ source: String) throws {
      var options = CoreDataImportOptions()
      options.skipsBroken = true
      var models: [ManagedObjectModel?] = [nil]
      let project = URL(fileURLWithPath: source).deletingLastPathComponent().lastPathComponent
      for bundle in Corpus.modelBundles() where bundle.contains("/\(project)/") {
        models += ((try? ManagedObjectModel.loadVersions(contentsOf: bundle)) ?? []).map(\.model)
      }
      for model in models {
        options.model = model
        do {
          let report = try ObjectStore.importCoreData(from: source, to: path, options: options)
          #expect(report.counts.values.reduce(0, +) > 0)
          return
        } catch let error as CoreDataImportError where [.modelMissing, .modelMismatch].contains(error.kind) {}
      }
      Issue.record("no model fits \(source)")
    }

    /// Copies the store to the cluster and from there to another directory, and compares all three.
    func roundTrip(_ what: String) throws {
      let (cluster, name) = (server.cluster, server.name)
      let expected = try Self.image(of: ObjectStore.open(at: path))
      #expect(expected.values.contains { !$0.isEmpty }, "\(what)")
      try cluster.copyStore(at: path, as: name)
      Self.compare(try Self.image(of: cluster.openStore(name)), expected, "in the cluster, \(what)")
      try cluster.copyStore(name, to: root + "/back")
      let back = try ObjectStore.open(at: root + "/back")
      try checked(back)
      Self.compare(try Self.image(of: back), expected, "back, \(what)")
    }

    private static func compare(
      _ found: [TableCode: [MemoryEntry]], _ expected: [TableCode: [MemoryEntry]], _ what: String
    ) {
      #expect(Set(found.keys) == Set(expected.keys), "tables \(what)")
      for (code, entries) in expected {
        #expect(found[code] == entries, "table \(code.rawValue) \(what)")
      }
    }

    /// Returns all entries of a store by table, and closes the store.
    private static func image(of store: ObjectStore) throws -> [TableCode: [MemoryEntry]] {
      defer { store.close() }
      let storage = StorageTransaction(try store.engine.beginRead())
      var image: [TableCode: [MemoryEntry]] = [:]
      for table in store.schema.tables.withRedirects { image[table.code] = try storage.entries(table, from: [0]) }
      return image
    }
  }
#endif
