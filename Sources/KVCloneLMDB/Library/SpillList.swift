import CKVCloneLMDB
import Glibc
import Synchronization

/// The list of the pages that a transaction has spilled, which LMDB 0.9.24 forgets: it is set to nil when the next transaction begins, and
/// freed by nobody. A list takes a mebibyte, so that a process with a thousand large transactions behind it has lost a gigabyte.
///
/// So it is freed here when the transaction has ended. Its place is LMDB's own, and told to nobody; and a library in which the mistake is
/// mended frees the list itself. Nothing is freed but where this is version 0.9.24, and where a trial shows that what lies there is such a
/// list, and that transactions that commit and abort lose one each.
enum SpillList {
  /// `mt_spill_pgs` of `MDB_txn` (mdb.c 0.9.24).
  private static let offset = 64
  /// The entries that a new list has room for (`MDB_IDL_UM_MAX`): the word before the list says so.
  private static let room: UInt = 131_071
  /// What a list takes: its entries, that word, and one for how many entries there are.
  private static let byteCount = Int(room + 2) * 8

  private static let findings = Mutex(Findings())

  /// Frees the list of a write transaction that has just ended. Its structure is its environment's, and lives on. The caller still
  /// has the right to write.
  @inline(__always)
  static func free(of transaction: OpaquePointer) {
    if unsafe word(transaction) != 0 { unsafe freeSlowly(transaction) }
  }

  @inline(never)
  private static func freeSlowly(_ transaction: OpaquePointer) {
    guard isVersionWithMistake, let list = unsafe list(transaction) else { return }
    findings.withLock { findings in
      guard findings.isForgotten() != false else { return }
      // So does LMDB when the next transaction begins.
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

  /// What the process knows so far.
  private struct Findings {
    /// Lists that may be lost: of trials, and of transactions that ended before it was known. They are freed once it is.
    var lists: [UInt] = []
    private var known: Bool?
    /// What is allocated is known of the whole process, and other threads may hide what a trial loses. So there is another one, of a few
    /// milliseconds, when twice as many transactions have spilled. Each takes four mebibytes until it is known.
    private var (spilledCount, nextTrial) = (0, 1)

    /// Whether lists are forgotten; nil where that is not known yet.
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

    /// Whether three transactions lose three lists; nil where other threads allocated, or freed, more than a little meanwhile, or where there
    /// was no memory.
    private mutating func trial() -> Bool? {
      guard let scratch = ScratchEnvironment() else { return nil }
      var before: UInt64 = 0
      for number: UInt8 in 1...4 {
        switch spill(scratch, number, commits: number % 2 == 0) {
        case .list(let list): lists.append(list)
        case .anotherOrder: return false
        case .failed: return nil
        }
        // What LMDB keeps for later is there after the first one.
        if number == 1 { before = kvclone_allocated_bytes() }
      }
      let lost = Int(kvclone_allocated_bytes()) - Int(before)
      // One that is there twice was freed in between. Where nothing is counted, another allocator is in place of the C library's.
      guard Set(lists).count == lists.count, lost != 0 else { return false }
      return abs(lost - 3 * byteCount) < Self.noise ? true : nil
    }

    private static let noise = 256 << 10
  }

  private enum Outcome {
    /// The address that lay where the list is kept, before the transaction ended and after.
    case list(UInt)
    /// There was none before, or another one after: LMDB keeps it elsewhere, or forgets nothing.
    case anotherOrder
    /// Nothing was spilled, as for want of memory.
    case failed
  }

  /// A transaction that spills, and ends.
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

  /// Its room, how many pages it has, and page numbers, doubled, the greatest first.
  private static func looksLikeList(_ list: UnsafeMutableRawPointer) -> Bool {
    guard UInt(bitPattern: list) % 8 == 0, unsafe (list - 8).load(as: UInt.self) == room else { return false }
    let count = unsafe list.load(as: UInt.self)
    guard count >= 1, count <= 64 else { return false }
    let entries = (1...Int(count)).map { unsafe list.load(fromByteOffset: 8 * $0, as: UInt.self) }
    return entries.allSatisfy { $0 >= 4 && $0 % 2 == 0 && $0 < 1 << 16 } && entries == entries.sorted(by: >)
  }
}
