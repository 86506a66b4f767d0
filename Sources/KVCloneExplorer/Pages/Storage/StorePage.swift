import Foundation
import KVClone
import KVCloneCore
import KVCloneOperations

/// The storage of the store: its file and pages, readers, the writer, and the space usage.
struct StorePage: Page {
  /// Nil for an engine without pages.
  let statistics: StoreStatistics?
  /// The latest measurement.
  let deep: DeepStatistics?
  let readers: [ActiveReader]
  let writer: WriteLockHolder?
  let commit: UInt64
  let snapshotCount: Int
  let fileBytes: UInt64
  let isMeasuring: Bool

  /// The largest file that this page measures without a job, in bytes.
  private static let maximumUnrequested: UInt64 = 64 << 20

  /// The number of objects up to which entities with a common root entity are counted.
  private static let maximumHeaders = 1_000_000

  static func read(_ context: PageContext) async throws -> StorePage {
    let store = context.store
    let statistics = try Self.statistics(store)
    let page = StorePage(
      statistics: statistics, deep: try await deep(statistics, context), readers: try store.activeReaders(),
      writer: store.writeLockHolder, commit: try statistics?.commit ?? store.currentToken().commit,
      snapshotCount: try statistics?.snapshotCount ?? store.snapshots().count,
      fileBytes: try statistics?.fileBytes ?? store.engine.facts().fileBytes,
      isMeasuring: context.jobs.all.contains { $0.isRunning && $0.kind == .sizes })
    return page
  }

  private static func statistics(_ store: ObjectStore) throws -> StoreStatistics? {
    do throws(StoreError) {
      return try StoreStatistics(of: store, headerLimit: maximumHeaders)
    } catch {
      guard error.kind == .unsupportedByEngine else { throw error }
      return nil
    }
  }

  /// Returns the latest measurement; measures a small file if none of this state exists.
  private static func deep(_ statistics: StoreStatistics?, _ context: PageContext) async throws -> DeepStatistics? {
    guard let statistics else { return nil }
    let known = context.jobs.statistics
    if known?.summary.commit == statistics.commit || statistics.fileBytes > maximumUnrequested { return known }
    let cancellation = Cancellation()
    let end = context.deadline.end - context.options.requestTimeLimit / 2
    do throws(StoreError) {
      let deep = try await context.store.deepStatistics(
        progress: { _ in if ContinuousClock.now > end { cancellation.cancel() } }, cancellation: cancellation)
      context.jobs.keep(deep)
      return deep
    } catch {
      // A corrupted page: the rest of this page is still of use, and a check shows the extent.
      guard error.kind == .cancelled || error.kind == .corrupted else { throw error }
      return known
    }
  }

  var title: String { "Store" }

  var section: PageSection { .store }

  // MARK: HTML

  func html(_ context: PageContext) -> HTML {
    var html = Components.live("store-figures", Components.figures(figures))
    html += Components.toolbar([
      Components.buttonLink("Check…", context.link(["store", "check"], [("at", nil)]))
    ])
    html += Components.section("Space usage", space(context))
    if let statistics { html += Components.section("Pages", pages(statistics)) }
    html += Components.live("store-readers", Components.section("Readers", readerTable))
    html += Components.live("store-writer", Components.section("Write lock", writerFacts))
    if let deep { html += StorageTables.html(deep, context) }
    if let statistics { html += Components.section("Tables", tables(statistics)) }
    return html
  }

  private var figures: [(name: String, value: HTML)] {
    var items: [(name: String, value: HTML)] = [("Commits", Components.number(Int(clamping: commit)))]
    if let statistics { items.append(("Objects", Components.number(statistics.objectCount))) }
    items.append(("Snapshots", Components.number(snapshotCount)))
    if fileBytes > 0 { items.append(("Size", Components.bytes(fileBytes))) }
    items.append(("Readers", Components.number(readers.count)))
    items.append(("Writer", writer == nil ? "none" : Components.badge("active", "warning")))
    return items
  }

  private func space(_ context: PageContext) -> HTML {
    guard statistics != nil else {
      return Components.empty(
        "A store in a cluster has no pages of its own.",
        "Measure its tables in the PostgreSQL server; <code>kvclone cluster status</code> lists the stores.")
    }
    let target = context.link(["store", "sizes"], [("at", nil)])
    let measure =
      isMeasuring
      ? Components.buttonLink("Show the progress", target)
      : Components.action(deep == nil ? "Measure the space usage" : "Measure again", target)
    guard let deep else {
      return Components.empty("The space usage is not measured yet, because this reads the whole file.")
        + Components.toolbar([measure])
    }
    let map = StorageMap.html(deep, context)
    if deep.summary.commit == commit { return map }
    return Components.notice("Measured at commit \(deep.summary.commit); the store is at commit \(commit).") + map
      + Components.toolbar([measure])
  }

  private func pages(_ statistics: StoreStatistics) -> HTML {
    let size = UInt64(statistics.pageSize)
    func pages(_ count: Int) -> HTML {
      "\(Components.bytes(UInt64(max(0, count)) * size)) (\(Components.number(count)))"
    }
    let free = statistics.freePages
    var facts: [(name: String, value: HTML)] = [
      ("Store", Components.code(statistics.uuid.uuidString)), ("File", Components.bytes(statistics.fileBytes)),
      ("Memory map", Components.bytes(statistics.mapBytes)), ("Page size", Components.bytes(size)),
      ("In use", pages(statistics.usedPages)), ("Free, reusable", pages(free.reusable)),
      ("Free, held by readers", pages(free.held)), ("Freed by the last commit", pages(free.recent)),
    ]
    if statistics.tailBytes > 0 { facts.append(("After the last page", Components.bytes(statistics.tailBytes))) }
    return Components.live("store-pages", Components.definitions(facts))
  }

  private var readerTable: HTML {
    if readers.isEmpty { return Components.empty("No reader is open.") }
    return Components.table(
      "Open readers, the oldest first",
      columns: [
        Components.Column("Process", isNumeric: true), Components.Column("Owner"), Components.Column("Age"),
        Components.Column("Commits behind", isNumeric: true), Components.Column("Retained", isNumeric: true),
      ],
      rows: readers.map { reader in
        [
          "\(reader.processID)", owner(reader),
          "\(reader.age.map { (reader.isThisProcess ? "" : ">") + Text.age($0) } ?? "unknown")",
          Components.number(Int(clamping: reader.lag)), reader.retainedBytes.map(Components.bytes) ?? "–",
        ]
      })
  }

  private func owner(_ reader: ActiveReader) -> HTML {
    if reader.isStale { return Components.badge("stale", "bad") }
    let name = reader.owner.isEmpty ? "unknown" : Excerpt.beginning(of: reader.owner, 80)
    return "\(name) \(reader.isThisProcess ? Components.badge("this process") : nil)"
  }

  private var writerFacts: HTML {
    guard let writer else { return "<p>The write lock is free.</p>" }
    return Components.definitions([
      ("Process", "\(writer.processID) \(writer.processName)"),
      ("Operation", "\(writer.label.isEmpty ? "–" : Excerpt.beginning(of: writer.label, 80))"),
      ("Since", Components.time(writer.since.timeText)), ("Held for", "\(Text.age(writer.age))"),
    ])
  }

  private func tables(_ statistics: StoreStatistics) -> HTML {
    let size = UInt64(statistics.pageSize)
    return Components.table(
      "Tables of the file",
      columns: [Components.Column("Table")]
        + ["Entries", "Depth", "Branch pages", "Leaf pages", "Overflow pages", "Bytes"].map {
          Components.Column("\($0)", isNumeric: true)
        },
      rows: statistics.tables.filter { $0.pageCount > 0 }.map { table in
        [
          "\(table.name)", Components.number(Int(clamping: table.entryCount)), Components.number(table.depth),
          Components.number(table.branchPages), Components.number(table.leafPages),
          Components.number(table.overflowPages), Components.bytes(UInt64(table.pageCount) * size),
        ]
      })
  }

  // MARK: Documents

  func write(to json: inout JSONWriter) {
    if let statistics {
      json.statistics(statistics, deep: deep?.summary.commit == commit ? deep : nil)
    } else {
      json.member("commit", commit)
      json.member("snapshots", snapshotCount)
      json.member("readers", readers.count)
      json.nullable("oldestReader", readers.first) { $0.reader($1) }
      json.writer(writer)
    }
    json.list("activeReaders", readers) { $0.reader($1) }
  }

  var table: PageTable {
    if let deep { return StorageTables.table(deep) }
    if let statistics { return StorageTables.table(statistics) }
    return PageTable(columns: ["commit", "snapshots"], rows: [["\(commit)", "\(snapshotCount)"]])
  }
}
