import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

/// Chooses the state of a damaged file that is salvaged.
enum SalvageState {
  /// A state without a meta page: its list of tables was found among the pages.
  private struct Candidate {
    let commit: UInt64
    let root: PageRoot
  }

  /// The number of newest states to walk the pages of.
  private static let triedCount = 8

  /// Returns the state of the newer meta page. A corrupted meta page may have been that of a newer commit with complete
  /// pages: then its list of tables is found among the pages. The same applies if a meta page appears sound and leads
  /// to no table of this project, or to a page that it marks as free.
  static func choose(_ file: PageFile, _ run: SalvageRun) throws(StoreError) -> PageSalvage {
    if file.lacksLog {
      run.lose(
        .state, page: nil,
        "commit.log may be in use, and its end is unreadable: the last commits may be missing")
    }
    let chosen = try chooseByTrees(file, run)
    return try storeErrors { () throws(LMDBError) in try chosen.readingValues() }
  }

  private static func chooseByTrees(_ file: PageFile, _ run: SalvageRun) throws(StoreError) -> PageSalvage {
    let known = try storeErrors { () throws(LMDBError) in try PageSalvage(file) }
    let hasNoTable = TableCode.fixed.allSatisfy { known.map.table($0.name ?? "") == nil }
    if file.meta != nil, hasNoTable || known.isListFree, let missed = try missed(file, known, run) { return missed }
    if file.metaFindings.isEmpty { return known }
    let page = file.metaFindings.first.map { Int(clamping: $0.page) }
    let commit = file.meta == nil ? nil : commit(file, known)
    let candidates = try candidates(file, newerThan: commit)
    if file.meta != nil, commit == nil || candidates.isFruitless {
      // A later commit may be lost without a trace; or it is unknown which is later.
      run.lose(
        .state, page: page,
        "a meta page is corrupted and may have belonged to a later commit; the other meta page was used"
      )
      return known
    }
    let (best, whole) = try walk(candidates.newer, file, run)
    if let whole {
      if file.meta == nil {
        run.lose(
          .state, page: page,
          "both meta pages are corrupted; the last commit found is \(whole.commit)")
        return whole.pages
      }
      if whole.isOnePage { return whole.pages }
      if try newestRecord(file, whole.pages) > newestRecord(file, known) {
        run.lose(
          .state, page: page,
          "the meta page of commit \(whole.commit) is corrupted; its list of tables was found on several pages, which "
            + "may belong to different commits")
        return whole.pages
      }
    }
    if let first = candidates.newer.first, file.meta != nil {
      run.lose(
        .state, page: page,
        "the meta page of commit \(first.commit) and its pages are corrupted; the previous commit was used")
      return known
    }
    guard file.meta == nil else {
      if let commit, let sign = try sign(of: file, known, laterThan: commit, run) {
        run.lose(.state, page: page, "a meta page is corrupted, and \(sign); commit \(commit) was used")
      }
      return known
    }
    guard let best else {
      run.lose(
        .state, page: page,
        "both meta pages and the list of tables are lost; data found on single pages may be older than the last commit"
      )
      return known
    }
    run.lose(
      .state, page: page,
      "both meta pages are corrupted; the newest state found was used, but may not be the last commit")
    return best
  }

  /// The state of a meta page that leads elsewhere: its list of tables is whole, and on no page that the meta page
  /// marks as free, like those of earlier states.
  private static func missed(
    _ file: PageFile, _ known: PageSalvage, _ run: SalvageRun
  ) throws(StoreError) -> PageSalvage? {
    let inUse = try candidates(file, newerThan: nil).newer.filter { known.isFree($0.root) == false }
    guard let whole = try walk(inUse, file, run).whole else { return nil }
    run.lose(
      .state, page: nil,
      "the meta page does not lead to the tables; an unreferenced table list of commit \(whole.commit) was used"
    )
    return whole.pages
  }

  /// States of later commits than the given one, newest first.
  ///
  /// - Returns: also whether no list of tables was found at all.
  private static func candidates(
    _ file: PageFile, newerThan commit: UInt64?
  ) throws(StoreError) -> (newer: [Candidate], isFruitless: Bool) {
    let roots = file.findRoots(named: TableCode.metadata.name ?? "")
    var newer: [Candidate] = []
    for root in roots {
      guard let found = try self.commit(file, root) else { continue }
      if let commit, found <= commit { continue }
      newer.append(Candidate(commit: found, root: root))
    }
    // A list with branches before a leaf of the same commit, which was part of a list with branches.
    newer.sort { ($0.commit, $0.root.depth) > ($1.commit, $1.root.depth) }
    return (newer, roots.isEmpty)
  }

  private struct Trace: Error {}

  /// Evidence of a later commit without a list of tables; nil if none is found. A completely overwritten commit leaves
  /// no evidence.
  private static func sign(
    of file: PageFile, _ known: PageSalvage, laterThan commit: UInt64, _ run: SalvageRun
  ) throws(StoreError) -> String? {
    do throws(Trace) {
      try known.forEachHidden(includingFree: true) { (entry) throws(Trace) in
        if isLater(entry, commit) { throw Trace() }
      }
    } catch {
      // A write that was killed or aborted leaves records as well, once it was large enough to spill.
      return "records of a later commit exist, which is lost or was never completed"
    }
    try run.steps.check()
    // A commit that only deleted left no record.
    let next = (file.meta?.commitNumber ?? 0) &+ 1
    let isClaimed = file.metaFindings.contains { $0.page < 2 && file.claimedCommit($0.page) == next }
    if isClaimed { return "it has the number of a later commit" }
    let isRefused = file.refusals.isTruncated || file.refusals.pages.keys.contains { $0 > 1 && !known.isUsed($0) }
    return isRefused ? "unreadable pages may have belonged to a later commit" : nil
  }

  /// Whether an entry is the commit counter, or an object's record, of a later commit.
  private static func isLater(_ entry: PageSalvage.Entry, _ commit: UInt64) -> Bool {
    if entry.key.elementsEqual(MetadataKey.bytes(MetadataKey.commitCounter)) {
      let seed = ValueEnvelope.seed(tableCode: .metadata, key: Array(entry.key))
      let counter = entry.value().flatMap { try? CounterValue(stored: RawSpan(_unsafeBytes: $0), seed: seed) }
      return counter.map { $0.value > commit } == true
    }
    // A record has up to a gibibyte of overflow pages, and most are older: the header contains the commit.
    guard let id = StoreChecker.objectID(RawSpan(_unsafeBytes: entry.key)),
      let header = entry.prefix(RecordView.headerLength),
      let claimed = try? RecordView.commit(of: header.span.bytes), claimed > commit, let bytes = entry.value()
    else { return false }
    return ValueEnvelope.isIntact(RawSpan(_unsafeBytes: bytes), seed: ValueEnvelope.seed(object: id))
  }

  private struct Whole {
    let commit: UInt64
    let pages: PageSalvage
    /// Whether the list of tables is one leaf. If it has branches, a free one may lead to a leaf that was rewritten
    /// since: then it has the newest tables of one leaf and older ones of others. Pages have no dates, but the records
    /// of the tables do.
    let isOnePage: Bool
  }

  /// The first of these states with whole trees, or else the first one.
  private static func walk(
    _ candidates: [Candidate], _ file: PageFile, _ run: SalvageRun
  ) throws(StoreError) -> (best: PageSalvage?, whole: Whole?) {
    var best: PageSalvage?
    var whole: Whole?
    for candidate in candidates.prefix(triedCount) {
      if let whole, whole.commit != candidate.commit { break }
      try run.steps.check()
      let pages = try storeErrors { () throws(LMDBError) in try PageSalvage(file, root: candidate.root) }
      if best == nil { best = pages }
      guard isWhole(pages) else { continue }
      if let other = whole, try newestRecord(file, pages) <= newestRecord(file, other.pages) { continue }
      whole = Whole(commit: candidate.commit, pages: pages, isOnePage: candidate.root.depth == 1)
    }
    return (best, whole)
  }

  /// Whether all trees can be walked, and none is missing: every store has the fixed tables, and a part of a list only
  /// lacks the first or the last one. An unreadable page of one value does not disprove a state: everything that was
  /// read belongs to it.
  private static func isWhole(_ pages: PageSalvage) -> Bool {
    let map = pages.map
    let contradictory = Set(map.findings.filter { !$0.problem.isUnreadable }.map(\.page))
    let isReadable = map.lost.values.joined().allSatisfy { $0.isOneEntry && !contradictory.contains($0.page) }
    return isReadable && !map.isTableListDamaged
      && TableCode.fixed.allSatisfy { map.table($0.name ?? "") != nil }
  }

  // MARK: Commits

  /// The commit of a state, by its metadata; nil if unreadable.
  private static func commit(_ file: PageFile, _ pages: PageSalvage) -> UInt64? {
    guard let backend = try? PageFileEngine(file, pages.map).beginReading() else { return nil }
    let metadata = StorageTable(code: .metadata, handle: 0)
    let commit = try? Metadata.counter(StorageTransaction(backend), metadata, MetadataKey.commitCounter)
    // Also 0 if the table is unreachable.
    return commit == 0 ? nil : commit
  }

  private static func commit(_ file: PageFile, _ root: PageRoot) throws(StoreError) -> UInt64? {
    let map = try storeErrors { () throws(LMDBError) in try file.tableMap(root) }
    guard let backend = try? PageFileEngine(file, map).beginReading() else { return nil }
    let metadata = StorageTable(code: .metadata, handle: 0)
    let commit = try? Metadata.counter(StorageTransaction(backend), metadata, MetadataKey.commitCounter)
    return commit == 0 ? nil : commit
  }

  /// The last commit that changed a record of a state: 0 if none is readable.
  private static func newestRecord(_ file: PageFile, _ pages: PageSalvage) throws(StoreError) -> UInt64 {
    // Records with unreadable overflow pages are omitted.
    let map = try storeErrors { () throws(LMDBError) in try pages.readingValues().map }
    let backend = try PageFileEngine(file, map).beginReading()
    let first: [UInt8] = [0]
    var newest: UInt64 = 0
    for code in backend.tableCodes where code.rootCode != nil {
      try backend.scan(StorageTable(code: code, handle: 0), from: unsafePointers(first.span.bytes), before: .noBytes) {
        (key, value) throws(StoreError) in
        guard let id = StoreChecker.objectID(key),
          ValueEnvelope.isIntact(copy value, seed: ValueEnvelope.seed(object: id)),
          let commit = try? RecordView.commit(of: copy value)
        else { return true }
        newest = max(newest, commit)
        return true
      }
    }
    return newest
  }
}
