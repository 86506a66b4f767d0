import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// Searches for unreferenced objects, and reports the lost ones.
///
/// Pages that only a lost page referenced have their current records. If more are missing, older copies on free pages
/// are used: they may be from before the last change, or the deletion, of the object, and the report says so.
struct SalvageObjects {
  private let copied: SalvageCopy
  private var schema: Schema { copied.schema }
  private var writer: SalvageWriter { copied.writer }
  private var run: SalvageRun { copied.run }

  init(_ copied: SalvageCopy) { self.copied = copied }

  func find() throws(StoreError) {
    let codes = Set(schema.rootCodes.map { TableCode.objects(rootCode: $0) })
    try writer.flush()
    let misled = try misledTables()
    try copied.findHidden(codes.intersection(copied.lost.codes).union(misled), includingFree: false) {
      (code, entry) throws(StoreError) in
      try take(code, entry, anyKey: misled.contains(code))
    }
    try writer.flush()
    let incomplete = try incompleteTables().union(misled)
    let damaged = Set(run.damagedRecords.keys.map { TableCode.objects(rootCode: $0.rootCode) })
    try copied.findHidden(incomplete.union(damaged), includingFree: true) { (code, entry) throws(StoreError) in
      guard let id = StoreChecker.objectID(RawSpan(_unsafeBytes: entry.key)),
        incomplete.contains(code) || run.isDamaged(id) || run.isDoubtful(id)
      else { return }
      try take(code, entry, anyKey: misled.contains(code))
    }
    try writer.flush()
    try reportObjects(misled)
    reportDoubts()
  }

  /// Takes an unreferenced record. Of several, the one with the newest commit counts.
  private func take(_ code: TableCode, _ entry: PageSalvage.Entry, anyKey: Bool) throws(StoreError) {
    guard let rootCode = code.rootCode, let table = schema.objectTable(rootCode: rootCode),
      let id = StoreChecker.objectID(RawSpan(_unsafeBytes: entry.key)), id.serial > 0,
      anyKey || copied.lost.contains(code, entry.key) || run.isDamaged(id) || run.isDoubtful(id),
      let bytes = entry.value()
    else { return }
    let value = RawSpan(_unsafeBytes: bytes)
    guard copied.problem(of: value, id) == nil, let commit = try? RecordView.commit(of: value) else { return }
    if let known = try writer.get(table, entry.key),
      let other = try? RecordView.commit(of: RawSpan(_unsafeBytes: known))
    {
      let isKnownForSure = !run.isDoubtful(id)
      if isKnownForSure != entry.isCurrent ? isKnownForSure : other >= commit { return }
    }
    run.note(commit: commit)
    if entry.isCurrent { run.believe(id) } else { run.doubt(id) }
    run.noteFound(id)
    try writer.put(table, entry.key, bytes)
  }

  /// The number of missing objects of a root entity, except for those with corrupted records; nil if unknown.
  ///
  /// - Parameter countsDoubtful: whether possibly deleted objects count as found.
  private func missingCount(
    _ table: StorageTable, _ rootCode: UInt16, countsDoubtful: Bool = false
  ) throws(StoreError) -> UInt64? {
    guard let expected = copied.source.entryCount(table.code) else { return nil }
    let damaged = UInt64(run.damagedRecords.keys.count { $0.rootCode == rootCode })
    let doubtful =
      countsDoubtful ? 0 : Int(rootCode) < run.doubtful.sets.count ? run.doubtful.sets[Int(rootCode)]?.count ?? 0 : 0
    let found = try writer.backend.entryCount(table) + damaged - UInt64(doubtful)
    // A corrupted number may be anything.
    let most = copied.source.file.byteCount / 16
    return expected > found ? min(expected - found, most) : 0
  }

  /// Tables with missing objects, according to their own counts.
  private func incompleteTables() throws(StoreError) -> Set<TableCode> {
    var codes: Set<TableCode> = []
    for rootCode in schema.rootCodes {
      guard let table = schema.objectTable(rootCode: rootCode), copied.lacksEntries(table.code) else { continue }
      // With a lost list of tables this is unknown: deleted objects must then not reappear.
      if let missing = try missingCount(table, rootCode), missing > 0 { codes.insert(table.code) }
    }
    return codes
  }

  /// Tables with missing objects though nothing of them appears lost: a branch may lead to a page of another table, or
  /// of the free list, with keys that fit its range; the right page is then unreferenced.
  private func misledTables() throws(StoreError) -> Set<TableCode> {
    var codes: Set<TableCode> = []
    if copied.source.pages.map.findings.isEmpty { return codes }
    for rootCode in schema.rootCodes {
      guard let table = schema.objectTable(rootCode: rootCode), !copied.lacksEntries(table.code) else { continue }
      if let missing = try missingCount(table, rootCode), missing > 0 { codes.insert(table.code) }
    }
    return codes
  }

  // MARK: Reporting

  private func reportObjects(_ misled: Set<TableCode>) throws(StoreError) {
    for (id, damage) in run.damagedRecords.sorted(by: { $0.key < $1.key }) {
      run.report.lostObjectCount += 1
      run.lose(.object, object: schema.rootName(of: id), page: damage.page, damage.message)
    }
    for rootCode in schema.rootCodes {
      guard let table = schema.objectTable(rootCode: rootCode) else { continue }
      let isMisled = misled.contains(table.code)
      let ranges = isMisled ? [LostRange(low: [], high: nil, page: 0)] : copied.lost[table.code]
      if !isMisled, !copied.lacksEntries(table.code) { continue }
      let missing = try missingCount(table, rootCode)
      if missing == 0 { continue }
      if let missing = try missingCount(table, rootCode, countsDoubtful: true) {
        run.report.lostObjectCount += Int(clamping: missing)
      }
      for range in ranges { try report(range, table, schema.entity(code: rootCode)?.name ?? "") }
    }
  }

  private func report(_ range: LostRange, _ table: StorageTable, _ name: String) throws(StoreError) {
    let first = StoreChecker.objectID(range.low.span.bytes)
    if range.isOneKey, let id = first {
      if try writer.get(table, unsafePointers(range.low.span.bytes)) == nil {
        run.lose(
          .object, object: schema.rootName(of: id), page: Int(clamping: range.page),
          "the overflow pages of its record are corrupted")
      }
      return
    }
    let next = range.high.flatMap { StoreChecker.objectID($0.span.bytes) }
    let extent =
      switch (first, next) {
      case (let first?, let next?): "serials from \(first.serial) to \(max(1, next.serial) - 1)"
      case (let first?, nil): "serials from \(first.serial) on"
      case (nil, let next?): "serials below \(next.serial)"
      case (nil, nil): "all serials"
      }
    let found = try count(table, first, next)
    run.lose(
      .objects, page: range.page == 0 ? nil : Int(clamping: range.page),
      "a page of the objects of \(name) is lost, \(extent); \(found) of them were recovered from it or other pages")
  }

  /// The number of the new store's objects between two ids.
  private func count(_ table: StorageTable, _ first: ObjectID?, _ next: ObjectID?) throws(StoreError) -> Int {
    var count = 0
    let low = ShortKey.object(first ?? ObjectID(rawValue: 1))
    try writer.backend.scan(table, from: unsafePointers(low.bytes), before: .noBytes) { (key, _) throws(StoreError) in
      guard let id = StoreChecker.objectID(key) else { return true }
      if let next, id >= next { return false }
      count += 1
      return true
    }
    return count
  }

  private func reportDoubts() {
    for (rootCode, serials) in run.doubtful.sets.enumerated() {
      guard let serials else { continue }
      var next = serials.next(from: 0)
      while let serial = next {
        let id = ObjectID(rootCode: UInt16(rootCode), serial: serial)
        run.lose(
          .doubtfulObject, object: schema.rootName(of: id),
          "it was found on an unreferenced page: it may be outdated or deleted")
        next = serials.next(from: serial + 1)
      }
    }
    for finding in copied.source.pages.map.findings where finding.problem == .usedAndFree {
      run.lose(
        .doubtfulObject, page: Int(clamping: finding.page),
        "the page is both in use and on the free list: its content may be outdated")
    }
  }
}
