import CKVCloneLMDB
import Glibc
import Synchronization

/// Frees the list of pages that a transaction has spilled, which LMDB 0.9.24 leaks: it is set to nil when the next
/// transaction begins, without being freed. A list takes a mebibyte, so a process loses a gigabyte after a thousand
/// large transactions.
///
/// The list is freed when the transaction has ended. Its location is private to LMDB, and a fixed library frees the
/// list itself. It is therefore freed only on version 0.9.24, and only if a trial shows that the location holds a spill
/// list, and that transactions that commit and abort leak one each.
enum SpillList {
  /// `mt_spill_pgs` of `MDB_txn` (mdb.c 0.9.24).
  private static let offset = 64
  /// The capacity of a new list (`MDB_IDL_UM_MAX`): the word before the list.
  private static let room: UInt = 131_071
  /// The size of a list: its entries, that word, and the entry count.
  private static let byteCount = Int(room + 2) * 8

  private static let findings = Mutex(Findings())

  /// Frees the list of a write transaction that has just ended. Its structure belongs to the environment, and stays
  /// allocated. The caller still holds the write lock.
  @inline(__always)
  static func free(of transaction: OpaquePointer) {
    if unsafe word(transaction) != 0 { unsafe freeSlowly(transaction) }
  }

  @inline(never)
  private static func freeSlowly(_ transaction: OpaquePointer) {
    guard isVersionWithMistake, let list = unsafe list(transaction) else { return }
    findings.withLock { findings in
      guard findings.isForgotten() != false else { return }
      // As LMDB does when the next transaction begins.
      unsafe UnsafeMutableRawPointer(transaction).storeBytes(of: 0, toByteOffset: offset, as: UInt.self)
      findings.lists.append(UInt(bitPattern: list))
      findings.freeIfForgotten()
    }
  }

  private static let isVersionWithMistake = {
    var (major, minor, patch): (Int32, Int32, Int32) = (0, 0, 0)
    _ = unsafe mdb_version(&major, &minor, &patch)
    return (major, minor, patch) == (0, 9, 24)
  }()

  private static func word(_ transaction: OpaquePointer) -> UInt {
    unsafe UnsafeRawPointer(transaction).loadUnaligned(fromByteOffset: offset, as: UInt.self)
  }

  private static func list(_ transaction: OpaquePointer) -> UnsafeMutableRawPointer? {
    unsafe UnsafeMutableRawPointer(bitPattern: word(transaction))
  }

  // MARK: The trial

  /// The findings of the process so far.
  private struct Findings {
    /// Lists that may have leaked: of trials, and of transactions that ended before the result was known. They are
    /// freed once it is.
    var lists: [UInt] = []
    private var known: Bool?
    /// Allocation counts cover the whole process, so other threads may hide what a trial leaks. The trial is therefore
    /// repeated, at a few milliseconds, when twice as many transactions have spilled. Each holds four mebibytes until
    /// the result is known.
    private var (spilledCount, nextTrial) = (0, 1)

    /// Whether lists leak; nil while that is unknown.
    mutating func isForgotten() -> Bool? {
      if let known { return known }
      spilledCount += 1
      guard spilledCount == nextTrial else { return nil }
      nextTrial *= 2
      known = trial()
      return known
    }

    mutating func freeIfForgotten() {
      guard known == true else { return }
      for list in lists { unsafe Glibc.free(UnsafeMutableRawPointer(bitPattern: list - 8)) }
      lists = []
    }

    /// Whether three transactions leak three lists; nil if other threads allocated or freed more than a little in the
    /// same time, or if memory ran out.
    private mutating func trial() -> Bool? {
      guard let scratch = ScratchEnvironment() else { return nil }
      var before: UInt64 = 0
      for number: UInt8 in 1...4 {
        switch spill(scratch, number, commits: number % 2 == 0) {
        case .list(let list): lists.append(list)
        case .anotherOrder: return false
        case .failed: return nil
        }
        // The first transaction also allocates what LMDB keeps for later.
        if number == 1 { before = kvclone_allocated_bytes() }
      }
      let lost = Int(kvclone_allocated_bytes()) - Int(before)
      // A list that appears twice was freed in between. If nothing is counted, another allocator replaces the C
      // library's.
      guard Set(lists).count == lists.count, lost != 0 else { return false }
      return abs(lost - 3 * byteCount) < Self.noise ? true : nil
    }

    private static let noise = 256 << 10
  }

  private enum Outcome {
    /// The address at the list's location, before the transaction ended and after.
    case list(UInt)
    /// No list before, or another one after: LMDB keeps it elsewhere, or does not leak it.
    case anotherOrder
    /// Nothing was spilled, for instance because memory ran out.
    case failed
  }

  /// Runs a transaction that spills, and ends it.
  private static func spill(_ scratch: ScratchEnvironment, _ byte: UInt8, commits: Bool) -> Outcome {
    guard let transaction = unsafe scratch.begin(0) else { return .failed }
    let isNone = unsafe word(transaction) == 0
    let isSpilled =
      unsafe scratch.put(transaction, byte, 0, 64 << 10)
      && ScratchEnvironment.tableName.withUnsafeBytes { unsafe SpillProbe.force(transaction, $0) } == MDB_INCOMPATIBLE
    guard isNone, isSpilled, let list = unsafe list(transaction), unsafe looksLikeList(list) else {
      unsafe mdb_txn_abort(transaction)
      return isSpilled ? .anotherOrder : .failed
    }
    if commits {
      guard unsafe mdb_txn_commit(transaction) == 0 else { return .failed }
    } else {
      unsafe mdb_txn_abort(transaction)
    }
    return unsafe word(transaction) == UInt(bitPattern: list) ? .list(UInt(bitPattern: list)) : .anotherOrder
  }

  /// Checks the capacity, the entry count, and the page numbers, doubled, in descending order.
  private static func looksLikeList(_ list: UnsafeMutableRawPointer) -> Bool {
    guard UInt(bitPattern: list) % 8 == 0, unsafe (list - 8).load(as: UInt.self) == room else { return false }
    let count = unsafe list.load(as: UInt.self)
    guard count >= 1, count <= 64 else { return false }
    let entries = (1...Int(count)).map { unsafe list.load(fromByteOffset: 8 * $0, as: UInt.self) }
    return entries.allSatisfy { $0 >= 4 && $0 % 2 == 0 && $0 < 1 << 16 } && entries == entries.sorted(by: >)
  }
}
