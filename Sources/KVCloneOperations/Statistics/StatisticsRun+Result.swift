import KVClone
import KVCloneBranches
import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

/// Converts the counts to the result.
extension StatisticsRun {
  func result(
    _ census: PageCensus, _ map: PageMap, _ facts: StorageFacts, branches: [(name: String, value: BranchValue)],
    snapshotCount: Int, commit: UInt64, state: UInt64, store: ObjectStore, readers: [ActiveReader]
  ) -> DeepStatistics {
    let free = StoreStatistics.FreePages(
      census.freed.map { ($0.commit, $0.pages) }, last: state, oldestLag: readers.first?.lag)
    var named: [(code: TableCode?, name: String, census: TreeCensus)] = []
    for (table, tree) in zip(map.tables, census.tables) {
      let code = TableCode(name: table.name)
      named.append((code, code.map(schema.tableName) ?? "unknown table", tree))
    }
    named.sort { $0.code?.rawValue ?? .max < $1.code?.rawValue ?? .max }
    var counts: [String: Int] = [:]
    for entity in entities { counts[entity.name] = entity.objectCount }
    // Objects of removed entities do not count: only snapshots need them.
    let removed = entities.filter { entity in !schema.entities.contains { $0.name == entity.name } }
    for entity in removed { counts[entity.name] = nil }
    let known = named.compactMap { table in table.code.map { ($0, table.census.sizes) } }
    let summary = StoreStatistics(
      uuid: store.uuid, commit: commit, fileBytes: facts.fileBytes, mapBytes: facts.mapBytes,
      pageSize: facts.pageSize, pageCount: map.pageCount, freePages: free, objectCount: counts.values.reduce(0, +),
      counts: counts,
      tables: schema.statistics(of: known, own: [census.tableList.sizes, census.freeList.sizes]),
      snapshotCount: snapshotCount,
      readerCount: readers.count, oldestReader: readers.first, writer: store.engine.writer())
    let trees =
      named.map { (name: $0.name, census: $0.census) } + [
        (name: "list of tables", census: census.tableList), (name: "list of free pages", census: census.freeList),
      ]
    let branchUses = uses(of: branches)
    return DeepStatistics(
      summary: summary, entities: entities, relationships: relationships,
      blobs: largeValues.sorted { ($0.entity, $0.attribute) < ($1.entity, $1.attribute) }, indexes: indexes,
      preimages: savedStates, branches: branchUses, pageUtilization: fills(trees),
      spaceUsage: areas(named, trees, free, map, summary, branchUses))
  }

  /// The space of each branch: its entries, and the blobs that were made on it. Entries without a branch come last.
  private func uses(of branches: [(name: String, value: BranchValue)]) -> [SpaceUsage] {
    var uses: [SpaceUsage] = []
    var left = Set(branchEntries.keys)
    func add(_ name: String, _ numbers: [UInt32]) {
      for (name, counts) in [(name, branchEntries), ("blobs of \(name)", branchBlobUses)] {
        var use = SpaceUsage(kind: .branches, name: name)
        for number in numbers {
          use.count += counts[number]?.count ?? 0
          use.byteCount += counts[number]?.byteCount ?? 0
        }
        if use.count > 0 { uses.append(use) }
      }
      left.subtract(numbers)
    }
    for (name, branch) in branches { add(name, branch.numbers) }
    add("removed branches", left.sorted())
    return uses
  }

  private var savedStates: [SpaceUsage] {
    let states = previousStates.sorted { $0.key < $1.key }.map(\.value)
    return retained.count > 0 ? states + [retained] : states
  }

  private func fills(_ trees: [(name: String, census: TreeCensus)]) -> [PageUtilization] {
    trees.indices.map { index in
      // A compact copy has no free pages, and so no free list.
      PageUtilization(trees[index].name, trees[index].census, isKept: index < trees.count - 1)
    }
  }

  /// The areas, with every byte once.
  private func areas(
    _ tables: [(code: TableCode?, name: String, census: TreeCensus)], _ trees: [(name: String, census: TreeCensus)],
    _ free: StoreStatistics.FreePages, _ map: PageMap, _ summary: StoreStatistics, _ branches: [SpaceUsage]
  ) -> [SpaceUsage] {
    var areas: [SpaceUsage] = []
    func add(_ kind: SpaceUsage.Kind, _ name: String, _ count: UInt64, _ byteCount: UInt64) {
      if byteCount > 0 { areas.append(SpaceUsage(kind: kind, name: name, count: count, byteCount: byteCount)) }
    }
    for entity in entities { add(.objects, entity.name, UInt64(entity.objectCount), entity.byteCount) }
    for (relationship, pieces) in zip(relationships, listPieces) {
      add(.lists, relationship.title, pieces, relationship.chunkBytes)
    }
    for value in largeValues { add(.blobs, "\(value.entity).\(value.attribute)", value.count, value.storedBytes) }
    for index in indexes { add(.indexes, index.title, index.entryCount, index.byteCount) }
    areas += savedStates
    areas += branches
    if uploads.count > 0 { areas.append(uploads) }
    for table in tables {
      // Counted entry by entry.
      if table.code?.rootCode != nil { continue }
      switch table.code {
      case .links, .blobs, .blobInfo, .indexes, .preimages, .overlays: continue
      case .changes: add(.history, "changes", table.census.sizes.entries, table.census.contentBytes)
      case .snapshots: add(.snapshots, table.name, table.census.sizes.entries, table.census.contentBytes)
      case .branches: add(.branches, table.name, table.census.sizes.entries, table.census.contentBytes)
      case .metadata: add(.metadata, table.name, table.census.sizes.entries, table.census.contentBytes)
      case .provenance, .operations, .redirects:
        add(.provenance, table.name, table.census.sizes.entries, table.census.contentBytes)
      default: add(.unknown, table.name, table.census.sizes.entries, table.census.contentBytes)
      }
    }
    let pageSize = UInt64(summary.pageSize)
    add(.overhead, "meta pages", 2, 2 * pageSize)
    for (index, tree) in trees.enumerated() {
      // The content of the last two belongs to the file itself.
      let own = index < tables.count ? 0 : tree.census.contentBytes
      add(.overhead, tree.name, UInt64(tree.census.sizes.pages), tree.census.overheadBytes + own)
    }
    for tree in trees { add(.unused, tree.name, UInt64(tree.census.sizes.pages), tree.census.unusedBytes) }
    for (name, pages) in [("reusable", free.reusable), ("held by readers", free.held), ("just freed", free.recent)] {
      add(.free, name, UInt64(pages), UInt64(pages) * pageSize)
    }
    let leaked = UInt64(map.pageCount) - min(UInt64(map.pageCount), map.usedPages + map.freePages)
    add(.unknown, "lost pages", leaked, leaked * pageSize)
    return areas
  }
}

extension RelationshipStatistics {
  /// `Item.tags`, or `referrers by Item.tags`.
  public var title: String {
    let name = entity.isEmpty ? name : "\(entity).\(name)"
    return isHidden ? "referrers by \(name)" : name
  }
}

extension IndexStatistics {
  /// `Tag.label`.
  public var title: String { entity.isEmpty ? name : "\(entity).\(name)" }
}

extension PageUtilization {
  fileprivate init(_ name: String, _ tree: TreeCensus, isKept: Bool) {
    self.init(
      name: name, pageCount: tree.sizes.pages, contentBytes: tree.contentBytes,
      overheadBytes: tree.overheadBytes, unusedBytes: tree.unusedBytes,
      compactedPageCount: isKept ? Int(clamping: tree.compactedPages) : 0)
  }
}
