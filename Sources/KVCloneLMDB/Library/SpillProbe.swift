import CKVCloneLMDB
import Glibc

/// Determines, once per process, whether this LMDB can be made to spill: see `LMDBWriteTransaction.spill`.
///
/// Forced spills depend on an order inside `mdb_put` that LMDB does not promise, and a return code alone proves
/// nothing. The probe uses an environment in memory: it writes and spills some MiB; then the memory must be free again,
/// as far as other threads allow that to be measured, the bytes must be in the file, and the contents must be right: in
/// the same transaction, after an abort and after a commit.
enum SpillProbe {
  static let isSupported = unsafe findsSupport(with: force)

  /// Spills: puts a value of 600 MiB into the main database, under the name of a table, which LMDB rejects. That is
  /// more than LMDB can list as dirty (131,071 entries, doubled "for good measure"), so that everything that may be
  /// spilled is, and less than 4 GiB, so that it is not rejected as too long. Returns LMDB's code, `MDB_INCOMPATIBLE`
  /// on success.
  static func force(_ transaction: OpaquePointer, _ table: UnsafeRawBufferPointer) -> Int32 {
    unsafe rawReserve(transaction, LMDBLimits.mainDatabase, table, 600 << 20, 0).code
  }

  private static let valueCount = 8
  private static let valueLength = 512 << 10

  /// Allocation counts cover the whole process, so concurrent allocations can hide that memory was freed. An attempt
  /// takes a few milliseconds. After this many hidden results, the pages in the file suffice as proof: everything else
  /// was right each time, or the probe had ended.
  private static let (attemptCount, hiddenCount): (UInt32, Int) = (20, 4)

  /// The result of an attempt.
  private enum Outcome {
    case works
    /// A check other than that of memory failed.
    case fails
    /// Memory ran out, or only the check of memory failed, and no other thread was seen to allocate.
    case undecided
    /// Only the check of memory failed, while other threads allocated.
    case hidden
  }

  /// Runs the probe with another way to spill than `force`.
  static func findsSupport(with force: (OpaquePointer, UnsafeRawBufferPointer) -> Int32) -> Bool {
    var hidden = 0
    for attempt in 0..<attemptCount {
      if attempt > 0 { usleep(1000 * attempt) }
      guard let scratch = ScratchEnvironment() else { continue }
      switch unsafe probe(scratch, force) {
      case .works: return true
      case .hidden: hidden += 1
      case .undecided: break
      case .fails: return false
      }
      if hidden == hiddenCount { return true }
    }
    return false
  }

  private static func probe(
    _ scratch: ScratchEnvironment, _ force: (OpaquePointer, UnsafeRawBufferPointer) -> Int32
  ) -> Outcome {
    var memory = Outcome.works
    for commits in [true, false] {
      switch unsafe write(scratch, first: commits ? 1 : 101, commit: commits, force) {
      case .works: break
      case .hidden: memory = .hidden
      case let outcome: return outcome
      }
      guard scratch.holds(first: 1, valueCount, valueLength) else { return .fails }
    }
    return memory
  }

  /// Runs one transaction with a spill in its middle.
  private static func write(
    _ scratch: ScratchEnvironment, first: UInt8, commit: Bool,
    _ force: (OpaquePointer, UnsafeRawBufferPointer) -> Int32
  ) -> Outcome {
    guard let transaction = unsafe scratch.begin(0) else { return .undecided }
    // With threads that allocate, there are many attempts.
    defer { unsafe SpillList.free(of: transaction) }
    let fileBefore = scratch.fileLength
    let before = kvclone_allocated_bytes()
    for index in 0..<valueCount {
      guard unsafe scratch.put(transaction, first + UInt8(index), index, valueLength) else {
        unsafe mdb_txn_abort(transaction)
        return .undecided
      }
    }
    let after = kvclone_allocated_bytes()
    let isSpilled = unsafe ScratchEnvironment.tableName.withUnsafeBytes { name in
      unsafe force(transaction, name) == MDB_INCOMPATIBLE
    }
    let freed = Int(after) - Int(kvclone_allocated_bytes())
    let expected = valueCount * valueLength
    // Another malloc than the C library's shows no rise; then the file alone must prove that the pages left memory.
    let rise = Int(after) - Int(before)
    let isFreed = rise < expected / 2 || freed >= expected / 2
    let isWritten = scratch.fileLength - fileBefore >= expected / 2
    let isReadable = unsafe scratch.holds(transaction, first: first, valueCount, valueLength)
    let isWritable = unsafe scratch.put(transaction, first, 0, valueLength)
    guard isSpilled && isWritten && isReadable && isWritable else {
      unsafe mdb_txn_abort(transaction)
      return .fails
    }
    if commit {
      guard unsafe mdb_txn_commit(transaction) == 0 else { return .undecided }
    } else {
      unsafe mdb_txn_abort(transaction)
    }
    if isFreed { return .works }
    // LMDB's lists add a mebibyte or so.
    return abs(rise - expected) > 2 << 20 || isNoisy() ? .hidden : .undecided
  }

  /// Whether other threads allocate or free more than a little while this one waits.
  private static func isNoisy() -> Bool {
    let before = kvclone_allocated_bytes()
    usleep(2000)
    return abs(Int(kvclone_allocated_bytes()) - Int(before)) > 256 << 10
  }
}
