package import KVCloneLMDB

/// The pages of a file, counted by their use.
package struct PageAudit {
  /// Pages of the trees, and the two meta pages.
  package let used: Int
  /// Pages of the free list.
  package let free: Int
  /// Pages of the file: the last page number plus one.
  package let total: Int
  /// Whether each page is either used or free: none leaked, none counted twice.
  package var isConsistent: Bool { used + free == total }
}

extension LMDBEnvironment {
  /// Counts every page once. All tables of the file must be open, and nothing may write meanwhile.
  package func auditPages() throws(LMDBError) -> PageAudit {
    let tables = try tableNames().map { (name) throws(LMDBError) in try table(named: name).dbi }
    let transaction = try beginRead()
    var used = 2
    for table in tables + [LMDBPointerReader.freeList, LMDBPointerReader.tableList] {
      var code: Int32 = 0
      guard let sizes = transaction.pointers.statistics(table, &code) else {
        throw LMDBPointerReader.error(code, keyLength: 1)
      }
      used += sizes.pages
    }
    return PageAudit(used: used, free: try freePageCount(), total: try info().lastPage + 1)
  }
}
