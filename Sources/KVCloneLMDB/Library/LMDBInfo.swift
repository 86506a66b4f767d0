import CKVCloneLMDB

/// Sizes and counters of an environment.
package struct LMDBInfo: Sendable, Equatable {
  /// Reserved address space, in bytes.
  package let mapSize: Int
  /// The highest page number ever used.
  package let lastPage: Int
  /// The number of the last commit.
  package let commitNumber: UInt64
  /// The number of reader slots.
  package let maximumReaders: Int
  /// The number of reader slots that were ever taken; the highest one in use is below it.
  package let readerCount: Int
  /// The size of `data.mdb`, in bytes.
  package let fileSize: Int
}

extension TreeSizes {
  init(_ raw: MDB_stat) {
    self.init(
      depth: Int(raw.ms_depth), branchPages: Int(raw.ms_branch_pages), leafPages: Int(raw.ms_leaf_pages),
      overflowPages: Int(raw.ms_overflow_pages), entries: UInt64(raw.ms_entries))
  }
}
