/// What a walk over a file found out: its tables, and where not to go.
package struct PageMap: Sendable {
  /// A named table.
  package struct Table: Sendable {
    package let name: String
    package let tree: PageTree
    /// Whether nothing of it can be read.
    package var isLost = false
  }

  /// Pages of the file, in use or free: the last page's number plus one.
  package let pageCount: Int
  /// In the order of their names' bytes.
  package internal(set) var tables: [Table] = []
  /// What is wrong, in the order it was found.
  package internal(set) var findings: [PageFinding] = []
  /// Whether there were more findings than wanted; the rest of the file was not looked at.
  package internal(set) var isTruncated = false
  /// Whether names of tables may be missing.
  package internal(set) var isTableListDamaged = false
  /// Pages in use, the two meta pages included.
  package internal(set) var usedPages: UInt64 = 2
  /// Pages on the free list.
  package internal(set) var freePages: UInt64 = 0
  /// By table, in ascending order: keys that lead to something damaged.
  package internal(set) var lost: [String: [LostRange]] = [:]
  /// Nodes that lead to something damaged, as `edge`; with what they lead to.
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
  /// Walks over every page that the state can reach, and over its free list, and checks all that LMDB relies on.
  ///
  /// Memory: two bits a page, and 34 pages; with `readsValues`, 64 more. Time: linear in the pages in use, whatever the bytes are, because no page is
  /// visited twice.
  ///
  /// - Parameters:
  ///   - maximumFindings: After so many the walk ends.
  ///   - readsValues: Whether pages that values have of their own are read, all of them, so that those are told which cannot be. Nothing
  ///     on them is looked at but what the first one begins with.
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
  /// The list of tables alone, for those who look up a few values.
  package func tableMap() throws(LMDBError) -> PageMap {
    guard let meta, let walk = PageWalk(self, meta, maximumFindings: 1) else {
      return try self.walk(maximumFindings: 1)
    }
    return walk.listTables()
  }
}
