import KVCloneLMDB
package import KVCloneRecords

/// The directory of a long ordered list, which maps ordinal numbers to chunks: pages with the member counts of up to
/// 128 consecutive chunks each. A page's key has the label of its first chunk.
extension StorageTransaction {
  private struct LoadedPage {
    var position: UInt64
    var entries: [DirectoryPage.Entry]

    func index(of label: UInt64) -> Int {
      var low = 0
      var high = entries.count
      while low < high {
        let middle = (low + high) / 2
        if entries[middle].label < label { low = middle + 1 } else { high = middle }
      }
      return low
    }
  }

  /// The chunk of the `index`-th member, or for a member inserted there: the first one with at least `index` members up
  /// to its end.
  borrowing func directoryLookup(_ list: ListAddress, insertingAt index: Int) throws(StoreError)
    -> (label: UInt64, offset: Int)?
  {
    var before = 0
    var found: (label: UInt64, offset: Int)?
    try forEachPage(list) { (page) throws(StoreError) in
      let total = page.memberCount
      if index > before + total {
        before += total
        return true
      }
      for entry in 0..<page.count {
        let count = page.memberCount(entry)
        if index <= before + count {
          found = (page.label(entry), index - before)
          return false
        }
        before += count
      }
      return false
    }
    return found
  }

  /// Calls `body` with the directory's pages in order until it returns false.
  borrowing func forEachPage(_ list: ListAddress, _ body: (DirectoryPageView) throws(StoreError) -> Bool)
    throws(StoreError)
  {
    let prefix = list.prefix(.positionDirectory)
    try scan(list.links, within: prefix.bytes) { (key, value) throws(StoreError) in
      guard let position = try list.position(in: key, .positionDirectory) else { return false }
      return try body(try list.page(value, at: position))
    }
  }

  /// Writes the directory of a list without one, from its chunks.
  mutating func buildDirectory(_ list: ListAddress) throws(StoreError) {
    var entries: [DirectoryPage.Entry] = []
    var next = try chunk(list, .atOrAfter, 0, isOrdered: true)
    while let chunk = next {
      entries.append(.init(label: chunk.position, memberCount: UInt32(chunk.ids.count)))
      if entries.count == FormatLimits.directoryCapacity {
        try store(list, LoadedPage(position: entries[0].label, entries: entries))
        entries.removeAll(keepingCapacity: true)
      }
      next = try self.chunk(list, after: chunk.position, isOrdered: true)
    }
    if let first = entries.first { try store(list, LoadedPage(position: first.label, entries: entries)) }
  }

  /// Updates the member count of the chunk with `label` in the directory: adds, changes, or removes (0) its entry.
  mutating func updateDirectory(_ list: ListAddress, label: UInt64, memberCount: Int) throws(StoreError) {
    guard var page = try page(list, for: label) else {
      guard memberCount > 0 else { throw list.corrupted("Its directory misses a chunk.") }
      let entry = DirectoryPage.Entry(label: label, memberCount: UInt32(memberCount))
      return try store(list, LoadedPage(position: label, entries: [entry]))
    }
    let index = page.index(of: label)
    let isKnown = index < page.entries.count && page.entries[index].label == label
    if memberCount == 0 {
      guard isKnown else { throw list.corrupted("Its directory misses a chunk.") }
      page.entries.remove(at: index)
      return try replaceMerging(list, page)
    }
    if isKnown {
      page.entries[index].memberCount = UInt32(memberCount)
      return try store(list, page)
    }
    page.entries.insert(.init(label: label, memberCount: UInt32(memberCount)), at: index)
    if page.entries.count > FormatLimits.directoryCapacity {
      // An entry at the end leaves a full page: a list that grows at its end has full pages.
      let middle = index == page.entries.count - 1 ? index : page.entries.count / 2
      let rest = Array(page.entries[middle...])
      page.entries.removeSubrange(middle...)
      try store(list, LoadedPage(position: rest[0].label, entries: rest))
    }
    try replace(list, page)
  }

  /// The page with the entry for `label`, present or not.
  private borrowing func page(_ list: ListAddress, for label: UInt64) throws(StoreError) -> LoadedPage? {
    if let page = try page(list, .atOrBefore, label) { return page }
    return try page(list, .atOrAfter, label)
  }

  private borrowing func page(_ list: ListAddress, _ mode: StorageSeek, _ label: UInt64) throws(StoreError)
    -> LoadedPage?
  {
    let key = list.key(.positionDirectory, label)
    guard let entry = try seek(list.links, key.bytes, mode),
      let position = try list.position(in: entry.key, .positionDirectory)
    else { return nil }
    return LoadedPage(position: position, entries: try list.page(entry.value, at: position).entries)
  }

  private mutating func replaceMerging(_ list: ListAddress, _ page: LoadedPage) throws(StoreError) {
    var page = page
    if !page.entries.isEmpty, page.entries.count < FormatLimits.mergeAtMost, let last = page.entries.last?.label,
      last < .max, let next = try self.page(list, .atOrAfter, last + 1),
      next.entries.count + page.entries.count <= FormatLimits.mergeAtMost
    {
      let key = list.key(.positionDirectory, next.position)
      try delete(list.links, key.bytes)
      page.entries += next.entries
    }
    try replace(list, page)
  }

  /// Stores a changed page: under another key if its first entry changed, not at all if it is empty.
  private mutating func replace(_ list: ListAddress, _ page: LoadedPage) throws(StoreError) {
    let first = page.entries.first?.label
    if first != page.position {
      let key = list.key(.positionDirectory, page.position)
      try delete(list.links, key.bytes)
    }
    if let first { try store(list, LoadedPage(position: first, entries: page.entries)) }
  }

  private mutating func store(_ list: ListAddress, _ page: LoadedPage) throws(StoreError) {
    let key = list.key(.positionDirectory, page.position)
    let value = DirectoryPageView.encode(page.entries, seed: list.seed(key))
    try put(list.links, key.bytes, value.span.bytes)
  }
}

extension ListAddress {
  /// Decodes and verifies a stored page of the directory.
  @_lifetime(copy value)
  package func page(_ value: RawSpan, at position: UInt64) throws(StoreError) -> DirectoryPageView {
    do throws(RecordError) {
      return try DirectoryPageView(value, seed: seed(key(.positionDirectory, position)), position: position)
    } catch {
      throw corrupted(error.description)
    }
  }
}

/// Labels of an ordered list's chunks: sparse 64-bit numbers in the list's order, so that a new chunk gets a number
/// between two others.
enum ListLabel {
  /// The label of a new list's first chunk: in the middle, so that a list can grow by 2^31 chunks in both directions.
  static let first: UInt64 = 1 << 63
  /// The distance of chunks in a new list: space for 32 splits in one place.
  static let gap: UInt64 = 1 << 32
  /// The least distance between two labels after relabeling, unless the label range of the list is too small.
  static let wideEnough: UInt64 = 1 << 20
}

/// Assigns labels to new chunks, and relabels chunks if necessary.
extension StorageTransaction {
  /// A label after the last chunk's.
  mutating func newLabel(_ list: ListAddress, after last: UInt64, head: ListHead) throws(StoreError) -> UInt64 {
    if last <= .max - ListLabel.gap { return last + ListLabel.gap }
    if last < .max - 1 { return last + (.max - last) / 2 }
    return try newLabel(list, after: try spread(list, around: last, head: head), head: head)
  }

  /// A label before the first chunk's.
  mutating func newLabel(_ list: ListAddress, before first: UInt64, head: ListHead) throws(StoreError) -> UInt64 {
    if first > ListLabel.gap { return first - ListLabel.gap }
    if first > 1 { return first / 2 }
    return try newLabel(list, before: try spread(list, around: first, head: head), head: head)
  }

  /// A label between the chunk's and the next one's; the chunk's own may change.
  mutating func labelForSplit(_ list: ListAddress, _ label: UInt64, head: ListHead) throws(StoreError)
    -> (left: UInt64, right: UInt64)
  {
    guard label < .max, let next = try chunk(list, after: label, isOrdered: true)?.position else {
      let right = try newLabel(list, after: label, head: head)
      // Relabeling may have changed the chunk's own label: it is the last one.
      let left = try chunk(list, .atOrBefore, .max, isOrdered: true)?.position ?? label
      return (left, right)
    }
    if next - label >= 2 { return (label, label + (next - label) / 2) }
    return try labelForSplit(list, try spread(list, around: label, head: head), head: head)
  }

  /// Relabels the chunks around one with `label` at equal distances, and returns that chunk's new label.
  ///
  /// Uses the smallest neighbourhood with enough space: a hot spot costs the relabeling of tens of chunks, once in
  /// thousands of inserts, however long the list.
  private mutating func spread(_ list: ListAddress, around label: UInt64, head: ListHead) throws(StoreError) -> UInt64 {
    var reach = 16
    while true {
      var chunks: [LoadedChunk] = []
      var start = label
      for _ in 0..<reach {
        guard let previous = try chunk(list, before: start, isOrdered: true) else { break }
        start = previous.position
      }
      let low = try chunk(list, before: start, isOrdered: true)?.position
      var next = try chunk(list, .atOrAfter, start, isOrdered: true)
      while let chunk = next, chunks.count <= 2 * reach {
        chunks.append(chunk)
        next = try self.chunk(list, after: chunk.position, isOrdered: true)
      }
      let high = next?.position
      let step = ((high ?? .max) - (low ?? 0)) / UInt64(chunks.count + 1)
      let isWhole = low == nil && high == nil
      if step >= ListLabel.wideEnough || isWhole {
        guard step >= 2, let center = chunks.firstIndex(where: { $0.position == label }) else {
          throw list.corrupted("Its chunks have no unused labels between them.")
        }
        try relabel(list, chunks, from: low ?? 0, step: step, head: head)
        return (low ?? 0) + step * UInt64(center + 1)
      }
      reach *= 2
    }
  }

  private mutating func relabel(
    _ list: ListAddress, _ chunks: [LoadedChunk], from low: UInt64, step: UInt64, head: ListHead
  ) throws(StoreError) {
    for chunk in chunks { try drop(list, chunk.position, head: head) }
    for (index, chunk) in chunks.enumerated() {
      let moved = LoadedChunk(position: low + step * UInt64(index + 1), ids: chunk.ids)
      try storeIndexed(list, moved, newMembers: 0..<moved.ids.count, head: head)
    }
  }
}
