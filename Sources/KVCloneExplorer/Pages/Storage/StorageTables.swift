import KVClone
import KVCloneOperations

/// The sizes of entities, indexes and other parts as tables.
enum StorageTables {
  static func html(_ deep: DeepStatistics, _ context: PageContext) -> HTML {
    let total = deep.total
    func share(_ bytes: UInt64) -> [HTML] {
      [Components.bytes(bytes), "\(Text.share(bytes, total))", Components.bar(Double(bytes) / Double(max(1, total)))]
    }
    var html = table(
      "Entities", ["Objects", "Mean", "Blobs"],
      deep.entities.map { entity in
        (
          Components.link(entity.name, context.link(["entities", entity.name], [("at", nil)])),
          [
            Components.number(entity.objectCount), Components.bytes(UInt64(entity.meanByteCount.rounded())),
            Components.number(entity.blobCount),
          ], share(entity.byteCount)
        )
      })
    html += table(
      "Indexes", ["Entries"],
      deep.indexes.map { index in
        (
          "\(index.entity).\(index.name) \(index.isUnique ? Components.badge("unique") : nil)",
          [number(index.entryCount)], share(index.byteCount)
        )
      })
    html += table(
      "Relationships", ["Links", "In records", "Lists"],
      deep.relationships.map { relationship in
        (
          "\(relationship.entity).\(relationship.name) \(relationship.isHidden ? Components.badge("referrers") : nil)",
          [
            number(relationship.memberCount), Components.bytes(relationship.inlineBytes),
            number(relationship.chunkedListCount),
          ], share(relationship.chunkBytes)
        )
      })
    html += table(
      "Blobs", ["Blobs", "Owners", "Shared", "Saved"],
      deep.blobs.map { blob in
        (
          "\(blob.entity).\(blob.attribute)",
          [
            number(blob.count), number(blob.referenceCount), number(blob.sharedCount),
            Components.bytes(blob.savedBytes),
          ], share(blob.storedBytes)
        )
      })
    html += table(
      "Preimages", ["Entries"],
      deep.preimages.map { area in
        ("\(area.name)", [number(area.count)], share(area.byteCount))
      })
    let savings = deep.compactionSavings
    let advice: HTML =
      savings == 0
      ? "A compact copy would save almost nothing."
      : "A compact copy would save about \(Components.bytes(savings)): <code>kvclone compact -o DEST</code>."
    return html + "<p>\(advice)</p>"
  }

  private static func number(_ count: UInt64) -> HTML { Components.number(Int(clamping: count)) }

  private static func table(
    _ title: String, _ columns: [HTML], _ rows: [(name: HTML, cells: [HTML], share: [HTML])]
  ) -> HTML {
    if rows.isEmpty { return .empty }
    let numeric = (columns + ["Bytes", "Share"]).map { Components.Column($0, isNumeric: true) }
    return Components.section(
      title,
      Components.table(
        "\(title), with their bytes", columns: [Components.Column("Name")] + numeric + [Components.Column("")],
        rows: rows.map { [$0.name] + $0.cells + $0.share }))
  }

  static func table(_ deep: DeepStatistics) -> PageTable {
    PageTable(
      columns: ["area", "name", "count", "bytes"],
      rows: deep.spaceUsage.map { [$0.kind.rawValue, $0.name, "\($0.count)", "\($0.byteCount)"] })
  }

  /// The tables of the file, from the counters that it maintains.
  static func table(_ statistics: StoreStatistics) -> PageTable {
    PageTable(
      columns: ["table", "entries", "depth", "branchPages", "leafPages", "overflowPages", "bytes"],
      rows: statistics.tables.map {
        [
          $0.name, "\($0.entryCount)", "\($0.depth)", "\($0.branchPages)", "\($0.leafPages)", "\($0.overflowPages)",
          "\($0.pageCount * statistics.pageSize)",
        ]
      })
  }
}
