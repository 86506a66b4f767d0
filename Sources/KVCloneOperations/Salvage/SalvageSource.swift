import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

/// A damaged store for reading: the state that is salvaged, and unreferenced pages. Never written.
final class SalvageSource {
  let path: String
  let file: PageFile
  let pages: PageSalvage
  let backend: PageFileBackend
  private let run: SalvageRun
  /// Tables that could not be read to the end.
  private(set) var cutOff: Set<TableCode> = []

  /// Opens the file without keeping writers out, because that would need a write to the lock. `isStillCurrent` detects
  /// writers at the end.
  static func open(_ path: String, _ run: SalvageRun) throws(StoreError) -> PageFile {
    let watch = run.steps.watch()
    return try storeErrors { () throws(LMDBError) in try PageFile(at: path, isUntouched: true, watch: watch) }
  }

  init(_ path: String, _ file: PageFile, _ run: SalvageRun) throws(StoreError) {
    self.path = path
    self.file = file
    self.run = run
    run.steps.begin(.check, of: file.byteCount)
    pages = try SalvageState.choose(file, run)
    try run.steps.check()
    backend = try PageFileEngine(file, pages.map).beginReading()
    run.report.corruptedPageCount = Set(pages.map.findings.filter { !$0.problem.isHarmless }.map(\.page)).count
  }

  /// The lost ranges of the file's tables.
  func lost(_ expected: [TableCode]) -> SalvageRanges { SalvageRanges(pages.map, expected: expected) }

  /// Whether the file has any table of this project.
  var hasTables: Bool { pages.map.tables.contains { TableCode(name: $0.name)?.rootCode != nil } }

  /// The number of entries in a table; nil if unknown.
  func entryCount(_ code: TableCode) -> UInt64? {
    pages.map.tables.first { $0.name == code.name }?.tree.entries
  }

  func scan(
    _ code: TableCode, _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    // The least possible key.
    let first: [UInt8] = [0]
    do throws(StoreError) {
      try backend.scan(
        StorageTable(code: code, handle: 0), from: unsafePointers(first.span.bytes), before: .noBytes, body)
    } catch {
      // The page was sound during the walk: a disk with intermittent errors. What was read of the table is kept.
      guard error.kind == .corrupted else { throw error }
      try run.steps.check()
      guard cutOff.insert(code).inserted else { return }
      run.lose(
        code.rootCode == nil ? .metadata : .objects,
        "the end of the table \(code.name ?? "of tables") is unreadable, although its pages were intact before; try "
          + "again: \(error.message)"
      )
    }
  }
}
