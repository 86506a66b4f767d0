/// The result of a walk over a file: its tables, and the corrupted parts to avoid.
package struct PageMap: Sendable {
  /// A named table.
  package struct Table: Sendable {
    package let name: String
    package let tree: PageTree
    /// Whether it is unreadable.
    package var isLost = false
  }

  /// The number of pages in the file, in use or free: the last page's number plus one.
  package let pageCount: Int
  /// In the byte order of their names.
  package internal(set) var tables: [Table] = []
  /// The problems, in the order they were found.
  package internal(set) var findings: [PageFinding] = []
  /// Whether the walk stopped at the maximum number of findings.
  package internal(set) var isTruncated = false
  /// Whether table names may be missing.
  package internal(set) var isTableListDamaged = false
  /// Pages in use, the two meta pages included.
  package internal(set) var usedPages: UInt64 = 2
  /// Pages on the free list.
  package internal(set) var freePages: UInt64 = 0
  /// The keys that lead to something corrupted, by table, ascending.
  package internal(set) var lost: [String: [LostRange]] = [:]
  /// Nodes that lead to something corrupted, by `edge`, with their problems.
  var badEdges: [UInt64: UInt64] = [:]

  /// One node of a page, as a number: a page has less than 2,048.
  @inline(__always)
  static func edge(_ page: UInt64, _ index: Int) -> UInt64 {
    page << 11 | UInt64(index)
  }

  /// The table called `name`.
  package func table(_ name: String) -> Int? {
    tables.firstIndex { $0.name == name }
  }
}

extension PageFile {
  /// Walks over every reachable page and the free list, and checks all that LMDB relies on.
  ///
  /// Memory: two bits a page, and 34 pages; with `readsValues`, 64 more. Time: linear in the pages in use, whatever the
  /// bytes are, because no page is visited twice.
  ///
  /// - Parameters:
  ///   - maximumFindings: The number of findings after which the walk ends.
  ///   - readsValues: Whether all overflow pages are read, to find unreadable ones. Only the header of the first one is
  ///     checked.
  package func walk(maximumFindings: Int = 1000, readsValues: Bool = false) throws(LMDBError) -> PageMap {
    guard let meta else {
      var map = PageMap(pageCount: Int(byteCount / UInt64(LMDBLimits.pageSize)))
      map.findings = metaFindings
      map.isTableListDamaged = true
      return map
    }
    let walk = PageWalk(self, meta, maximumFindings: max(1, maximumFindings), readsValues: readsValues)
    guard let walk else { throw .outOfMemory }
    return walk.run()
  }
}

extension PageFile {
  /// Reads the list of tables alone, for looking up a few values.
  package func tableMap() throws(LMDBError) -> PageMap {
    guard let meta, let walk = PageWalk(self, meta, maximumFindings: 1) else {
      return try self.walk(maximumFindings: 1)
    }
    return walk.listTables()
  }
}
