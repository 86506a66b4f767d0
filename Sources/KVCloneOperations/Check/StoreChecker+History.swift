import KVClone
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Checks the values of history, snapshots and operations separately.
extension StoreChecker {
  borrowing func checkHistory(_ run: CheckRun) throws(StoreError) {
    for table in run.historyTables where table.code != .snapshots && table.code != .preimages {
      let name = table.code.name ?? ""
      // With lost pages, missing entries cannot be attributed.
      var tally = HistoryTally(
        start: run.lost.any(table) ? nil : (try? HistoryWriter.start(in: session)) ?? nil, last: run.commit)
      try run.reading("the table \(name)") { () throws(StoreError) in
        try session.forEachEntry(table) { (key, value) throws(StoreError) in
          do throws(RecordError) {
            try Self.decode(table.code, key, value)
            switch table.code {
            case .changes: tally.note(key, value, run)
            case .provenance: checkProvenance(run, table, key)
            case .operations: checkOperation(run, table, key, value)
            default: break
            }
          } catch {
            let kind: IntegrityIssue.Kind = error == .badKey ? .malformedKey : .history
            run.report(kind, page: run.page(table, key), "an entry of the table \(name): \(error.description)")
            if table.code == .changes { tally.skip(key, run) }
          }
          return !run.isFull
        }
        tally.finish(run)
      }
    }
  }

  /// Checks provenance: it is deleted with the clone, so the clone has to exist.
  private borrowing func checkProvenance(_ run: CheckRun, _ table: StorageTable, _ key: borrowing RawSpan) {
    // Without a model, or with lost pages, the required objects are unknown.
    guard !session.schema.entities.isEmpty, let id = try? NumberKey.objectID(copy key), let isThere = try? isStored(id),
      !isThere,
      !run.isUnreadable(id)
    else { return }
    run.report(
      .history, object: session.schema.rootName(of: id), page: run.page(table, key),
      "the provenance entry of \(session.schema.rootName(of: id)) has no object")
  }

  /// Whether a table contains an object. One of a removed entity is kept as long as a snapshot needs it.
  private borrowing func isStored(_ id: ObjectID) throws(StoreError) -> Bool {
    guard let table = session.schema.tables.objects[id.rootCode] else { return false }
    let key = ShortKey.object(id)
    return try session.storage.get(table, key.bytes) != nil
  }

  /// Checks that an operation's result is readable, and that its commit is not in the future.
  private borrowing func checkOperation(
    _ run: CheckRun, _ table: StorageTable, _ key: borrowing RawSpan, _ value: borrowing RawSpan
  ) {
    let seed = ValueEnvelope.seed(tableCode: .operations, key: copy key)
    guard let operation = try? OperationValue(stored: copy value, seed: seed) else { return }
    if !operation.hasReadableResult {
      run.report(
        .history, page: run.page(table, key),
        "an entry of the table operations: the JSON of its result cannot be read")
    } else if let commit = run.commit, operation.commit > commit {
      run.report(
        .history, page: run.page(table, key),
        "an entry of the table operations: its commit is \(operation.commit), but the last commit is \(commit)"
      )
    }
  }

  private static func decode(
    _ code: TableCode, _ key: borrowing RawSpan, _ value: borrowing RawSpan
  ) throws(RecordError) {
    let seed = ValueEnvelope.seed(tableCode: code, key: copy key)
    switch code {
    case .changes:
      if try NumberKey.numberAndPart(copy key).part == 0 {
        _ = try ChangeHeader(stored: copy value, seed: seed)
      } else {
        _ = try ChangePart(stored: copy value, seed: seed)
      }
    case .provenance:
      _ = try NumberKey.objectID(copy key)
      _ = try ProvenanceValue(stored: copy value, seed: seed)
    case .operations: _ = try OperationValue(stored: copy value, seed: seed)
    case .redirects:
      _ = try NumberKey.objectID(copy key)
      _ = try RedirectValue(stored: copy value, seed: seed)
    default: break
    }
  }

  /// Checks everything that is possible for objects with an unreadable model: the checksums.
  borrowing func checkSums(_ run: CheckRun) throws(StoreError) {
    try run.reading("the blobs") { () throws(StoreError) in try checkUnowned(run) }
    let fixed: [TableCode] = [.links, .indexes] + (run.options.readData ? [.blobs] : [])
    for code in run.storedTables where code.rootCode != nil || fixed.contains(code) {
      let table = StorageTable(code: code, handle: 0)
      let name = code.name ?? ""
      try run.reading("the table \(name)") { () throws(StoreError) in
        try session.forEachEntry(table) { (key, value) throws(StoreError) in
          let seed = ValueEnvelope.seed(tableCode: code, key: copy key)
          if code.rootCode != nil { run.noteObject() }
          if ValueEnvelope.isIntact(copy value, seed: seed) { return !run.isFull }
          // The check of its blob has reported it.
          if code == .blobs, let serial = try? NumberKey.numberAndPart(copy key).number,
            try session.has(session.schema.tables.blobinfo, ShortKey.blobInfo(serial).array)
          {
            return true
          }
          let text = RecordError.checksumMismatch.description
          if code.rootCode != nil, let id = Self.objectID(key) {
            run.reportUnreadable(id, page: run.page(table, key), text)
          } else {
            run.report(.unreadableTable, page: run.page(table, key), "an entry of the table \(name): \(text)")
          }
          return !run.isFull
        }
      }
    }
  }
}
