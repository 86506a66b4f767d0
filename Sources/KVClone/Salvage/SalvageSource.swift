import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// A damaged store as it is read: the state that is salvaged, and the pages beside it. Nothing of it is written.
final class SalvageSource {
  let path: String
  let file: PageFile
  let pages: PageSalvage
  let backend: PageFileBackend
  private let run: SalvageRun
  /// Tables that could not be read to their ends.
  private(set) var cutOff: Set<TableCode> = []

  /// Opens the file alone. Writers are not kept out, because their lock would have to be written: `isStillCurrent` tells in the end.
  static func open(_ path: String, _ run: SalvageRun) throws(StoreError) -> PageFile {
    let watch = run.steps.watch()
    return try storeErrors { () throws(LMDBError) in try PageFile(at: path, isUntouched: true, watch: watch) }
  }

  init(_ path: String, _ file: PageFile, _ run: SalvageRun) throws(StoreError) {
    self.path = path
    self.file = file
    self.run = run
    run.steps.begin(.check, of: file.byteCount)
    pages = try Self.chooseState(file, run)
    try run.steps.check()
    backend = try PageFileEngine(file, pages.map).beginReading()
    run.report.damagedPageCount = Set(pages.map.findings.filter { !$0.problem.isHarmless }.map(\.page)).count
  }

  /// What the file's tables lack.
  func lost(_ expected: [TableCode]) -> SalvageRanges { SalvageRanges(pages.map, expected: expected) }

  /// Whether the file has any table of ours.
  var hasTables: Bool { pages.map.tables.contains { TableCode(name: $0.name)?.rootCode != nil } }

  /// How many entries a table had; nil where nobody knows.
  func entryCount(_ code: TableCode) -> UInt64? {
    pages.map.tables.first { $0.name == code.name }?.tree.entries
  }

  func scan(
    _ code: TableCode, _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    // The least key that a table can have.
    let first: [UInt8] = [0]
    do throws(StoreError) {
      try backend.scan(StorageTable(code: code, handle: 0), from: unsafePointers(first.span.bytes), body)
    } catch {
      // A page that was sound when it was walked, and is not any more: a disk that fails now and then. What was read of the table stays.
      guard error.kind == .damaged else { throw error }
      try run.steps.check()
      guard cutOff.insert(code).inserted else { return }
      run.lose(
        code.rootCode == nil ? .metadata : .objects,
        "the table \(code.name ?? "of tables") could not be read to its end, though its pages were sound before; try again: \(error.message)"
      )
    }
  }

  // MARK: The state

  /// The state of the newer meta page. Where a meta page is damaged, it may have been that of a newer commit, whose pages are all there:
  /// then its list of tables is found among the leaves.
  private static func chooseState(_ file: PageFile, _ run: SalvageRun) throws(StoreError) -> PageSalvage {
    let known = try storeErrors { () throws(LMDBError) in try PageSalvage(file) }
    if file.metaFindings.isEmpty { return known }
    let commit = file.meta == nil ? nil : commit(file, known)
    let roots = file.findRoots(named: TableCode.metadata.name ?? "")
    var candidates: [(commit: UInt64, root: PageRoot)] = []
    for root in roots {
      guard let found = try self.commit(file, root) else { continue }
      if let commit, found <= commit { continue }
      candidates.append((found, root))
    }
    candidates.sort { $0.commit > $1.commit }
    if file.meta != nil, commit == nil || roots.isEmpty {
      // There may have been a later commit, of which nothing tells; or there is no telling which is later.
      run.lose(
        .state, page: file.metaFindings.first.map { Int(clamping: $0.page) },
        "a meta page is damaged, and whether it was that of a later commit is not known; the state is that of the other"
      )
      return known
    }
    var best: PageSalvage?
    for candidate in candidates.prefix(8) {
      try run.steps.check()
      let pages = try storeErrors { () throws(LMDBError) in try PageSalvage(file, root: candidate.root) }
      let isWhole = pages.map.lost.isEmpty && !pages.map.isTableListDamaged
      if isWhole {
        guard file.meta == nil else { return pages }
        run.lose(
          .state, page: file.metaFindings.first.map { Int(clamping: $0.page) },
          "both meta pages are damaged; commit \(candidate.commit) is the last one that was found")
        return pages
      }
      if best == nil { best = pages }
    }
    if let first = candidates.first, file.meta != nil {
      run.lose(
        .state, page: file.metaFindings.first.map { Int(clamping: $0.page) },
        "the meta page of commit \(first.commit) is damaged, and so is what it led to; the state is the one before")
      return known
    }
    guard file.meta == nil else { return known }
    let page = file.metaFindings.first.map { Int(clamping: $0.page) }
    guard let best else {
      run.lose(
        .state, page: page,
        "both meta pages and the list of tables are lost: what is found on single pages may be older than the last commit"
      )
      return known
    }
    run.lose(
      .state, page: page,
      "both meta pages are damaged: the newest state was searched for, and whether it was the last is not known")
    return best
  }

  /// The commit of a state, as its metadata tell; nil where they cannot.
  private static func commit(_ file: PageFile, _ pages: PageSalvage) -> UInt64? {
    guard let backend = try? PageFileEngine(file, pages.map).beginReading() else { return nil }
    let metadata = StorageTable(code: .metadata, handle: 0)
    return try? Metadata.counter(StorageTransaction(backend), metadata, MetadataKey.commitCounter)
  }

  private static func commit(_ file: PageFile, _ root: PageRoot) throws(StoreError) -> UInt64? {
    let map = try storeErrors { () throws(LMDBError) in try file.tableMap(root) }
    guard let backend = try? PageFileEngine(file, map).beginReading() else { return nil }
    let metadata = StorageTable(code: .metadata, handle: 0)
    let commit = try? Metadata.counter(StorageTransaction(backend), metadata, MetadataKey.commitCounter)
    return commit == 0 ? nil : commit
  }
}
