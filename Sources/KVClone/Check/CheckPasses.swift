import KVCloneLMDB

/// What all passes over one state of a file came to.
struct CheckPasses {
  let report: CheckReport
  /// What the last walk over the pages found.
  let findings: [PageFinding]
  /// Pages at which the system refused to read when it was asked first, and which nothing in `findings` says that of.
  let refused: [(page: UInt64, code: Int32)]

  /// A disk that goes bad meanwhile is not followed for longer.
  private static let maximumCount = 3

  /// Walks over the file's pages, and then checks what they have. Where something cannot be read that the walk had no need of, it is
  /// done once more, with a walk that reads all: then it is known where not to go, and what lies behind is checked, too.
  init(
    _ file: PageFile, _ options: CheckOptions, _ body: (PageMap) throws(StoreError) -> CheckReport
  ) throws(StoreError) {
    let maximum = max(1, options.maximumDamages)
    var count = 0
    while true {
      count += 1
      let map = try storeErrors { () throws(LMDBError) in
        try file.walk(maximumFindings: maximum, readsValues: count > 1)
      }
      let named = Set(map.findings.lazy.filter(\.isUnreadable).map(\.page))
      let before = file.refusals.pages
      let found = try body(map)
      let refused = file.refusals.pages.filter { !named.contains($0.key) }
      // The walk had these pages, or had no need of them. What depends on them was not checked, and not told.
      let isIncomplete = refused.contains { $0.value.count > before[$0.key]?.count ?? 0 }
      if isIncomplete && count < Self.maximumCount { continue }
      self.refused = refused.sorted { $0.key < $1.key }.map { ($0.key, $0.value.code) }
      findings = map.findings
      var damages = self.refused.map { Damage(refused: $0.page, code: $0.code) }
      if isIncomplete { damages.append(.refusedAgain) }
      report = found.adding(damages, maximum, isTruncated: file.refusals.isTruncated)
      return
    }
  }

  init(report: CheckReport, findings: [PageFinding], refused: [(page: UInt64, code: Int32)]) {
    (self.report, self.findings, self.refused) = (report, findings, refused)
  }

  /// Whether LMDB may have the file.
  var isFileSound: Bool { findings.isEmpty && refused.isEmpty }

  /// Why nothing can be told of a file that is not sound, and that is written all the while.
  func error(_ path: String) -> StoreError {
    let unread = findings.filter(\.isUnreadable)
    let pages = Set(unread.map(\.page)).union(refused.map(\.page))
    guard unread.count == findings.count, let page = pages.min() else {
      return StoreError(
        .busy,
        "the store at \(path) is being written while it is checked, and its pages do not fit together; stop who writes it, and try again"
      )
    }
    let more = pages.count > 1 ? " and \(pages.count - 1) more" : ""
    return StoreError(
      .io,
      "the system refused to read page \(page)\(more) of the store at \(path), which is being written while it is checked; "
        + "see to the disk, stop who writes, and check again")
  }
}

extension CheckReport {
  /// With more damages, so many in all at most.
  fileprivate func adding(_ more: [Damage], _ maximum: Int, isTruncated isCutOff: Bool) -> CheckReport {
    CheckReport(
      objectCount: objectCount, pageCount: pageCount,
      damages: damages + more.prefix(max(0, maximum - damages.count)),
      isTruncated: isTruncated || isCutOff || !more.isEmpty && damages.count + more.count >= maximum)
  }
}

extension Damage {
  /// A page that the system did not give when it was asked first.
  fileprivate init(refused page: UInt64, code: Int32) {
    self.init(
      kind: .page, object: nil, property: nil, page: Int(page),
      message: "\(PageProblem.unreadable(code).message), when it was asked for first: the disk may be failing")
  }

  /// What the last pass could not read though the walk before it could.
  fileprivate static let refusedAgain = Damage(
    kind: .unreadableTable, object: nil, property: nil, page: nil,
    message: "pages that could be read at first could not be afterwards, each time: not everything was checked")
}
