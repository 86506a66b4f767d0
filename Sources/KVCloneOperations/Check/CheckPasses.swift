import KVCloneCore
import KVCloneLMDB

/// The result of all passes over one state of a file.
struct CheckPasses {
  /// The report of the last pass.
  private let found: CheckReport
  /// The findings of its walk over the pages.
  let findings: [PageFinding]
  /// Whether it failed to read pages that its walk had read or skipped: what depends on them was neither checked nor
  /// reported.
  private let isIncomplete: Bool
  /// The failed reads so far.
  private let refusals: PageRefusals
  private let maximumIssues: Int

  /// Limits the passes over a disk that deteriorates during the check.
  private static let maximumCount = 3

  /// Walks over the file's pages, and then checks their content. If something is unreadable that the walk skipped, the
  /// pass is repeated with a walk that reads everything: it then knows which pages to avoid, and what is behind them is
  /// checked, too.
  init(
    _ file: PageFile, _ options: CheckOptions, _ body: (PageMap) throws(StoreError) -> CheckReport
  ) throws(StoreError) {
    let maximum = max(1, options.maximumIssues)
    let refusals = file.refusals
    var count = 0
    while true {
      count += 1
      let map = try storeErrors { () throws(LMDBError) in
        try file.walk(maximumFindings: maximum, readsValues: count > 1)
      }
      let named = Self.unreadable(map.findings)
      let before = refusals.pages
      let found = try body(map)
      let isIncomplete = refusals.pages.contains { page, refusal in
        refusal.denials > before[page]?.denials ?? 0 && !named.contains(page)
      }
      if isIncomplete && count < Self.maximumCount { continue }
      (self.found, findings, self.isIncomplete) = (found, map.findings, isIncomplete)
      (self.refusals, maximumIssues) = (refusals, maximum)
      return
    }
  }

  /// The issues, and each failed read that no finding reports.
  var report: CheckReport {
    var more = refused.map { IntegrityIssue(refused: $0.page, code: $0.code) }
    if isIncomplete { more.append(.refusedAgain) }
    return CheckReport(
      objectCount: found.objectCount, pageCount: found.pageCount,
      issues: found.issues + more.prefix(max(0, maximumIssues - found.issues.count)),
      isTruncated: found.isTruncated || refusals.isTruncated
        || !more.isEmpty && found.issues.count + more.count >= maximumIssues)
  }

  /// The pages that failed at their first read, in order; without those that are reported in `findings`.
  private var refused: [(page: UInt64, code: Int32)] {
    let named = Self.unreadable(findings)
    return refusals.pages.filter { !named.contains($0.key) }.map { ($0.key, $0.value.code) }
      .sorted { $0.page < $1.page }
  }

  private static func unreadable(_ findings: [PageFinding]) -> Set<UInt64> {
    Set(findings.lazy.filter(\.problem.isUnreadable).map(\.page))
  }

  /// Whether LMDB may open the file.
  var isFileSound: Bool { findings.isEmpty && refused.isEmpty }

  /// The error for a file that is unsound, and written concurrently.
  func error(_ path: String) -> StoreError {
    let pages = Self.unreadable(findings).union(refused.map(\.page))
    guard findings.allSatisfy(\.problem.isUnreadable), let page = pages.min() else {
      return StoreError(
        .busy,
        "the store at \(path) changes during the check, and its pages are inconsistent; stop the writers and check "
          + "again"
      )
    }
    let more = pages.count > 1 ? " and \(pages.count - 1) more" : ""
    return StoreError(
      .io,
      "page \(page)\(more) of the store at \(path) cannot be read, and the store changes during the check; check the "
        + "disk, stop the writers, and check again")
  }
}

extension IntegrityIssue {
  /// A page that failed at its first read.
  fileprivate init(refused page: UInt64, code: Int32) {
    self.init(
      kind: .page, object: nil, property: nil, page: Int(page),
      message: "\(PageProblem.unreadable(code).message) at the first attempt; the disk may be failing")
  }

  /// The finding of pages that the last pass could not read, though the walk before it could.
  fileprivate static let refusedAgain = IntegrityIssue(
    kind: .unreadableTable, object: nil, property: nil, page: nil,
    message: "pages that were readable at first failed in every later attempt; the check is incomplete")
}
