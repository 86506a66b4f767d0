import KVClone
import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// Copies what is readable, byte for byte: records first, then their lists, then the blobs that they reference.
/// `SalvageMend` restores consistency.
struct SalvageCopy {
  let source: SalvageSource
  let writer: SalvageWriter
  let schema: Schema
  let run: SalvageRun
  let lost: SalvageRanges

  /// Whether parts of a table were not read.
  func lacksEntries(_ code: TableCode) -> Bool { !lost[code].isEmpty || source.cutOff.contains(code) }

  private var steps: BackupRun { run.steps }

  func copy() throws(StoreError) {
    steps.begin(.copy)
    for rootCode in schema.rootCodes { try copyObjects(rootCode) }
    try SalvageObjects(self).find()
    try SalvageLists(self).copy()
    try writer.flush()
    try SalvageBlobs(self).copy()
    try copyOrigins()
    try countSnapshots()
  }

  /// Searches for unreferenced entries of these tables.
  ///
  /// - Parameter includingFree: whether free pages are included; their entries are outdated.
  func findHidden(
    _ wanted: Set<TableCode>, includingFree: Bool,
    _ take: (TableCode, PageSalvage.Entry) throws(StoreError) -> Void
  ) throws(StoreError) {
    if wanted.isEmpty { return }
    try source.pages.forEachHidden(includingFree: includingFree) { (entry) throws(StoreError) in
      guard let code = Self.table(of: entry.key, wanted) else { return }
      try take(code, entry)
    }
    try steps.check()
  }

  /// The table with keys of this form, among these.
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
      guard let id = StoreChecker.objectID(key), id.rootCode == rootCode, id.serial > 0 else {
        run.report.lostObjectCount += 1
        run.lose(
          .object, page: page(table, key),
          "the table of \(schema.entity(code: rootCode)?.name ?? "") has a malformed key")
        return true
      }
      steps.advance(value.byteCount)
      if let problem = problem(of: value, id) {
        run.noteDamaged(id, page: page(table, key), problem)
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

  /// Why a record cannot be salvaged; nil if it can.
  func problem(of value: borrowing RawSpan, _ id: ObjectID) -> String? {
    do throws(StoreError) {
      let entity = try schema.entity(of: try schema.view(of: copy value, id: id), id: id)
      return entity.isAbstract ? "its entity \(entity.name) is abstract" : nil
    } catch {
      let isIntact = ValueEnvelope.isIntact(copy value, seed: ValueEnvelope.seed(object: id))
      return isIntact ? "the format of its record does not match its entity" : RecordError.checksumMismatch.description
    }
  }

  // MARK: Further data of objects

  /// Copies the provenance of clones, the results of operations, and the redirects of a migration.
  private func copyOrigins() throws(StoreError) {
    for (code, table) in [
      (TableCode.provenance, schema.tables.provenance), (.operations, schema.tables.operations),
      (.redirects, schema.tables.redirects),
    ] {
      try source.scan(code) { (key, value) throws(StoreError) in
        let seed = ValueEnvelope.seed(tableCode: code, key: copy key)
        guard ValueEnvelope.isIntact(copy value, seed: seed), try isReadable(code, key, value, seed) else {
          return true
        }
        let bytes = code == .provenance ? Self.withoutDraft(value, seed) : nil
        if let bytes {
          try writer.append(table, unsafePointers(copy key), unsafePointers(bytes.span.bytes))
        } else {
          try writer.append(table, unsafePointers(copy key), unsafePointers(copy value))
        }
        return true
      }
    }
  }

  /// Returns the provenance of a draft's clone as that of an ordinary clone: the base is left behind with the snapshots,
  /// and the new store may give its number to another one. Nil for other clones.
  private static func withoutDraft(_ value: borrowing RawSpan, _ seed: UInt64) -> [UInt8]? {
    guard var entry = try? ProvenanceValue(stored: copy value, seed: seed), entry.draft != nil else { return nil }
    entry.draft = nil
    return entry.encoded(seed: seed)
  }

  private func isReadable(
    _ code: TableCode, _ key: borrowing RawSpan, _ value: borrowing RawSpan, _ seed: UInt64
  ) throws(StoreError) -> Bool {
    switch code {
    case .provenance:
      guard (try? ProvenanceValue(stored: copy value, seed: seed)) != nil, let id = StoreChecker.objectID(key),
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
      return StoreChecker.objectID(key) != nil && (try? RedirectValue(stored: copy value, seed: seed)) != nil
    }
  }

  private func countSnapshots() throws(StoreError) {
    try source.scan(.snapshots) { (key, value) throws(StoreError) in
      let seed = ValueEnvelope.seed(tableCode: .snapshots, key: copy key)
      // One of a branch counts with the branch.
      if (try? SnapshotValue(stored: copy value, seed: seed))?.isHidden != true { run.report.snapshotCount += 1 }
      return true
    }
    try source.scan(.branches) { (key, value) throws(StoreError) in
      let seed = ValueEnvelope.seed(tableCode: .branches, key: copy key)
      if let name = String(validating: key.withUnsafeBytes { Array($0) }, as: UTF8.self),
        let branch = try? BranchValue(stored: copy value, seed: seed)
      {
        run.report.branches.append(OmittedBranch(name, branch))
      }
      return true
    }
  }
}
