import Foundation
import KVClone
import KVCloneExplorer
import KVCloneOperations

/// Statistics as text of at most 80 columns, if names are short enough.
enum StatTable {
  static func text(_ statistics: StoreStatistics, _ style: Style) -> String {
    facts(statistics) + "\n" + tables(statistics, style)
  }

  static func text(_ deep: DeepStatistics, _ style: Style) -> String {
    var text = facts(deep.summary)
    let total = deep.total
    var areas = TextTable("AREA", ["COUNT", "BYTES", "SHARE"])
    for (kind, sum) in deep.sums {
      areas.add(kind.title, [count(sum.count), Text.binary(sum.byteCount), share(sum.byteCount, total)])
    }
    areas.add("all pages", ["", Text.binary(total), share(total, total)])
    text += "\n" + areas.text(style)
    text += entities(deep, style) + relationships(deep, style) + largeValues(deep, style) + indexes(deep, style)
    if !deep.preimages.isEmpty {
      var table = TextTable("PREIMAGES", ["ENTRIES", "BYTES", "SHARE"])
      for area in deep.preimages {
        table.add(area.name, [count(area.count), Text.binary(area.byteCount), share(area.byteCount, total)])
      }
      text += "\n" + table.text(style)
    }
    return text + "\n" + fills(deep, style)
  }

  // MARK: Facts

  private static func facts(_ statistics: StoreStatistics) -> String {
    let pageSize = UInt64(statistics.pageSize)
    let pages = UInt64(statistics.pageCount)
    let used = UInt64(statistics.usedPages)
    let free = statistics.freePages
    var parts: [String] = []
    for (name, pages) in [("reusable", free.reusable), ("held by readers", free.held), ("just freed", free.recent)]
    where pages > 0 {
      parts.append("\(Text.binary(UInt64(pages) * pageSize)) \(name)")
    }
    if statistics.tailBytes > 0 { parts.append("\(Text.binary(statistics.tailBytes)) after the last page") }
    let freeText = Text.binary((pages - min(used, pages)) * pageSize)
    var lines = [
      ("store", statistics.uuid.uuidString), ("commit", "\(statistics.commit)"),
      (
        "file",
        "\(Text.binary(statistics.fileBytes)), \(pages) pages of \(Text.binary(pageSize)), mapped into \(Text.binary(statistics.mapBytes))"
      ),
      ("in use", "\(Text.binary(used * pageSize)), \(share(used, pages))"),
      ("free", parts.isEmpty ? freeText : parts.joined(separator: ", ")), ("objects", "\(statistics.objectCount)"),
      ("snapshots", "\(statistics.snapshotCount)"), ("readers", readers(statistics)),
    ]
    lines.append(("writer", statistics.writer.map { Text.cut($0.summary, 68) } ?? "none"))
    return lines.map { Text.padded($0.0, 11) + $0.1 + "\n" }.joined()
  }

  private static func readers(_ statistics: StoreStatistics) -> String {
    guard let oldest = statistics.oldestReader else { return "none" }
    let who =
      "process \(oldest.processID)" + (oldest.isStale ? " (stale)" : oldest.owner.isEmpty ? "" : " (\(oldest.owner))")
    var parts = ["\(statistics.readerCount); oldest: \(Text.cut(who, 30))", "\(oldest.lag) commits behind"]
    if let age = oldest.age { parts.append(Text.age(age)) }
    return parts.joined(separator: ", ")
  }

  private static func tables(_ statistics: StoreStatistics, _ style: Style) -> String {
    let pageSize = UInt64(statistics.pageSize)
    let total = UInt64(statistics.pageCount) * pageSize
    var table = TextTable("TABLE", ["ENTRIES", "DEPTH", "BRANCH", "LEAF", "OVERFLOW", "BYTES", "SHARE"])
    for tree in statistics.tables where tree.pageCount > 0 {
      let bytes = UInt64(tree.pageCount) * pageSize
      table.add(
        tree.name,
        [
          count(tree.entryCount), "\(tree.depth)", "\(tree.branchPages)", "\(tree.leafPages)", "\(tree.overflowPages)",
          Text.binary(bytes), share(bytes, total),
        ])
    }
    var text = table.text(style)
    var objects = TextTable("ENTITY", ["OBJECTS"])
    for (entity, number) in statistics.counts.sorted(by: { $0.key < $1.key }) { objects.add(entity, ["\(number)"]) }
    if !statistics.counts.isEmpty { text += "\n" + objects.text(style) }
    return text
  }

  // MARK: Deep

  private static func entities(_ deep: DeepStatistics, _ style: Style) -> String {
    var table = TextTable("ENTITY", ["OBJECTS", "BYTES", "MEAN", "BLOBS", "SHARE"])
    for entity in deep.entities {
      table.add(
        entity.name,
        [
          "\(entity.objectCount)", Text.binary(entity.byteCount),
          entity.objectCount == 0 ? "" : Text.binary(UInt64(entity.meanByteCount.rounded())),
          "\(entity.blobCount)", share(entity.byteCount, deep.total),
        ])
    }
    return deep.entities.isEmpty ? "" : "\n" + table.text(style)
  }

  private static func relationships(_ deep: DeepStatistics, _ style: Style) -> String {
    var table = TextTable("RELATIONSHIP", ["LINKS", "INLINE", "LISTS", "IN LISTS", "SHARE"])
    for relationship in deep.relationships {
      table.add(
        relationship.title,
        [
          count(relationship.memberCount), Text.binary(relationship.inlineBytes),
          relationship.isHidden ? "" : count(relationship.chunkedListCount), Text.binary(relationship.chunkBytes),
          share(relationship.chunkBytes, deep.total),
        ])
    }
    return deep.relationships.isEmpty ? "" : "\n" + table.text(style)
  }

  private static func largeValues(_ deep: DeepStatistics, _ style: Style) -> String {
    if deep.blobs.isEmpty { return "" }
    var table = TextTable("BLOBS", ["COUNT", "BYTES", "OWNERS", "SHARED", "SAVED", "SHARE"])
    for value in deep.blobs {
      table.add(
        "\(value.entity).\(value.attribute)",
        [
          count(value.count), Text.binary(value.byteCount), count(value.referenceCount), count(value.sharedCount),
          Text.binary(value.savedBytes), share(value.storedBytes, deep.total),
        ])
    }
    var text = "\n" + table.text(style)
    for value in deep.blobs {
      text += "\nsizes of \(value.entity).\(value.attribute)\n"
      let most = value.histogram.map(\.count).max() ?? 0
      var previous: UInt64 = 0
      for size in value.histogram {
        defer { previous = size.upTo ?? 0 }
        if size.count == 0 { continue }
        let name = size.upTo.map { "up to \(Text.binary($0))" } ?? "above \(Text.binary(previous))"
        let length = max(1, Int(Double(size.count) / Double(max(1, most)) * 40))
        text += "  \(Text.padded(name, 16)) \(Text.padded(count(size.count), 10))"
        text += String(repeating: "█", count: length) + "\n"
      }
    }
    return text
  }

  private static func indexes(_ deep: DeepStatistics, _ style: Style) -> String {
    var table = TextTable("INDEX", ["ENTRIES", "BYTES", "SHARE"])
    for index in deep.indexes {
      table.add(
        index.title + (index.isUnique ? " (unique)" : ""),
        [count(index.entryCount), Text.binary(index.byteCount), share(index.byteCount, deep.total)])
    }
    return deep.indexes.isEmpty ? "" : "\n" + table.text(style)
  }

  private static func fills(_ deep: DeepStatistics, _ style: Style) -> String {
    let pageSize = UInt64(deep.summary.pageSize)
    var table = TextTable("PAGES OF", ["PAGES", "CONTENT", "OVERHEAD", "UNUSED", "FILL", "COMPACT"])
    for fill in deep.pageUtilization where fill.pageCount > 0 {
      let bytes = UInt64(fill.pageCount) * pageSize
      table.add(
        fill.name,
        [
          "\(fill.pageCount)", Text.binary(fill.contentBytes), Text.binary(fill.overheadBytes),
          Text.binary(fill.unusedBytes), share(bytes - fill.unusedBytes, bytes), "\(fill.compactedPageCount)",
        ])
    }
    let savings = deep.compactionSavings
    let advice =
      savings == 0
      ? "compact would save almost nothing" : "compact would save about \(Text.binary(savings)) (an estimate)"
    return table.text(style) + "\n\(advice)\n"
  }

  private static func share(_ part: UInt64, _ whole: UInt64) -> String { Text.share(part, whole) }

  private static func count(_ number: UInt64) -> String { "\(number)" }
}

/// A table with names in the first column, and right-aligned numbers in the others.
struct TextTable {
  private static let width = 80
  private let headings: [String]
  private var rows: [[String]] = []

  init(_ name: String, _ columns: [String]) {
    headings = [name] + columns
  }

  mutating func add(_ name: String, _ cells: [String]) { rows.append([name] + cells) }

  /// Truncates names in lines that would be too long.
  func text(_ style: Style) -> String {
    var widths = headings.indices.map { column in ([headings] + rows).map { $0[column].count }.max() ?? 0 }
    let others = widths.dropFirst().reduce(0) { $0 + $1 + 2 }
    widths[0] = min(widths[0], max(12, Self.width - others))
    func line(_ cells: [String]) -> String {
      var line = Text.padded(Text.cut(cells[0], widths[0]), widths[0])
      for (cell, width) in zip(cells, widths).dropFirst() {
        line += String(repeating: " ", count: 2 + max(0, width - cell.count)) + cell
      }
      while line.last == " " { line.removeLast() }
      return line
    }
    return style.bold(line(headings)) + "\n" + rows.map { line($0) + "\n" }.joined()
  }
}

extension WriteLockHolder {
  /// `process 123 (kvclone), “load”, since 2026-11-23T05:31:12Z (3.20 s)`.
  var summary: String {
    let name = processName.isEmpty ? "" : " (\(processName))"
    let what = label.isEmpty ? "" : ", “\(label)”"
    return "process \(processID)\(name)\(what), since \(since.formatted(.iso8601)) (\(Text.age(age)))"
  }
}
