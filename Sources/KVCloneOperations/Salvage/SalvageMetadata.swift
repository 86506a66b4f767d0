#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// The metadata of the new store: those of the damaged one, if readable. Lost ones are searched for on older pages:
/// documents and layouts never change under their names, and of counters the highest counts.
struct SalvageMetadata {
  private var values: [String: [UInt8]] = [:]
  /// Whether a value is missing that may have been greater than what was found.
  private(set) var isUncertain = false

  init(_ source: SalvageSource, _ run: SalvageRun) throws(StoreError) {
    var hasDamage = !source.lost([.metadata])[.metadata].isEmpty || source.entryCount(.metadata) == nil
    var found: [String: [UInt8]] = [:]
    try source.scan(.metadata) { (key, value) throws(StoreError) in
      let bytes = key.withUnsafeBytes { Array($0) }
      if bytes.elementsEqual(MetadataKey.history.utf8) { run.report.hadHistory = true }
      guard let name = Self.wanted(bytes) else { return true }
      if Self.isIntact(name, bytes, value) {
        found[name] = value.withUnsafeBytes { Array($0) }
      } else {
        hasDamage = true
      }
      return true
    }
    values = found
    if !hasDamage { return }
    isUncertain = true
    var merged = found
    let kept = found
    source.pages.forEachHidden(includingFree: true) { entry in
      guard entry.key.count <= 32, let name = Self.wanted(Array(entry.key)), kept[name] == nil,
        let value = entry.value(), Self.isIntact(name, Array(entry.key), RawSpan(_unsafeBytes: value))
      else { return }
      let bytes = Array(value)
      merged[name] = merged[name].map { Self.newer($0, bytes, name) } ?? bytes
    }
    try run.steps.check()
    values = merged
    let names = merged.keys.filter { kept[$0] == nil }.sorted()
    guard !names.isEmpty || merged[MetadataKey.format] == nil else { return }
    run.lose(
      .metadata,
      names.isEmpty
        ? "the metadata is unreadable"
        : "part of the metadata was lost and restored from older pages: \(names.joined(separator: ", "))"
    )
  }

  /// The names of salvaged metadata. Others describe data that is omitted.
  private static func wanted(_ key: [UInt8]) -> String? {
    guard let name = String(validating: key, as: UTF8.self) else { return nil }
    let fixed = [
      MetadataKey.format, MetadataKey.commitCounter, MetadataKey.epoch, MetadataKey.blobSerial, MetadataKey.catalog,
    ]
    if fixed.contains(name) { return name }
    let prefixes = ["serial-", "layout-", "model-"]
    return prefixes.contains { name.hasPrefix($0) && name.utf8.count == $0.utf8.count + 4 } ? name : nil
  }

  private static func isIntact(_ name: String, _ key: [UInt8], _ value: borrowing RawSpan) -> Bool {
    if name == MetadataKey.format { return (try? FormatRecord(stored: copy value)) != nil }
    return ValueEnvelope.isIntact(copy value, seed: ValueEnvelope.seed(tableCode: .metadata, key: key))
  }

  private static func newer(_ left: [UInt8], _ right: [UInt8], _ name: String) -> [UInt8] {
    func number(_ bytes: [UInt8]) -> UInt64 {
      if name == MetadataKey.format { return UInt64((try? FormatRecord(stored: bytes.span.bytes))?.version ?? 0) }
      let seed = ValueEnvelope.seed(tableCode: .metadata, key: MetadataKey.bytes(name))
      return (try? CounterValue(stored: bytes.span.bytes, seed: seed))?.value ?? 0
    }
    return number(right) > number(left) ? right : left
  }

  /// The format record of the file; nil if it is lost.
  var format: FormatRecord? { values[MetadataKey.format].flatMap { try? FormatRecord(stored: $0.span.bytes) } }

  // MARK: Writing

  /// Writes the metadata into a new store, and returns the catalog; the given model replaces an unreadable one.
  func write(
    _ writer: SalvageWriter, _ table: StorageTable, _ source: SalvageSource, _ run: SalvageRun
  ) throws(StoreError) -> StoreCatalog {
    if let format { try format.requireReadable(at: source.path) }
    for (name, value) in values { try writer.put(table, MetadataKey.bytes(name), value) }
    try writer.flush()
    do throws(StoreError) {
      let catalog = try StoreCatalog(StorageTransaction(lookingInto: writer.backend), table)
      if format == nil { try writeFormat(for: catalog, writer, table, run) }
      return catalog
    } catch {
      guard error.kind == .corrupted else { throw error }
      return try standIn(writer, table, source, run)
    }
  }

  /// Writes the format record for a store with this catalog, with a new UUID.
  private func writeFormat(
    for catalog: StoreCatalog, _ writer: SalvageWriter, _ table: StorageTable, _ run: SalvageRun
  ) throws(StoreError) {
    var record = FormatRecord(storeUUID: UUID(), created: Date().timeIntervalSinceReferenceDate)
    if catalog.codes.fetchIndexes != nil { record.raise(to: FormatLimits.fetchIndexFormatVersion) }
    if catalog.codes.former != nil { record.raise(to: FormatLimits.migrationFormatVersion) }
    try writer.put(table, MetadataKey.bytes(MetadataKey.format), record.encoded())
    run.lose(.metadata, "the UUID of the store is unreadable; the new store has a new UUID")
  }

  /// The catalog of the given model.
  private func standIn(
    _ writer: SalvageWriter, _ table: StorageTable, _ source: SalvageSource, _ run: SalvageRun
  ) throws(StoreError) -> StoreCatalog {
    let path = source.path
    if values.isEmpty, run.options.model == nil, !source.hasTables {
      throw StoreError(.invalidStore, "\(path) contains no data of a store of this library")
    }
    guard let model = run.options.model else {
      throw StoreError(
        .corrupted,
        "the model of the store at \(path) is unreadable; give its model version (kvclone salvage --model)"
      )
    }
    if let format, format.version >= FormatLimits.migrationFormatVersion {
      throw StoreError(
        .incompatibleModel,
        "the store at \(path) was migrated, and its stored record layouts are unreadable; restore a backup")
    }
    do { _ = try model.validate() } catch { throw StoreError(.invalidModel, "\(error)") }
    let catalog = try StoreCatalog(new: model)
    for layout in catalog.layouts {
      let name = MetadataKey.layout(layout.id)
      guard let stored = values[name] else { continue }
      let seed = ValueEnvelope.seed(tableCode: .metadata, key: MetadataKey.bytes(name))
      if (try? RecordLayout(stored: stored.span.bytes, seed: seed)) == layout { continue }
      throw StoreError(
        .incompatibleModel,
        "the given model does not match the objects of \(path); give the model version of the store")
    }
    for (key, value) in try catalog.entries(uuid: UUID(), created: Date()) {
      let name = String(decoding: key, as: UTF8.self)
      if [MetadataKey.format, MetadataKey.derivations, MetadataKey.commitCounter].contains(name) { continue }
      try writer.put(table, key, value)
    }
    run.lose(.metadata, "the model of the store is unreadable; the given model was used")
    if var format {
      if catalog.codes.fetchIndexes != nil { format.raise(to: FormatLimits.fetchIndexFormatVersion) }
      try writer.put(table, MetadataKey.bytes(MetadataKey.format), format.encoded())
    } else {
      try writeFormat(for: catalog, writer, table, run)
    }
    return catalog
  }
}
