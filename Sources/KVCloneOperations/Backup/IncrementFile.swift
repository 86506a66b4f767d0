import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The file of an incremental backup; its pages and values have been verified.
struct IncrementFile {
  let path: String
  let file: PageFile
  let map: PageMap
  let engine: PageFileEngine
  let format: FormatRecord
  let value: IncrementValue
  /// The store's tables in the incremental backup.
  let tables: [StorageTable]

  /// - Parameter name: the name in errors.
  /// - Throws: `brokenChain` if it is not an incremental backup, `corrupted`, `newerFormat`, `cancelled` …
  init(at path: String, named name: String? = nil, _ run: BackupRun) throws(StoreError) {
    let file = try storeErrors { () throws(LMDBError) in try PageFile(at: path, watch: run.watch()) }
    try self.init(file, path: name ?? path, run)
  }

  init(_ file: PageFile, path: String, _ run: BackupRun) throws(StoreError) {
    self.path = path
    self.file = file
    map = try storeErrors { () throws(LMDBError) in try file.walk(maximumFindings: 10) }
    try run.check()
    try run.requireCurrent(file, path)
    if let finding = map.findings.first {
      throw Self.corrupted(path, StoreError(PageError(page: finding.page, problem: finding.problem)).message)
    }
    engine = PageFileEngine(file, map)
    guard let format = try Self.format(engine, map) else {
      throw StoreError(.invalidStore, "\(path) is neither a store of this library nor an incremental backup")
    }
    self.format = format.ofStore
    guard format.isIncrement else {
      throw StoreError(
        .brokenChain,
        "\(path) is a full backup, not an incremental one; give the full backup first, and then incremental "
          + "backups in the order of their creation")
    }
    try self.format.requireReadable(at: path)
    let storage = StorageTransaction(try engine.beginReading())
    let metadata = StorageTable(code: .metadata, handle: 0)
    guard let value = try Metadata.get(storage, metadata, MetadataKey.increment, as: IncrementValue.self) else {
      throw Self.corrupted(path, "its header is missing")
    }
    self.value = value
    tables = value.counts.map { StorageTable(code: $0.table, handle: 0) }
    let expected = Set(tables.map { $0.code.name ?? "" } + [TableCode.deletions.name ?? ""])
    if Set(map.tables.map(\.name)) != expected { throw Self.corrupted(path, "its tables differ from its header") }
    let all = tables + [StorageTable(code: .deletions, handle: 0)]
    try run.reading(file, path) { () throws(StoreError) in try Self.verify(storage, all, path, run) }
  }

  /// The format record of a file; nil if it is not a file of this project.
  private static func format(_ engine: PageFileEngine, _ map: PageMap) throws(StoreError) -> FormatRecord? {
    guard map.table(TableCode.metadata.name ?? "") != nil else { return nil }
    return try Metadata.format(
      StorageTransaction(try engine.beginReading()), StorageTable(code: .metadata, handle: 0))
  }

  /// Whether a file is an incremental backup, by its format alone.
  static func isOne(_ file: PageFile) -> Bool {
    guard file.meta != nil, let map = try? file.tableMap(),
      let format = try? format(PageFileEngine(file, map), map)
    else { return false }
    return format.isIncrement
  }

  /// Verifies that the checksum of every value matches its key and table.
  private static func verify(
    _ storage: borrowing StorageTransaction, _ tables: [StorageTable], _ path: String, _ run: BackupRun
  ) throws(StoreError) {
    let format = MetadataKey.bytes(MetadataKey.format)
    let least: [UInt8] = [0]
    for table in tables {
      try storage.scanToEnd(of: table, from: least.span.bytes) { (key, value) throws(StoreError) in
        let seed = ValueEnvelope.seed(tableCode: table.code, key: copy key)
        if !ValueEnvelope.isIntact(copy value, seed: seed) {
          // The format record has a checksum of another kind, which was verified before.
          let isFormat = table.code == .metadata && key.withUnsafeBytes { $0.elementsEqual(format) }
          if !isFormat {
            throw corrupted(path, "an entry of the table \(table.code.name ?? "") has an invalid checksum")
          }
        }
        return true
      }
      try run.check()
    }
  }

  static func corrupted(_ path: String, _ what: String) -> StoreError {
    StoreError(.corrupted, "the incremental backup at \(path) is corrupted: \(what); nothing was restored")
  }

  /// The schema of the incremental backup's end state.
  func schema(_ tables: SchemaTables) throws(StoreError) -> Schema {
    let storage = StorageTransaction(try engine.beginReading())
    return try Schema(try StoreCatalog(storage, StorageTable(code: .metadata, handle: 0)), tables: tables)
  }
}
