#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVClone
import KVCloneBranches
import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// Checks the data file of a store without opening the store.
enum FileCheck {
  /// Checks a store that is not open.
  static func check(_ path: String, _ options: CheckOptions) throws(StoreError) -> CheckReport {
    // The next attempt's report also contains what an earlier attempt could not read.
    let refusals = PageRefusals()
    var last: CheckPasses?
    for timeout: Duration? in [nil, .seconds(1), .seconds(5)] where last?.isFileSound != true {
      let file = try storeErrors { () throws(LMDBError) in
        try PageFile(at: path, lockTimeout: timeout, refusals: refusals)
      }
      let passes = try CheckPasses(file, options) { (map) throws(StoreError) in try check(file, map, options, path) }
      if file.isStillCurrent { return passes.report }
      last = passes
    }
    if let last, !last.isFileSound { throw last.error(path) }
    // A writer keeps replacing the state of the file. Opened through LMDB, a reader retains its pages.
    var opening = StoreOptions()
    opening.isReadOnly = true
    let store = try ObjectStore.open(at: path, options: opening)
    defer { store.close() }
    return try StoreCheck(store).check(options, refusals)
  }

  /// Checks everything that the file alone allows.
  static func check(_ file: PageFile, _ map: PageMap, _ options: CheckOptions, _ path: String)
    throws(StoreError) -> CheckReport
  {
    let engine = PageFileEngine(file, map)
    var format: FormatRecord?
    var schema: Schema?
    if file.meta != nil {
      do throws(StoreError) {
        format = try engine.format(path)
      } catch {
        guard isDamage(error, map) else { throw error }
      }
      do throws(StoreError) {
        schema = try engine.schema()
      } catch {
        guard isDamage(error, map) else { throw error }
      }
    }
    let known: Schema
    if let schema { known = schema } else { known = try .unknown() }
    let run = CheckRun(schema: known, options: options)
    run.expectedUUID = format?.storeUUID
    run.isNewerFormat = (format?.version ?? 0) > FormatLimits.formatVersion
    return try check(file, map, run)
  }

  /// Returns whether an error belongs in the report. A sound file that is not a store cannot be checked.
  private static func isDamage(_ error: StoreError, _ map: PageMap) -> Bool {
    error.kind == .corrupted || error.kind == .invalidStore && !map.findings.isEmpty
  }

  static func check(_ file: PageFile, _ map: PageMap, _ run: CheckRun) throws(StoreError) -> CheckReport {
    let expected = TableCode.fixed + run.schema.rootCodes.map { TableCode.objects(rootCode: $0) }
    run.begin([], lost: LostKeys(map, expected: expected))
    run.take(map)
    // If not all pages were walked, the others may contain cycles.
    if run.isFull || map.isTruncated || file.meta == nil {
      return run.report(pageCount: map.pageCount, isTruncated: map.isTruncated)
    }
    let engine = PageFileEngine(file, map, skipsData: !run.options.readData)
    let pages = try engine.beginReading()
    let session = StoreContext(uuid: run.expectedUUID ?? UUID()).session(pages, run.schema)
    let hadBranches = ((try? session.counter(MetadataKey.layer)) ?? 0) > 0
    let hasBranches = TableCode.ofBranches.allSatisfy { map.table($0.name ?? "") != nil }
    run.begin(
      TableCode.history.map { StorageTable(code: $0, handle: 0) },
      hasBranches ? BranchTables(of: run.schema.tables) { StorageTable(code: $0, handle: 0) } : nil, pages,
      lost: run.lost)
    for code in expected + (hadBranches ? TableCode.ofBranches : [])
    where map.table(code.name ?? "") == nil && !map.isTableListDamaged {
      run.report(.table, "the file lacks the table \(code.name ?? "")")
    }
    try StoreChecker(session).check(run)
    return run.report(pageCount: map.pageCount)
  }
}

extension PageFileEngine {
  /// Reads the format record of a file.
  func format(_ path: String) throws(StoreError) -> FormatRecord {
    guard let metadata = try openTables([.metadata], create: false).first else {
      throw StoreError(.invalidStore, "\(path) is not a store of this library")
    }
    let storage = StorageTransaction(try beginReading())
    guard let format = try Metadata.format(storage, metadata) else {
      // The record is missing from a store if other tables exist that only a store has.
      let kind: StoreError.Kind =
        try Metadata.counter(storage, metadata, MetadataKey.catalog) == 0 ? .invalidStore : .corrupted
      throw StoreError(kind, "\(path) is an LMDB file, but not a store of this library")
    }
    try format.requireReadable(at: path)
    return format
  }

  /// Returns the schema that a file describes.
  fileprivate func schema() throws(StoreError) -> Schema {
    let tables = try openTables([.metadata], create: false)
    let catalog = try StoreCatalog(StorageTransaction(try beginReading()), tables[0])
    return try Schema(catalog, tables: SchemaTables(rootCodes: catalog.allRootCodes))
  }
}

extension Schema {
  /// Returns the schema for a store with an unreadable model.
  static func unknown() throws(StoreError) -> Schema {
    try Schema(
      model: ManagedObjectModel(name: "", entities: []), codes: .empty, layouts: [],
      tables: SchemaTables(rootCodes: []))
  }
}

extension TableCode {
  /// Tables without objects and their data.
  static let history: [TableCode] = [.changes, .preimages, .snapshots, .provenance, .operations, .redirects]
}
