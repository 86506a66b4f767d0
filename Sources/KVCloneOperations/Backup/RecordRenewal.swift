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

/// Brings the records of a copy that nobody knows of yet to the layouts of the store's present model: those that have not been
/// written since the store was migrated.
///
/// What a snapshot of an earlier version shows stays as it is: its bytes would have to be kept twice.
struct RecordRenewal: ~Copyable {
  /// Records that a transaction writes at most, so that memory stays flat.
  private static let batchCount = 16_384

  private let engine: LMDBEngine
  private let schema: Schema
  private let storeUUID: UUID
  private let run: BackupRun
  /// Of the snapshots that were made by an earlier version, the youngest.
  private let horizon: SnapshotHorizon?
  private let hasSnapshots: Bool
  private var chains: [UInt16: RecordChain] = [:]
  private(set) var renewedCount: UInt64 = 0
  /// Records that stay in an earlier layout.
  private(set) var keptCount: UInt64 = 0

  /// - Parameter path: what errors call the store.
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

  /// Does it for all entities.
  mutating func renew() throws(StoreError) {
    for rootCode in schema.rootCodes {
      var next: ObjectID? = ObjectID(rootCode: rootCode, serial: 0)
      while let start = next {
        try run.check()
        next = try renew(from: start)
      }
    }
  }

  /// Renews some records in a transaction; where to go on.
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

  /// Whether a snapshot of an earlier version reads the very record: nothing was saved for it instead.
  private borrowing func isShown(_ id: ObjectID, _ session: borrowing Session) throws(StoreError) -> Bool {
    guard let horizon, horizon.sees(id) else { return false }
    let states = SavedStates(session.storage.backend, schema.tables.preimages, epoch: horizon.epoch)
    let key = ShortKey.object(id)
    guard case .unchanged = try states.state(of: .objects(rootCode: id.rootCode), unsafePointers(key.bytes)) else {
      return false
    }
    return true
  }
}

extension Schema {
  /// Whether a record was written before the store had this version of the model, and is read by an earlier layout.
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
