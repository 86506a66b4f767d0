package import KVCloneLMDB

/// The pages of a file, counted by use.
package struct PageAudit {
  /// The pages of the B+trees, and the two meta pages.
  package let used: Int
  /// Pages of the free list.
  package let free: Int
  /// Pages of the file: the last page number plus one.
  package let total: Int
  /// Whether each page is either used or free, without leaks and duplicates.
  package var isConsistent: Bool { used + free == total }
}

extension LMDBEnvironment {
  /// Returns the sizes of a table's B+tree, as last committed.
  package func sizes(_ table: LMDBTable) throws(LMDBError) -> TreeSizes {
    var code: Int32 = 0
    let reader = try beginRead()
    let sizes = reader.pointers.statistics(table.dbi, &code)
    extendLifetime(reader)
    guard let sizes else { throw LMDBPointerReader.error(code, keyLength: 1) }
    return sizes
  }

  /// Counts every page once. All tables of the file must be open, and no write may run concurrently.
  package func auditPages() throws(LMDBError) -> PageAudit {
    var used = 2
    for list in [LMDBPointerReader.freeList, LMDBPointerReader.tableList] {
      used += try sizes(LMDBTable(dbi: list)).pages
    }
    for name in try tableNames() { used += try sizes(table(named: name)).pages }
    return PageAudit(used: used, free: try freePageCount(), total: try info().lastPage + 1)
  }
}
