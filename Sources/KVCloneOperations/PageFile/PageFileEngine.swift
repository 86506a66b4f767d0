import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

/// A read-only storage engine on a store's file, without LMDB: for `check`, because LMDB maps the file, and a corrupted
/// byte in a map can end the process.
///
/// Bytes have the required lifetime: those of `get` and `seek` live as long as the transaction, or, within a scan's
/// body, until that body returns, which no borrowed value can outlive.
final class PageFileEngine: StorageEngine {
  let file: PageFile
  let map: PageMap
  /// The index of each table in the map, by table code.
  private let tables: [TableCode: Int]
  /// Whether long values of `blobs` are not read, and returned as zero bytes.
  let skipsData: Bool

  init(_ file: PageFile, _ map: PageMap, skipsData: Bool = false) {
    self.file = file
    self.map = map
    self.skipsData = skipsData
    var tables: [TableCode: Int] = [:]
    for (index, table) in map.tables.enumerated() {
      if let code = TableCode(name: table.name) { tables[code] = index }
    }
    self.tables = tables
  }

  /// Opens a missing table, too, if the list of tables is corrupted, as lost.
  func openTables(_ codes: [TableCode], create: Bool) throws(StoreError) -> [StorageTable] {
    var opened: [StorageTable] = []
    for code in codes {
      guard tables[code] != nil || map.isTableListDamaged else {
        throw StoreError(
          .invalidStore, "the file has no table \(code.name ?? ""); it is incomplete, or not a KVClone store")
      }
      opened.append(StorageTable(code: code, handle: 0))
    }
    return opened
  }

  func beginRead() throws(StoreError) -> any StorageBackend { try beginReading() }

  func beginReading() throws(StoreError) -> PageFileBackend {
    let reader = try storeErrors { () throws(LMDBError) in try PageReader(file, map) }
    if skipsData { reader.hollowTable = tables[.blobs] }
    return PageFileBackend(reader, tables)
  }

  func beginWrite(label: String, timeout: Duration, isDryRun: Bool) throws(StoreError) -> any StorageBackend {
    throw StoreError.checkedOnly
  }

  func facts() throws(StoreError) -> StorageFacts {
    StorageFacts(fileBytes: file.byteCount, pageCount: map.pageCount, pageSize: LMDBLimits.pageSize)
  }

  func close() {}
}

/// A read transaction on the file.
final class PageFileBackend: StorageBackend {
  private let reader: PageReader
  /// The indexes of tables, by their codes: the fixed ones, and the objects' by root code.
  private var fixed: [Int]
  private var objects: [Int]
  private static let noTable = -1
  /// The tables in the file.
  let tableCodes: [TableCode]

  init(_ reader: PageReader, _ tables: [TableCode: Int]) {
    self.reader = reader
    tableCodes = tables.keys.sorted { $0.rawValue < $1.rawValue }
    let others = tables.keys.filter { $0.rootCode == nil }
    fixed = Array(repeating: Self.noTable, count: 1 + Int(others.map(\.rawValue).max() ?? 0))
    objects = Array(repeating: Self.noTable, count: 1 + Int(tables.keys.compactMap(\.rootCode).max() ?? 0))
    for (code, index) in tables {
      if let root = code.rootCode { objects[Int(root)] = index } else { fixed[Int(code.rawValue)] = index }
    }
  }

  /// The index of a table; nil for a missing one.
  @inline(__always)
  private func index(_ table: StorageTable) -> Int? {
    let code = Int(table.code.rawValue)
    let index: Int
    if code >= 0x8000 {
      index = code - 0x8000 < objects.count ? objects[code - 0x8000] : Self.noTable
    } else {
      index = code < fixed.count ? fixed[code] : Self.noTable
    }
    return index == Self.noTable ? nil : index
  }

  var nextIndexID: UInt16 { .max }

  func get(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
    guard let index = index(table) else { return nil }
    do throws(PageError) { return try reader.get(index, key) } catch { throw StoreError(error) }
  }

  func seek(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek) throws(StoreError)
    -> StorageEntryPointers?
  {
    guard let index = index(table) else { return nil }
    do throws(PageError) {
      guard let entry = try reader.seek(index, key, atOrBefore: mode == .atOrBefore) else { return nil }
      return StorageEntryPointers(key: entry.key, value: entry.value)
    } catch {
      throw StoreError(error)
    }
  }

  /// Skips what is corrupted: the walk has reported it.
  func scan(
    _ table: StorageTable, from key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    guard let index = index(table) else { return }
    var failure: StoreError?
    do throws(PageError) {
      try reader.scan(index, from: key) { entry in
        do throws(StoreError) {
          return try body(RawSpan(_unsafeBytes: entry.key), RawSpan(_unsafeBytes: entry.value))
        } catch {
          failure = error
          return false
        }
      }
    } catch {
      throw StoreError(error)
    }
    if let failure { throw failure }
  }

  /// The page with a key's value.
  func page(_ table: StorageTable, _ key: [UInt8]) -> Int? {
    guard let index = index(table) else { return nil }
    return key.withUnsafeBytes { reader.page(index, $0) }.map { Int(clamping: $0) }
  }

  func put(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer)
    throws(StoreError)
  {
    throw StoreError.checkedOnly
  }

  func append(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer)
    throws(StoreError)
  {
    throw StoreError.checkedOnly
  }

  func delete(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    throw StoreError.checkedOnly
  }

  func commit() throws(StoreError) {}

  func abort() {}
}

extension StoreError {
  fileprivate static var checkedOnly: StoreError {
    StoreError(.readOnly, "a store cannot be changed while it is checked")
  }

  /// Converts the error of a corrupted page.
  init(_ error: PageError) {
    self.init(
      .corrupted,
      "page \(error.page) of the file is corrupted: \(error.problem.message). Run `check` to see the extent, then "
        + "restore a backup or run `salvage`")
  }
}
