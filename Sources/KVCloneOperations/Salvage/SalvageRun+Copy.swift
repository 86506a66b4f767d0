#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

extension SalvageRun {
  /// Salvages a store into a new one.
  func salvage(_ path: String, to target: String) throws(StoreError) -> SalvageReport {
    try steps.check()
    let file = try SalvageSource.open(path, self)
    // Checked before the long read, and again after it.
    let copy = try storeErrors { () throws(LMDBError) in try StoreCopy(to: target, copyOnWrite: .offUnlessMirrored) }
    do throws(StoreError) {
      try fill(copy, from: try SalvageSource(path, file, self))
    } catch {
      try steps.check()
      try steps.requireCurrent(file, path)
      throw error
    }
    try steps.requireCurrent(file, path)
    copy.removeReaderLock()
    try steps.sync(copy)
    report.commit = try steps.verify(copy, .everything, of: target).commit
    report.byteCount = copy.byteCount
    try steps.publish(copy)
    report.duration = ContinuousClock.now - steps.start
    return report
  }

  private func fill(_ copy: borrowing StoreCopy, from source: SalvageSource) throws(StoreError) {
    let names = TableCode.fixed.map { $0.name ?? "" }
    let environment = try storeErrors { () throws(LMDBError) in try copy.openEnvironment(tables: names) }
    defer { environment.close() }
    let engine = LMDBEngine(environment)
    let metadata = try engine.openTables([.metadata], create: false)[0]
    let description = try SalvageMetadata(source, self)
    let first = try SalvageWriter(engine, steps)
    let catalog = try description.write(first, metadata, source, self)
    try first.finish()
    _ = try engine.openTables(catalog.tableCodes, create: true)
    let tables = try SchemaTables.open(engine, metadata, catalog)
    // Derived attributes are computed after all of their sources exist.
    let plain = try Schema(catalog, tables: tables, maintainsDerived: false)
    let writer = try SalvageWriter(engine, steps)
    let lost = source.lost(catalog.tableCodes)
    try SalvageCopy(source: source, writer: writer, schema: plain, run: self, lost: lost).copy()
    try writer.finish()
    let format = try Metadata.format(StorageTransaction(try engine.beginRead()), metadata)
    let stored = try Metadata.counter(
      StorageTransaction(try engine.beginRead()), metadata, MetadataKey.commitCounter)
    // A corrupted meta page may have been that of a later commit.
    let isUncertain =
      description.isUncertain || report.lossCounts[.state] != nil || !source.file.metaFindings.isEmpty
    // Later commits may have been seen elsewhere, even if the file has no trace of them.
    let commit = max(stored, lastCommit) + (isUncertain ? 1 << 10 : 1)
    func mend(_ schema: Schema) -> SalvageMend {
      SalvageMend(
        engine: engine, schema: schema, storeUUID: format?.storeUUID ?? UUID(), commit: commit, run: self)
    }
    try mend(plain).mend()
    let schema = try Schema(catalog, tables: tables)
    try mend(schema).makeDerived(isUncertain: isUncertain)
    try count(schema, engine)
  }

  private func count(_ schema: Schema, _ engine: LMDBEngine) throws(StoreError) {
    let session = StoreContext(uuid: UUID()).session(try engine.beginRead(), schema)
    for entity in schema.entities where !entity.isAbstract { report.counts[entity.name] = 0 }
    for rootCode in schema.rootCodes {
      for (code, count) in try session.counts(rootCode: rootCode) {
        report.counts[schema.entity(code: code)?.name ?? "", default: 0] += count
        report.objectCount += count
      }
    }
  }
}
