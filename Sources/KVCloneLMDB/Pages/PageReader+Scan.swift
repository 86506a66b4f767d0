extension PageReader {
  /// The number of leaves after which a scan requests those that follow. The walk before has read all pages, but the
  /// page cache does not keep those of a file that exceeds memory.
  private static var leavesBeforeRequests: Int { 8 }

  /// Calls `body` with each entry from the first key at or after `key`, ascending, until it returns false. Skips what
  /// is corrupted.
  package func scan(
    _ table: Int, from key: UnsafeRawBufferPointer, _ body: (PageEntry) -> Bool
  ) throws(PageError) {
    if map.tables[table].isLost { return }
    guard let tree = try root(table) else { return }
    var path = PagePath()
    var isFirst = true
    do throws(PageError) {
      try unsafe descend(&path, tree, key)
    } catch {
      guard corrupted(path.pages[path.level], path.indexes[path.level]) != nil else { throw error }
      isFirst = false
      guard try move(&path, tree, by: 1, skipping: true) else { return }
    }
    let isHollow = table == hollowTable
    // An unwalked tree may lead to a page again and again. A sound one has each of the file's pages at most once.
    var leavesLeft = max(file.meta?.lastPage ?? 0, file.byteCount / UInt64(LMDBLimits.pageSize))
    var leavesRead = 0
    var ahead = PageFileReadAhead()
    var branch: UInt64?
    repeat {
      leavesRead += 1
      if leavesRead > Self.leavesBeforeRequests { try request(path, tree, &ahead, &branch) }
      guard leavesLeft > 0 else {
        throw PageError(page: path.pages[tree.depth - 1], problem: .reachedTwice)
      }
      leavesLeft -= 1
      let page = try leaf(path, tree)
      let isHeld = cache.hold(page)
      defer { if isHeld { cache.release(page) } }
      let start = unsafe isFirst ? page.view.lowerBound(key) : 0
      isFirst = false
      let number = path.pages[tree.depth - 1]
      for index in start..<max(start, page.view.count) {
        if page.view.flags(index) != 0, corrupted(number, index) != nil { continue }
        let mark = cache.enter()
        defer { cache.leave(mark) }
        let entry = try unsafe PageEntry(
          key: page.view.key(index), value: value(page.view, index, number, isHollow: isHollow))
        if unsafe !body(entry) { return }
      }
    } while try move(&path, tree, by: 1, skipping: true)
  }

  /// Requests leaves of the same branch page.
  ///
  /// - Parameter branch: the page of the last call.
  private func request(
    _ path: PagePath, _ tree: PageTree, _ ahead: inout PageFileReadAhead, _ branch: inout UInt64?
  ) throws(PageError) {
    guard tree.depth > 1 else { return }
    let (number, index) = (path.pages[tree.depth - 2], path.indexes[tree.depth - 2])
    if branch != number { ahead = PageFileReadAhead(from: index) }
    branch = number
    ahead.child(index, of: try cache.page(number, isLeaf: false, of: file).view, in: file)
  }
}
