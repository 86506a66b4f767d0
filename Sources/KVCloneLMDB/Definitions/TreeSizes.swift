/// The size of one B+tree, in pages.
@usableFromInline
package struct TreeSizes: Sendable, Hashable {
  package var depth = 0
  package var branchPages = 0
  package var leafPages = 0
  package var overflowPages = 0
  package var entries: UInt64 = 0

  package init(depth: Int = 0, branchPages: Int = 0, leafPages: Int = 0, overflowPages: Int = 0, entries: UInt64 = 0) {
    self.depth = depth
    self.branchPages = branchPages
    self.leafPages = leafPages
    self.overflowPages = overflowPages
    self.entries = entries
  }

  package var pages: Int { branchPages + leafPages + overflowPages }
}

/// The growth of the file by a write transaction.
@usableFromInline
package struct StorageGrowth: Sendable {
  /// The number of pages when the transaction began, and now, including free ones. The commit adds a few for the free
  /// list.
  package let firstPageCount: Int
  package let pageCount: Int
  package var pageSize: Int { LMDBLimits.pageSize }
}
