#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneLMDB
public import KVCloneModel
import KVCloneRecords

extension ObjectStore {
  /// Makes the first opening of a store quicker, in a program that has no second thread yet.
  package static func prepareProcess() { LMDBLibrary.prepareProcess() }

  /// Makes a store: a directory with mode 0700, complete and synced before it gets its name, or not there at all.
  ///
  /// - Throws: `storeExists`, `invalidModel` (with what is wrong with it), and what the file system has to say.
  public static func create(at path: String, model: ManagedObjectModel, options: StoreOptions = StoreOptions())
    throws(StoreError) -> ObjectStore
  {
    let warnings: [ModelWarning]
    do {
      warnings = try model.validate()
    } catch {
      throw StoreError(.invalidModel, "\(error)")
    }
    // What no object can be saved with is found out late otherwise.
    for warning in warnings where warning.kind.isContradiction { options.logger?.warning("model: \(warning)") }
    let catalog = try StoreCatalog(new: model)
    let entries = try catalog.entries(uuid: UUID(), created: Date())
    let environment: LMDBEnvironment
    do {
      environment = try LMDBEnvironment.create(
        at: path, tables: catalog.tableCodes.compactMap(\.name), options: options.lmdb
      ) { transaction in
        let metadata = try transaction.environment.table(named: TableCode.metadata.name ?? "")
        for (key, value) in entries { try transaction.put(metadata, key.span.bytes, value.span.bytes) }
      }
    } catch let error as LMDBError {
      throw StoreError(error)
    } catch {
      throw StoreError(.io, "the store at \(path) could not be made: \(error)")
    }
    return try adopt(environment, path: path, model: nil, options: options)
  }

  /// Opens a store.
  ///
  /// - Parameters:
  ///   - path: the store's directory.
  ///   - model: nil opens what is there with the model it holds. With a model, a store that is not there is made,
  ///     and one that is there has to hold objects of this model: one with the same hash. What the hash leaves out (userInfo,
  ///     defaults, bounds, the order of declarations) is taken from the model given, and kept. A store of another version is
  ///     migrated if ``StoreOptions/automaticMigration`` says so.
  ///   - options: how to open it.
  /// - Throws: `noStore`, `incompatibleModel`, `newerFormat`, `olderFormat`, `notAStore`, `alreadyOpen`, `damaged`, and
  ///   what the file system has to say.
  public static func open(at path: String, model: ManagedObjectModel? = nil, options: StoreOptions = StoreOptions())
    throws(StoreError) -> ObjectStore
  {
    if options.verifiesPagesAtOpen { try verifyPages(at: path) }
    let environment: LMDBEnvironment
    do throws(LMDBError) {
      environment = try LMDBEnvironment.open(at: path, options: options.lmdb)
    } catch {
      if case .storeNotFound = error, let model { return try create(at: path, model: model, options: options) }
      throw StoreError(error)
    }
    return try adopt(environment, path: path, model: model, options: options)
  }

  /// Makes a store of an open environment, which is closed again where it turns out to be none.
  private static func adopt(
    _ environment: LMDBEnvironment, path: String, model: ManagedObjectModel?, options: StoreOptions
  ) throws(StoreError) -> ObjectStore {
    do throws(StoreError) {
      if environment.isShorterThanLastPage { try verifyPages(of: environment, path: path) }
      let store = try read(environment, path: path, model: model, options: options)
      store.sweepStaged()
      try store.buildDerivedValues()
      return store
    } catch {
      environment.close()
      throw error
    }
  }

  private static func read(
    _ environment: LMDBEnvironment, path: String, model: ManagedObjectModel?, options: StoreOptions
  ) throws(StoreError) -> ObjectStore {
    logFindings(environment, options)
    return try assemble(LMDBEngine(environment), path: path, model: model, options: options)
  }

  /// Makes a store of an engine that holds one, whatever engine it is.
  static func assemble(
    _ engine: any StorageEngine, path: String, model: ManagedObjectModel?, options: StoreOptions
  ) throws(StoreError) -> ObjectStore {
    guard let metadata = try engine.openTables([.metadata], create: false).first else {
      throw StoreError(.invalidStore, "\(path) is no store of this library")
    }
    let storage = StorageTransaction(try engine.beginRead())
    guard let format = try Metadata.format(storage, metadata) else {
      throw StoreError(.invalidStore, "\(path) is an LMDB file, but no store of this library")
    }
    try format.requireReadable(at: path)
    var catalog = try StoreCatalog(storage, metadata)
    _ = consume storage
    if let model, catalog.needsMigration(to: model) {
      guard let migration = options.automaticMigration, !options.isReadOnly else {
        throw incompatible(catalog.model, model, path)
      }
      _ = try migrate(engine, path: path, to: model, migration, options)
      catalog = try StoreCatalog(StorageTransaction(try engine.beginRead()), metadata)
    }
    let stored = catalog
    if let model, model != catalog.model { catalog = try catalog.adopting(model) }
    let tables = try openTables(engine, metadata, catalog)
    if !options.isReadOnly {
      catalog = try update(catalog, replacing: stored, engine, tables, format, options)
    }
    let schema = try Schema(catalog, tables: tables, transformers: options.transformers)
    // Errors so far named the path that was given; the store's own outlives a change of the working directory.
    let store = ObjectStore(
      path: (engine as? LMDBEngine)?.environment.directory ?? path, uuid: format.storeUUID, options: options,
      engine: engine, schema: schema,
      formatVersion: format.version)
    if let tracksHistory = options.tracksHistory, !options.isReadOnly { try store.turnHistory(on: tracksHistory) }
    return store
  }

  /// The error for a store that holds another version of a model, with what differs.
  private static func incompatible(_ held: ManagedObjectModel, _ given: ManagedObjectModel, _ path: String)
    -> StoreError
  {
    let difference = ModelDifference(from: held, to: given)
    let real = difference.changes.filter { $0.work != .none }
    let told = real.prefix(10).map(\.description).joined(separator: "; ")
    let more = real.count > 10 ? "; and \(real.count - 10) more" : ""
    let advice =
      difference.refusals.isEmpty
      ? "migrate it (StoreOptions.automaticMigration, or kvclone migrate)"
      : "no migration can be inferred for all of them (kvclone migrate --plan tells why)"
    return StoreError(
      .incompatibleModel,
      "the store at \(path) holds another version of the model, \(held.versionIdentifier) and not "
        + "\(given.versionIdentifier): \(told)\(more); \(advice), or open it with the version that it holds",
      entity: real.first?.entity, property: real.first?.property)
  }

  /// Tells the operator what is odd about the library or the file, and yet no reason to refuse it.
  private static func logFindings(_ environment: LMDBEnvironment, _ options: StoreOptions) {
    guard let logger = options.logger else { return }
    if LMDBLibrary.destroysMutexes {
      // Processes that use this library are safe from each other.
      logger.notice(
        """
        LMDB \(LMDBLibrary.version) destroys the mutexes of lock.mdb when mdb_stat or another plain LMDB program \
        closes the store (ITS#10095): run these only while no process opens the store, or install another release than 0.9.26 \
        to 0.9.31
        """)
    }
    if !options.isReadOnly, options.spillBudget > 0, !environment.isSpillSupported {
      logger.warning("this LMDB cannot spill on demand: a large write transaction will hold its pages in memory")
    }
    if environment.readsWithoutLock {
      logger.warning(
        "opened read-only without a lock file: safe only while nobody writes the file through another mount")
    }
  }

  static func openTables(_ engine: any StorageEngine, _ metadata: StorageTable, _ catalog: StoreCatalog)
    throws(StoreError) -> SchemaTables
  {
    let tables = try engine.openTables(catalog.tableCodes, create: false)
    let byCode = Dictionary(tables.map { ($0.code, $0) }, uniquingKeysWith: { first, _ in first })
    func table(_ code: TableCode) -> StorageTable { byCode[code] ?? metadata }
    return SchemaTables(
      metadata: table(.metadata), links: table(.links), blobs: table(.blobs), blobinfo: table(.blobInfo),
      indexes: table(.indexes), changes: table(.changes), preimages: table(.preimages),
      snapshots: table(.snapshots), provenance: table(.provenance), operations: table(.operations),
      redirects: table(.redirects),
      objects: Dictionary(
        catalog.allRootCodes.map { ($0, table(.objects(rootCode: $0))) }, uniquingKeysWith: { first, _ in first }))
  }

  /// Cheap facts. Objects are counted by their headers.
  public func info() throws(StoreError) -> StoreInfo {
    let session = try readSession()
    var counts: [String: Int] = [:]
    for entity in schema.entities where !entity.isAbstract { counts[entity.name] = 0 }
    for rootCode in schema.rootCodes {
      for (code, count) in try session.counts(rootCode: rootCode) {
        counts[schema.entity(code: code)?.name ?? "", default: 0] += count
      }
    }
    // The first snapshot, index or migration raises it, in another process too.
    let format = try Metadata.format(session.storage, schema.tables.metadata)
    return StoreInfo(
      uuid: uuid, formatVersion: Int(format?.version ?? formatVersion), modelName: model.name,
      modelVersion: model.versionIdentifier, modelHash: model.modelHash.hex, objectCount: counts.values.reduce(0, +),
      counts: counts, fileBytes: try engine.facts().fileBytes,
      commit: try session.counter(MetadataKey.commitCounter),
      snapshotCount: try session.countEntries(schema.tables.snapshots))
  }
}

extension StoreOptions {
  var lmdb: LMDBOptions {
    var options = LMDBOptions()
    options.isReadOnly = isReadOnly
    options.maximumReaders = maximumReaders
    options.keepsDeadReaders = keepsStaleReaders
    options.spillBudget = spillBudget
    options.isReadAheadOff = !usesReadAhead
    options.usesCopyOnWrite = usesBtrfsCopyOnWrite
    options.walSizeLimit = journalMode == .writeAheadLog ? walSizeLimit : nil
    options.maximumFileBytes = maximumFileBytes.map { Int(clamping: $0) }
    return options
  }
}
