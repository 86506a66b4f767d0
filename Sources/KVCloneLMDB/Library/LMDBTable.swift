/// A named table of an environment: ordered byte keys, one value each.
///
/// A handle stays valid as long as its environment. A transaction that began before the table was opened cannot use
/// it (`LMDBError.badTable` or `EINVAL`): LMDB fixes the set of tables at begin.
public struct LMDBTable: Sendable, Hashable {
  /// LMDB's own number of the table.
  @usableFromInline package let dbi: UInt32

  /// Creates a handle from the number that an environment of this process assigned.
  @inlinable
  package init(dbi: UInt32) {
    self.dbi = dbi
  }
}
