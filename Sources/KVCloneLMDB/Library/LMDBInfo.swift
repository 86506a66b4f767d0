import CKVCloneLMDB

/// Sizes and counters of an environment.
package struct LMDBInfo: Sendable, Equatable {
  /// Reserved address space, in bytes.
  package let mapSize: Int
  /// The highest page number ever used.
  package let lastPage: Int
  /// The number of the last commit.
  package let commitNumber: UInt64
  /// Reader slots that exist.
  package let maximumReaders: Int
  /// Reader slots that were ever taken; the highest one in use is below it.
  package let readerCount: Int
  /// The size of `data.mdb`, in bytes.
  package let fileSize: Int
}

/// Sizes of one table's tree.
package struct LMDBStatistics: Sendable, Equatable {
  package let depth: Int
  package let branchPages: Int
  package let leafPages: Int
  package let overflowPages: Int
  package let entries: Int

  package var pages: Int { branchPages + leafPages + overflowPages }

  init(_ raw: MDB_stat) {
    depth = Int(raw.ms_depth)
    branchPages = Int(raw.ms_branch_pages)
    leafPages = Int(raw.ms_leaf_pages)
    overflowPages = Int(raw.ms_overflow_pages)
    entries = Int(raw.ms_entries)
  }
}
