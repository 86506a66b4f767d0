import CKVCloneLMDB

/// Determines, once per process, whether this LMDB keeps the number of the next new page where version 0.9 does.
///
/// A transaction's structure is private to LMDB, so the offset is verified: in a scratch environment the word has to
/// start as the number after the last page, and to rise by the overflow pages of the values that are put.
enum NextPageProbe {
  /// `mt_next_pgno` of `MDB_txn` (mdb.c 0.9), behind the pointers to the transaction's parent and child.
  static let offset = 16

  static let isSupported = isNextPage(at: offset)

  /// The word at an offset of a transaction's structure, which is far longer than a hundred bytes.
  static func word(_ transaction: OpaquePointer, at offset: Int) -> UInt64 {
    unsafe UnsafeRawPointer(transaction).loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }

  /// The numbers of overflow pages of the trial's values.
  private static let trialPages: [UInt64] = [7, 40]
  /// The greatest number of further pages of a put: those of the trees that lead to the value.
  private static let treePages: UInt64 = 8

  static func isNextPage(at offset: Int) -> Bool {
    guard let scratch = ScratchEnvironment(), let transaction = unsafe scratch.begin(0) else { return false }
    defer { unsafe mdb_txn_abort(transaction) }
    var next = unsafe word(transaction, at: offset)
    guard next == scratch.lastPage + 1 else { return false }
    for (index, pages) in trialPages.enumerated() {
      let length = Int(pages) * PageView.size - PageView.headerLength
      guard unsafe scratch.put(transaction, UInt8(index + 1), index, length) else { return false }
      let after = unsafe word(transaction, at: offset)
      guard after >= next + pages, after <= next + pages + treePages else { return false }
      next = after
    }
    return true
  }
}
