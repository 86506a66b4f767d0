/// Sizes that LMDB itself imposes.
@usableFromInline
package enum LMDBLimits {
  /// The longest key, in bytes: `MDB_MAXKEYSIZE` of a stock build.
  package static let maximumKeyLength = 511
  /// The page size, in bytes. Opening rejects any other.
  package static let pageSize = 4096
  /// The greatest length of a node (8 bytes of header, key, value) in a leaf; longer ones put their value on overflow
  /// pages: half a page less its header, made even, less an index entry (`me_nodemax` in mdb.c).
  package static let maximumNodeLength = 2038
  /// LMDB's handle of the main database; its keys are the table names.
  static let mainDatabase: UInt32 = 1
  /// LMDB's handle of the free list.
  static let freeDatabase: UInt32 = 0

  /// The number of page numbers in a value of the free list. It is the first word of the value, which may be corrupted.
  static func length(ofIDList value: RawSpan) -> Int {
    if value.byteCount < 8 { return 0 }
    let length = unsafe value.withUnsafeBytes { unsafe $0.loadUnaligned(as: Int.self) }
    return min(max(0, length), value.byteCount / 8 - 1)
  }
}
