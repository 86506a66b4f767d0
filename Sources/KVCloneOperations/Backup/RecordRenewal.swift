import KVClone
import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Rewrites the records of an unpublished copy in the layouts of the store's current model: those that have not been
/// written since the store was migrated.
///
/// Records that a snapshot of an earlier version needs stay unchanged: their bytes would have to be kept twice.
struct RecordRenewal: ~Copyable {
  /// The maximum number of records that a transaction writes, so that memory stays flat.
  private static let batchCount = 16_384

  private let engine: LMDBEngine
  private let schema: Schema
  private let storeUUID: UUID
  private let run: BackupRun
  /// The horizon of the youngest snapshot that was created by an earlier version.
  private let horizon: SnapshotHorizon?
  private let hasSnapshots: Bool
  private var chains: [UInt16: RecordChain] = [:]
  private(set) var renewedCount: UInt64 = 0
  /// The number of records that stay in an earlier layout.
  private(set) var keptCount: UInt64 = 0

  /// - Parameter path: the store's name in errors.
  /// - Returns: nil for a store that was never migrated.
  init?(_ environment: LMDBEnvironment, _ path: String, _ run: BackupRun) throws(StoreError) {
    let engine = LMDBEngine(environment)
    guard let metadata = try engine.openTables([.metadata], create: false).first else { return nil }
    let storage = StorageTransaction(try engine.beginRead())
    let format = try Metadata.format(storage, metadata)
    let catalog = try StoreCatalog(storage, metadata)
    _ = consume storage
    guard let format, catalog.codes.former != nil else { return nil }
    let tables = try SchemaTables.open(engine, metadata, catalog)
    let snapshots = try Snapshots.all(StorageTransaction(try engine.beginRead()), tables).map(\.value)
    let earlier = snapshots.filter { UInt64($0.modelNumber) != catalog.number }.max { $0.epoch < $1.epoch }
    let schema = try Schema(catalog, tables: tables)
    self.engine = engine
    self.schema = schema
    storeUUID = format.storeUUID
    self.run = run
    horizon = earlier.map { SnapshotHorizon($0, schema.orderedLists) }
    hasSnapshots = !snapshots.isEmpty
  }

  /// Rewrites the records of all entities.
  mutating func renew() throws(StoreError) {
    for rootCode in schema.rootCodes {
      var next: ObjectID? = ObjectID(rootCode: rootCode, serial: 0)
      while let start = next {
        try run.check()
        next = try renew(from: start)
      }
    }
  }

  /// Rewrites some records in a transaction; returns where to continue.
  private mutating func renew(from start: ObjectID) throws(StoreError) -> ObjectID? {
    guard let table = schema.objectTable(rootCode: start.rootCode) else { return nil }
    var session = StoreContext(uuid: storeUUID, engine: engine).session(
      try engine.beginWrite(label: "compact", timeout: .zero), schema)
    let (schema, run) = (schema, run)
    var found: [ObjectID] = []
    var next: ObjectID?
    let key = ShortKey.object(start)
    try session.storage.scanToEnd(of: table, from: key.bytes) { (key, value) throws(StoreError) in
      let id = try schema.objectID(key)
      if found.count == Self.batchCount {
        next = id
        return false
      }
      run.advance(value.byteCount)
      if try schema.isOfEarlierLayout(copy value, id) { found.append(id) }
      return true
    }
    session.storage.retainCursors(in: [table])
    var spare = RecordBuffer()
    for id in found {
      if try isShown(id, session) {
        keptCount += 1
      } else if try RecordMigrator.renew(id, &session, sparingBlobs: hasSnapshots, &chains, &spare) {
        renewedCount += 1
      } else {
        keptCount += 1
      }
    }
    session.storage.retainCursors(in: [])
    try session.commitStorage()
    return next
  }

  /// Whether a snapshot of an earlier version needs exactly this record: there is no preimage for it.
  private borrowing func isShown(_ id: ObjectID, _ session: borrowing Session) throws(StoreError) -> Bool {
    guard let horizon, horizon.sees(id) else { return false }
    let states = PreimageReader(session.storage.backend, schema.tables.preimages, epoch: horizon.epoch)
    let key = ShortKey.object(id)
    guard case .unchanged = try states.state(of: .objects(rootCode: id.rootCode), unsafePointers(key.bytes)) else {
      return false
    }
    return true
  }
}

extension Schema {
  /// Whether a record is older than this version of the model, and has an earlier layout.
  fileprivate func isOfEarlierLayout(_ bytes: RawSpan, _ id: ObjectID) throws(StoreError) -> Bool {
    do throws(RecordError) {
      let layout = try RecordView.layoutID(of: bytes)
      guard let entity = entity(code: try RecordView.entityCode(of: bytes)) else { return false }
      return layout != entity.layout.id
    } catch {
      throw corrupted(id, error)
    }
  }
}
