import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// Copies what is readable, byte for byte: records first, then the lists that they have, then the large values that they name. Whether it
/// fits together is for `SalvageMend`.
struct SalvageCopy {
  let source: SalvageSource
  let writer: SalvageWriter
  let schema: Schema
  let run: SalvageRun
  let lost: SalvageRanges

  private var steps: BackupRun { run.steps }

  func copy() throws(StoreError) {
    steps.begin(.copy)
    for rootCode in schema.rootCodes { try copyObjects(rootCode) }
    try findHidden(Set(schema.rootCodes.map { TableCode.objects(rootCode: $0) }), takeRecord)
    try reportObjects()
    try copyLists()
    try findHidden([.links], takeListPiece)
    try writer.flush()
    try SalvageBlobs(self).copy()
    try copyOrigins()
    try countSnapshots()
  }

  /// Looks for entries of tables beside the trees, where the tables have lost any.
  func findHidden(
    _ codes: Set<TableCode>, _ take: (TableCode, PageSalvage.Entry) throws(StoreError) -> Void
  ) throws(StoreError) {
    let wanted = codes.intersection(lost.codes)
    if wanted.isEmpty { return }
    try source.pages.forEachHidden { (entry) throws(StoreError) in
      guard let code = Self.table(of: entry.key, wanted), lost.contains(code, entry.key) else { return }
      try take(code, entry)
    }
    try steps.check()
  }

  /// The one of these tables that has keys of this form.
  private static func table(of key: UnsafeRawBufferPointer, _ wanted: Set<TableCode>) -> TableCode? {
    switch key.count {
    case 8:
      let root = UInt16(bigEndian: key.loadUnaligned(as: UInt16.self))
      guard root >= 1, root <= FormatLimits.maximumRootCode else { return nil }
      let code = TableCode.objects(rootCode: root)
      return wanted.contains(code) ? code : nil
    case 12: return wanted.contains(.blobs) ? .blobs : nil
    case LinkKey.length: return wanted.contains(.links) ? .links : nil
    default: return nil
    }
  }

  // MARK: Records

  private func copyObjects(_ rootCode: UInt16) throws(StoreError) {
    guard let table = schema.objectTable(rootCode: rootCode) else { return }
    try source.scan(table.code) { (key, value) throws(StoreError) in
      guard let id = Session.objectID(key), id.rootCode == rootCode, id.serial > 0 else {
        run.lose(
          .object, page: page(table, key), "the table of \(schema.entity(code: rootCode)?.name ?? "") has a key that is no id")
        return true
      }
      steps.advance(value.byteCount)
      if let problem = problem(of: value, id) {
        run.loseRecord(id, schema, page: page(table, key), problem)
      } else {
        if let commit = try? RecordView.commit(of: copy value) { run.note(commit: commit) }
        try writer.append(table, unsafePointers(copy key), unsafePointers(copy value))
      }
      return true
    }
  }

  private func page(_ table: StorageTable, _ key: borrowing RawSpan) -> Int? {
    source.backend.page(table, key.withUnsafeBytes { Array($0) })
  }

  /// Why a record cannot be brought over; nil where it can.
  private func problem(of value: borrowing RawSpan, _ id: ObjectID) -> String? {
    do throws(StoreError) {
      let entity = try schema.entity(of: try schema.view(of: copy value, id: id), id: id)
      return entity.isAbstract ? "it is of \(entity.name) itself, which is abstract" : nil
    } catch {
      let isIntact = ValueEnvelope.isIntact(copy value, seed: ValueEnvelope.seed(object: id))
      return isIntact ? "its record has a form that its entity has not" : RecordError.checksumMismatch.description
    }
  }

  /// A record that no tree leads to. Of several, that of the newest commit counts.
  private func takeRecord(_ code: TableCode, _ entry: PageSalvage.Entry) throws(StoreError) {
    guard let rootCode = code.rootCode, let table = schema.objectTable(rootCode: rootCode),
      let id = Session.objectID(RawSpan(_unsafeBytes: entry.key)), id.serial > 0, let bytes = entry.value()
    else { return }
    let value = RawSpan(_unsafeBytes: bytes)
    guard problem(of: value, id) == nil, let commit = try? RecordView.commit(of: value) else { return }
    if let known = try writer.get(table, entry.key),
      let other = try? RecordView.commit(of: RawSpan(_unsafeBytes: known)), other >= commit
    {
      return
    }
    run.note(commit: commit)
    if !entry.isCurrent { run.doubt(id) }
    try writer.put(table, entry.key, bytes)
  }

  /// Tells which objects are lost with their pages, as far as that can be known.
  private func reportObjects() throws(StoreError) {
    try writer.flush()
    for rootCode in schema.rootCodes {
      guard let table = schema.objectTable(rootCode: rootCode) else { continue }
      let name = schema.entity(code: rootCode)?.name ?? ""
      let ranges = lost[table.code]
      if ranges.isEmpty { continue }
      let expected = source.entryCount(table.code)
      let found = try writer.backend.entryCount(table)
      // Those whose own records are damaged were told one by one.
      let known = run.damagedRecords[rootCode] ?? 0
      let missing = expected.map { $0 > found + known ? $0 - found - known : 0 }
      if missing == 0 { continue }
      if let missing { run.report.lostObjectCount += Int(clamping: missing) }
      for range in ranges { try report(range, table, name) }
    }
    try reportDoubts()
  }

  private func report(_ range: LostRange, _ table: StorageTable, _ name: String) throws(StoreError) {
    let first = Session.objectID(range.low.span.bytes)
    if range.isOneKey, let id = first {
      if try writer.get(table, unsafePointers(range.low.span.bytes)) == nil {
        run.lose(
          .object, object: schema.rootName(of: id), page: Int(clamping: range.page),
          "the pages that its record has of its own are damaged")
      }
      return
    }
    let next = range.high.flatMap { Session.objectID($0.span.bytes) }
    let extent =
      switch (first, next) {
      case (let first?, let next?): "serials from \(first.serial) to \(next.serial - 1)"
      case (let first?, nil): "serials from \(first.serial) on"
      case (nil, let next?): "serials below \(next.serial)"
      case (nil, nil): "all serials"
      }
    let found = try count(table, first, next)
    run.lose(
      .objects, page: range.page == 0 ? nil : Int(clamping: range.page),
      "a page of the objects of \(name) is lost, \(extent); \(found) of them were found on it or on other pages")
  }

  /// How many objects the new store has between two ids.
  private func count(_ table: StorageTable, _ first: ObjectID?, _ next: ObjectID?) throws(StoreError) -> Int {
    var count = 0
    let low = ShortKey.object(first ?? ObjectID(rawValue: 1))
    try writer.backend.scan(table, from: unsafePointers(low.bytes)) { (key, _) throws(StoreError) in
      guard let id = Session.objectID(key) else { return true }
      if let next, id >= next { return false }
      count += 1
      return true
    }
    return count
  }

  private func reportDoubts() throws(StoreError) {
    for (rootCode, serials) in run.doubtful.sets.enumerated() {
      guard let serials else { continue }
      var next = serials.next(from: 0)
      while let serial = next {
        let id = ObjectID(rootCode: UInt16(rootCode), serial: serial)
        run.lose(
          .doubtfulObject, object: schema.rootName(of: id),
          "it was found on a page that nothing leads to: it may be older than the store's state, or have been deleted")
        next = serials.next(from: serial + 1)
      }
    }
    for finding in source.pages.map.findings where finding.problem == .usedAndFree {
      run.lose(
        .doubtfulObject, page: Int(clamping: finding.page),
        "the page is in use, and on the free list: what it has may be older than the store's state")
    }
  }

  // MARK: Lists

  private func copyLists() throws(StoreError) {
    let table = schema.tables.links
    var owners = ListOwners(self)
    try source.scan(.links) { (key, value) throws(StoreError) in
      guard let link = try? LinkKey(copy key), try owners.wants(link) else { return true }
      steps.advance(value.byteCount)
      let seed = ValueEnvelope.seed(tableCode: .links, key: copy key)
      // A piece that is damaged is left out, and missed when its list is looked at.
      guard ValueEnvelope.isIntact(copy value, seed: seed) else { return true }
      try writer.append(table, unsafePointers(copy key), unsafePointers(copy value))
      return true
    }
  }

  private func takeListPiece(_ code: TableCode, _ entry: PageSalvage.Entry) throws(StoreError) {
    let table = schema.tables.links
    var owners = ListOwners(self)
    guard let link = try? LinkKey(RawSpan(_unsafeBytes: entry.key)), try owners.wants(link),
      let value = entry.value()
    else { return }
    let seed = ValueEnvelope.seed(tableCode: .links, key: entry.key)
    guard ValueEnvelope.isIntact(value, seed: seed) else { return }
    // Nothing tells which of two is newer; the longer one has more that the other sides can confirm.
    if let known = try writer.get(table, entry.key), known.count >= value.count { return }
    if !entry.isCurrent { run.doubtList(of: link.owner) }
    try writer.put(table, entry.key, value)
  }

  /// Which lists are brought over: those that a record says it has. Hidden ones of referrers are made anew.
  private struct ListOwners {
    private let copy: SalvageCopy
    private var last: (owner: ObjectID, relationship: UInt16, isWanted: Bool)?

    init(_ copy: SalvageCopy) { self.copy = copy }

    mutating func wants(_ link: LinkKey) throws(StoreError) -> Bool {
      if let last, last.owner == link.owner, last.relationship == link.relationship { return last.isWanted }
      let isWanted = try has(link)
      last = (link.owner, link.relationship, isWanted)
      return isWanted
    }

    private func has(_ link: LinkKey) throws(StoreError) -> Bool {
      let schema = copy.schema
      guard let table = schema.objectTable(rootCode: link.owner.rootCode) else { return false }
      let key = ShortKey.object(link.owner)
      guard let bytes = try copy.writer.get(table, unsafePointers(key.bytes)) else { return false }
      let view = try schema.view(of: RawSpan(_unsafeBytes: bytes), id: link.owner)
      let entity = try schema.entity(of: view, id: link.owner)
      guard let index = entity.relationshipIndexByCode[link.relationship], entity.relationships[index].isToMany,
        let field = view.layout.fieldIndex(ofProperty: link.relationship)
      else { return false }
      return view.head(field).isChunked
    }
  }

  // MARK: What else belongs to objects

  /// Where clones came from, what operations have done, and the ids that objects had before a migration.
  private func copyOrigins() throws(StoreError) {
    for (code, table) in [
      (TableCode.provenance, schema.tables.provenance), (.operations, schema.tables.operations),
      (.redirects, schema.tables.redirects),
    ] {
      try source.scan(code) { (key, value) throws(StoreError) in
        let seed = ValueEnvelope.seed(tableCode: code, key: copy key)
        guard ValueEnvelope.isIntact(copy value, seed: seed), try isReadable(code, key, value, seed) else { return true }
        try writer.append(table, unsafePointers(copy key), unsafePointers(copy value))
        return true
      }
    }
  }

  private func isReadable(
    _ code: TableCode, _ key: borrowing RawSpan, _ value: borrowing RawSpan, _ seed: UInt64
  ) throws(StoreError) -> Bool {
    switch code {
    case .provenance:
      guard (try? ProvenanceValue(stored: copy value, seed: seed)) != nil, let id = Session.objectID(key),
        let table = schema.objectTable(rootCode: id.rootCode)
      else { return false }
      return try writer.get(table, unsafePointers(copy key)) != nil
    case .operations:
      guard let operation = try? OperationValue(stored: copy value, seed: seed), operation.hasReadableResult else {
        return false
      }
      run.note(commit: operation.commit)
      return true
    default:
      return Session.objectID(key) != nil && (try? RedirectValue(stored: copy value, seed: seed)) != nil
    }
  }

  private func countSnapshots() throws(StoreError) {
    try source.scan(.snapshots) { (_, _) throws(StoreError) in
      run.report.snapshotCount += 1
      return true
    }
  }
}
