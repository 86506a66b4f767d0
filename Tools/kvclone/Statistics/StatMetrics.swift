import Foundation
import KVClone
import KVCloneExplorer
import KVCloneOperations

/// Statistics in Prometheus text format 0.0.4: for each metric its help, its type, and a line for each series.
struct StatMetrics {
  private var text = ""

  static func text(_ statistics: StoreStatistics, deep: DeepStatistics?) -> String {
    var metrics = StatMetrics()
    metrics.add(statistics)
    if let deep { metrics.add(deep) }
    return metrics.text
  }

  private enum Kind: String { case gauge, counter, histogram }

  private typealias Labels = KeyValuePairs<String, String>

  private mutating func begin(_ name: String, _ kind: Kind, _ help: String) {
    text += "# HELP kvclone_\(name) \(help)\n# TYPE kvclone_\(name) \(kind.rawValue)\n"
  }

  private mutating func series(_ name: String, _ labels: Labels, _ value: String) {
    let pairs = labels.map { "\($0.key)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",")
    text += "kvclone_\(name)" + (pairs.isEmpty ? "" : "{\(pairs)}") + " \(value)\n"
  }

  private mutating func single(_ name: String, _ kind: Kind, _ help: String, _ value: some BinaryInteger) {
    begin(name, kind, help)
    series(name, [:], "\(value)")
  }

  /// Writes a metric with one or two labels.
  private mutating func family<Element>(
    _ name: String, _ help: String, _ elements: [Element], _ labels: (Element) -> Labels,
    _ value: (Element) -> any BinaryInteger
  ) {
    if elements.isEmpty { return }
    begin(name, .gauge, help)
    for element in elements { series(name, labels(element), "\(value(element))") }
  }

  /// Escapes the value of a label.
  static func escaped(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }

  private static func seconds(_ duration: Duration) -> String { String(format: "%.3f", duration.inSeconds) }

  private mutating func add(_ statistics: StoreStatistics) {
    begin("store_info", .gauge, "The store's identity.")
    series("store_info", ["store": statistics.uuid.uuidString], "1")
    single("commits_total", .counter, "Committed write transactions.", statistics.commit)
    single("file_bytes", .gauge, "Size of the data file in bytes.", statistics.fileBytes)
    single("tail_bytes", .gauge, "Bytes of the data file after its last page.", statistics.tailBytes)
    single("map_bytes", .gauge, "Size of the memory map in bytes.", statistics.mapBytes)
    single("page_size_bytes", .gauge, "Page size in bytes.", statistics.pageSize)
    let free = statistics.freePages
    family(
      "pages", "Pages of the file by state: used, reusable, held by readers, or freed by the last commit.",
      [("used", statistics.usedPages), ("reusable", free.reusable), ("held", free.held), ("recent", free.recent)],
      { ["state": $0.0] }, { $0.1 })
    let counts = statistics.counts.sorted { $0.key < $1.key }
    family("objects", "Objects by concrete entity.", counts, { ["entity": $0.key] }, { $0.value })
    family("table_entries", "Entries by table.", statistics.tables, { ["table": $0.name] }, { $0.entryCount })
    let parts = statistics.tables.flatMap { table in
      [("branch", table.branchPages), ("leaf", table.leafPages), ("overflow", table.overflowPages)].map {
        (table: table.name, part: $0.0, bytes: $0.1 * statistics.pageSize)
      }
    }
    family(
      "table_bytes", "Bytes of pages by table and page kind.", parts, { ["table": $0.table, "pages": $0.part] },
      { $0.bytes })
    single("snapshots", .gauge, "Named snapshots.", statistics.snapshotCount)
    addUsers(statistics)
  }

  private mutating func addUsers(_ statistics: StoreStatistics) {
    single("readers", .gauge, "Open readers in all processes.", statistics.readerCount)
    let oldest = statistics.oldestReader
    single(
      "oldest_reader_lag_commits", .gauge, "Commits that the oldest reader lags behind; 0 without readers.",
      oldest?.lag ?? 0)
    single(
      "oldest_reader_retained_bytes", .gauge, "Bytes that could be reused without the oldest reader.",
      oldest?.retainedBytes ?? 0)
    single(
      "oldest_reader_stale", .gauge, "1 if the process of the oldest reader has ended.",
      oldest?.isStale ?? false ? 1 : 0)
    if oldest == nil || oldest?.age != nil {
      begin("oldest_reader_age_seconds", .gauge, "Age of the oldest reader, as a lower bound.")
      series("oldest_reader_age_seconds", [:], Self.seconds(oldest?.age ?? .zero))
    }
    single("writer_active", .gauge, "1 while the write lock is held.", statistics.writer == nil ? 0 : 1)
    begin("writer_held_seconds", .gauge, "Time since the write lock was acquired; 0 while it is free.")
    series("writer_held_seconds", [:], Self.seconds(statistics.writer?.age ?? .zero))
  }

  private mutating func add(_ deep: DeepStatistics) {
    family(
      "entity_bytes", "Bytes of records and their keys, by entity.", deep.entities,
      { ["entity": $0.name] }, { $0.byteCount })
    func labels(_ relationship: RelationshipStatistics) -> Labels {
      let side = relationship.isHidden ? "referrers" : "own"
      return ["entity": relationship.entity, "relationship": relationship.name, "side": side]
    }
    family("relationship_links", "Links by relationship.", deep.relationships, labels, { $0.memberCount })
    family(
      "relationship_inline_bytes", "Bytes of a relationship inside records; included in entity_bytes.",
      deep.relationships, labels, { $0.inlineBytes })
    family(
      "relationship_list_bytes", "Bytes of a relationship in chunk lists outside records.", deep.relationships, labels,
      { $0.chunkBytes })
    addLargeValues(deep.blobs)
    func index(_ index: IndexStatistics) -> Labels { ["entity": index.entity, "index": index.name] }
    family("index_entries", "Entries by index.", deep.indexes, index, { $0.entryCount })
    family("index_bytes", "Bytes by index.", deep.indexes, index, { $0.byteCount })
    family(
      "previous_state_bytes", "Bytes of preimages, which snapshots read, by table.",
      deep.preimages, { ["of": $0.name] }, { $0.byteCount })
    family(
      "area_bytes", "Bytes of the file by purpose; the sum is all pages.", deep.spaceUsage,
      { ["area": $0.kind.rawValue, "name": $0.name] }, { $0.byteCount })
    single(
      "compaction_savings_bytes", .gauge, "Estimated bytes that compact would save.", deep.compactionSavings)
    begin("fragmentation_ratio", .gauge, "Unused share of the pages in use.")
    series("fragmentation_ratio", [:], String(format: "%.6f", deep.fragmentation))
  }

  private mutating func addLargeValues(_ values: [BlobStatistics]) {
    if values.isEmpty { return }
    let name = "large_value_size_bytes"
    begin(name, .histogram, "Sizes of blobs, each counted once, even if shared.")
    for value in values {
      var count: UInt64 = 0
      for size in value.histogram {
        count += size.count
        let limit = size.upTo.map { "\($0)" } ?? "+Inf"
        series(
          "\(name)_bucket", ["entity": value.entity, "attribute": value.attribute, "le": limit], "\(count)")
      }
      series("\(name)_sum", ["entity": value.entity, "attribute": value.attribute], "\(value.byteCount)")
      series("\(name)_count", ["entity": value.entity, "attribute": value.attribute], "\(value.count)")
    }
    func labels(_ value: BlobStatistics) -> Labels { ["entity": value.entity, "attribute": value.attribute] }
    family("large_value_stored_bytes", "Bytes of blobs in the file.", values, labels, { $0.storedBytes })
    family("large_value_references", "Objects with a blob.", values, labels, { $0.referenceCount })
    family("large_values_shared", "Blobs shared by several objects.", values, labels, { $0.sharedCount })
    family(
      "large_value_saved_bytes", "Bytes saved by sharing blobs.", values, labels,
      { $0.savedBytes })
  }
}
