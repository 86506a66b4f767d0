import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// Converts the findings of the walk over the pages to issues of the store.
extension CheckRun {
  func take(_ map: PageMap) {
    for finding in map.findings { take(finding, map) }
    // A newer format may add tables that older libraries need not know.
    if isNewerFormat { return }
    for table in map.tables where !isKnown(table.name) {
      report(.table, "the file has an unknown table, which uses disk space and has no other effect")
    }
  }

  /// Whether a table is known. That of a removed entity is kept as long as a snapshot needs it.
  private func isKnown(_ name: String) -> Bool {
    guard let code = TableCode(name: name) else { return false }
    // Without a model, every entity's table may be valid.
    guard let root = code.rootCode, !schema.entities.isEmpty else { return true }
    return root <= schema.codes.lastEntity
  }

  private func take(_ finding: PageFinding, _ map: PageMap) {
    let page = Int(clamping: finding.page)
    switch finding.problem {
    case .leaked(let count):
      return report(
        .pageLeak, page: page,
        "\(count == 1 ? "this page is" : "this page and \(count - 1) more are") neither in use nor free; compact the "
          + "store")
    case .usedAndFree, .freedTwice, .badFreeRecord: return report(.pageLeak, page: page, finding.problem.message)
    case .meta: return report(.page, page: page, "meta page: \(finding.problem.message)")
    default: break
    }
    if let key = finding.key, let code = finding.table.flatMap({ TableCode(name: $0) }), take(key, code, finding) {
      return
    }
    report(.page, page: page, "\(place(finding)): \(finding.problem.message)\(extent(finding, map))")
  }

  /// Whether a single lost value is reported by its kind.
  private func take(_ key: [UInt8], _ code: TableCode, _ finding: PageFinding) -> Bool {
    let page = Int(clamping: finding.page)
    let message = "unreadable bytes: \(finding.problem.message)"
    if code.rootCode != nil, let id = StoreChecker.objectID(key.span.bytes) {
      reportUnreadable(id, page: page, message)
    } else if code == .blobs, let serial = try? NumberKey.numberAndPart(key.span.bytes).number {
      reportBlob(serial, page: page, "blob \(serial): \(message)")
    } else {
      return false
    }
    return true
  }

  private func place(_ finding: PageFinding) -> String {
    guard let name = finding.table else {
      return finding.page < 2 ? "meta page" : "an internal page of the file"
    }
    guard let root = TableCode(name: name)?.rootCode else { return "a page of the table \(name)" }
    return "a page of the objects of \(schema.entity(code: root)?.name ?? String(root))"
  }

  /// The objects that a page contained, as far as its parent pages tell.
  private func extent(_ finding: PageFinding, _ map: PageMap) -> String {
    guard let name = finding.table, TableCode(name: name)?.rootCode != nil,
      let range = map.lost[name]?.first(where: { $0.page == finding.page })
    else { return "" }
    let first = StoreChecker.objectID(range.low.span.bytes)
    let next = range.high.flatMap { StoreChecker.objectID($0.span.bytes) }
    switch (first, next) {
    case (let first?, let next?): return "; serials from \(first.serial) to \(max(1, next.serial) - 1) are lost"
    case (let first?, nil): return "; serials from \(first.serial) on are lost"
    case (nil, let next?): return "; serials below \(next.serial) are lost"
    case (nil, nil): return "; all of them are lost"
    }
  }
}
