/// A named table of an environment: ordered byte keys, one value each.
///
/// A handle stays valid as long as its environment. A transaction that began before the table was opened cannot use
/// it (`LMDBError.badTable` or `EINVAL`): LMDB fixes the set of tables at begin.
public struct LMDBTable: Sendable, Hashable {
  /// LMDB's own number of the table.
  @usableFromInline package let dbi: UInt32

  /// A table by the number that an environment of this process gave it.
  @inlinable
  package init(dbi: UInt32) {
    self.dbi = dbi
  }
}

/// A key and its value, both inside the memory map and valid as long as the transaction they came from is not written
/// to or ended.
public struct LMDBEntry: ~Escapable {
  @usableFromInline package let key: RawSpan
  @usableFromInline package let value: RawSpan

  @inlinable
  @_lifetime(copy key, copy value)
  package init(key: RawSpan, value: RawSpan) {
    self.key = key
    self.value = value
  }
}

/// Where `seek` looks.
package enum LMDBSeek: Sendable {
  /// The least key that is not less than the given one.
  case atOrAfter
  /// The greatest key that is not greater than the given one.
  case atOrBefore
  /// The table's first key; the given key is not looked at.
  case first
  /// The table's last key; the given key is not looked at.
  case last
}
