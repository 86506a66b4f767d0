#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVClone
public import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

extension ObjectStore {
  /// Checks the integrity of the open store: all pages, records, links, lists, counts, index entries, counters, the
  /// history and the model.
  ///
  /// The check reads one snapshot. Readers and writers of this and other processes continue. The duration is linear in
  /// the size of the store. Memory use is 8 MiB of pages, 2 bits per page of the file, 12 bytes per blob (24 if
  /// snapshots need it too), and the issues. The file is read without mapping it, so corruption cannot crash the
  /// process. The check continues after an issue and reports up to ``CheckOptions/maximumIssues``. A failed read is
  /// reported even if a later read succeeds.
  ///
  /// A violation of a model rule, such as a nil value of a required attribute, is not an issue. Commits check these
  /// rules.
  ///
  /// - Parameter options: what is read, and when the check stops.
  /// - Returns: the issues and the number of objects and pages.
  /// - Throws: errors that prevent reading the file: `closed`, `forked`, `readersFull`, `io`. Never `corrupted`.
  public func check(_ options: CheckOptions = CheckOptions()) throws(StoreError) -> CheckReport {
    try check(options, PageRefusals())
  }

  /// - Parameter refusals: what was refused before.
  private func check(_ options: CheckOptions, _ refusals: PageRefusals) throws(StoreError) -> CheckReport {
    guard let environment = engine.files?.environment else { return try checkThroughEngine(options) }
    let file = try storeErrors { () throws(LMDBError) in try PageFile(pinning: environment, refusals: refusals) }
    return try CheckPasses(file, options) { (map) throws(StoreError) in try Self.check(file, map, run(options)) }.report
  }

  /// A run that knows what the open store does.
  private func run(_ options: CheckOptions) -> CheckRun {
    let run = CheckRun(schema: schema, options: options)
    run.expectedUUID = uuid
    run.isNewerFormat = formatVersion > FormatLimits.formatVersion
    return run
  }

  /// Checks the integrity of a store that is not open, even if it can no longer be opened; see ``check(_:)``.
  ///
  /// Without a writer in another process, the file is only read. With a permanent writer, the check opens the store,
  /// or, if that is unsafe, blocks writers.
  ///
  /// - Parameters:
  ///   - path: the directory of the store.
  ///   - options: what is read, and when the check stops.
  /// - Returns: the issues and the number of objects and pages.
  /// - Throws: `storeNotFound`; `invalidStore` (an intact LMDB file of another program, a link, or files with other
  ///   owners or modes); `newerFormat`; `olderFormat`; `alreadyOpen` (in this process; use ``check(_:)`` of the open
  ///   store); `busy`; `io`. Never `corrupted`.
  public static func check(at path: String, options: CheckOptions = CheckOptions()) throws(StoreError) -> CheckReport {
    // What one attempt was refused, the next one's report tells as well.
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
    // LMDB may have it: a reader keeps its pages as they are.
    var opening = StoreOptions()
    opening.isReadOnly = true
    let store = try open(at: path, options: opening)
    defer { store.close() }
    return try store.check(options, refusals)
  }

  /// Everything that the file alone tells.
  static func check(_ file: PageFile, _ map: PageMap, _ options: CheckOptions, _ path: String)
    throws(StoreError) -> CheckReport
  {
    let engine = PageFileEngine(file, map)
    var format: FormatRecord?
    var schema: Schema?
    if file.meta != nil {
      do throws(StoreError) {
        format = try readFormat(engine, path)
      } catch {
        guard isDamage(error, map) else { throw error }
      }
      do throws(StoreError) {
        schema = try readSchema(engine)
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

  /// Whether an error is for the report. What is no store of ours, and sound, is nothing to check.
  private static func isDamage(_ error: StoreError, _ map: PageMap) -> Bool {
    error.kind == .corrupted || error.kind == .invalidStore && !map.findings.isEmpty
  }

  static func check(_ file: PageFile, _ map: PageMap, _ run: CheckRun) throws(StoreError) -> CheckReport {
    let expected = TableCode.fixed + run.schema.rootCodes.map { TableCode.objects(rootCode: $0) }
    run.begin([], lost: LostKeys(map, expected: expected))
    run.take(map)
    // Where not all pages were walked, the others may lead in circles.
    if run.isFull || map.isTruncated || file.meta == nil {
      return run.report(pageCount: map.pageCount, isTruncated: map.isTruncated)
    }
    let engine = PageFileEngine(file, map, skipsData: !run.options.readData)
    let pages = try engine.beginReading()
    run.begin(TableCode.history.map { StorageTable(code: $0, handle: 0) }, pages, lost: run.lost)
    for code in expected where map.table(code.name ?? "") == nil && !map.isTableListDamaged {
      run.report(.table, "the file lacks the table \(code.name ?? "")")
    }
    let session = StoreContext(uuid: run.expectedUUID ?? UUID()).session(pages, run.schema)
    try StoreChecker(session).check(run)
    return run.report(pageCount: map.pageCount)
  }

  /// Another engine's tables, which have no pages that we know of.
  private func checkThroughEngine(_ options: CheckOptions) throws(StoreError) -> CheckReport {
    let run = run(options)
    var history: [StorageTable] = []
    for code in TableCode.history {
      if let table = try? engine.openTables([code], create: false).first { history.append(table) }
    }
    run.begin(history)
    let session = try readSession()
    try StoreChecker(session).check(run)
    return run.report(pageCount: try engine.facts().pageCount)
  }

  /// What a file says of itself.
  static func readFormat(_ engine: PageFileEngine, _ path: String) throws(StoreError) -> FormatRecord {
    guard let metadata = try engine.openTables([.metadata], create: false).first else {
      throw StoreError(.invalidStore, "\(path) is not a store of this library")
    }
    let storage = StorageTransaction(try engine.beginReading())
    guard let format = try Metadata.format(storage, metadata) else {
      // Lost from a store of ours, if there is anything else that only such a store has.
      let kind: StoreError.Kind =
        try Metadata.counter(storage, metadata, MetadataKey.catalog) == 0 ? .invalidStore : .corrupted
      throw StoreError(kind, "\(path) is an LMDB file, but not a store of this library")
    }
    try format.requireReadable(at: path)
    return format
  }

  /// The schema that a file describes.
  private static func readSchema(_ engine: PageFileEngine) throws(StoreError) -> Schema {
    let tables = try engine.openTables([.metadata], create: false)
    let catalog = try StoreCatalog(StorageTransaction(try engine.beginReading()), tables[0])
    return try Schema(catalog, tables: SchemaTables(rootCodes: catalog.allRootCodes))
  }
}

extension Schema {
  /// Of a store whose model cannot be read.
  static func unknown() throws(StoreError) -> Schema {
    try Schema(
      model: ManagedObjectModel(name: "", entities: []), codes: .empty, layouts: [],
      tables: SchemaTables(rootCodes: []))
  }
}

extension TableCode {
  /// Tables that hold neither objects nor what belongs to them.
  static let history: [TableCode] = [.changes, .preimages, .snapshots, .provenance, .operations, .redirects]
}
