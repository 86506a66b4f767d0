/// Sizes that LMDB itself imposes.
@usableFromInline
package enum LMDBLimits {
  /// The longest key, in bytes: `MDB_MAXKEYSIZE` of a stock build.
  package static let maximumKeyLength = 511
  /// The page size, in bytes. Another one is refused at open.
  package static let pageSize = 4096
  /// A node (8 bytes of header, key, value) longer than this puts its value on pages of its own: half a page less its
  /// header, made even, less an index entry (`me_nodemax` in mdb.c).
  package static let maximumNodeLength = 2038
  /// The main database's handle in LMDB: names of tables are its keys.
  static let mainDatabase: UInt32 = 1
  /// The free list's handle in LMDB.
  static let freeDatabase: UInt32 = 0

  /// How many page numbers a value of the free list has: it begins with their count, which damage may have changed.
  static func length(ofIDList value: RawSpan) -> Int {
    if value.byteCount < 8 { return 0 }
    let length = unsafe value.withUnsafeBytes { unsafe $0.loadUnaligned(as: Int.self) }
    return min(max(0, length), value.byteCount / 8 - 1)
  }
}
