import CKVCloneLMDB
import Glibc
import Synchronization

/// The list of the pages that a transaction has spilled, which LMDB 0.9.24 forgets: it is set to nil when the next transaction begins, and
/// freed by nobody. A list takes a mebibyte, so that a process with a thousand large transactions behind it has lost a gigabyte.
///
/// So it is freed here when the transaction has ended. Its place is LMDB's own, and told to nobody; and a library in which the mistake is
/// mended frees the list itself. Nothing is done but where this is version 0.9.24, where what lies there looks like such a list, and where
/// a trial shows that transactions that commit and abort lose one each.
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
    /// milliseconds, when the next transaction has spilled. Each takes four mebibytes until it is known.
    private var trialsLeft = 10

    /// Whether lists are forgotten; nil where that is not known yet.
    mutating func isForgotten() -> Bool? {
      if known == nil {
        trialsLeft -= 1
        known = trial() ?? (trialsLeft == 0 ? false : nil)
      }
      return known
    }

    mutating func freeIfForgotten() {
      guard known == true else { return }
      for list in lists { unsafe Glibc.free(UnsafeMutableRawPointer(bitPattern: list - 8)) }
      lists = []
    }

    /// Whether three transactions lose three lists; nil where other threads allocated, or freed, more than a little meanwhile, or where no
    /// file can be made.
    private mutating func trial() -> Bool? {
      guard let scratch = ScratchEnvironment() else { return nil }
      // What LMDB keeps for later is there after the first one.
      guard let first = spill(scratch, 1, commits: true) else { return false }
      lists.append(first)
      let before = kvclone_allocated_bytes()
      for number: UInt8 in 2...4 {
        guard let list = spill(scratch, number, commits: number % 2 == 0) else { return false }
        lists.append(list)
      }
      let lost = Int(kvclone_allocated_bytes()) - Int(before)
      // One that is there twice was freed in between. Where nothing is counted, another allocator is in place of the C library's.
      guard Set(lists).count == lists.count, lost != 0 else { return false }
      return abs(lost - 3 * byteCount) < Self.noise ? true : nil
    }

    private static let noise = 256 << 10
  }

  /// A transaction that spills, and ends.
  ///
  /// - Returns: the address that lies then where the list is kept; nil where there was no list before, or another.
  private static func spill(_ scratch: ScratchEnvironment, _ byte: UInt8, commits: Bool) -> UInt? {
    guard let transaction = unsafe scratch.begin(0) else { return nil }
    let isNone = unsafe word(transaction) == 0
    let isSpilled =
      unsafe scratch.put(transaction, byte, 0, 64 << 10)
      && ScratchEnvironment.tableName.withUnsafeBytes { unsafe SpillProbe.force(transaction, $0) } == MDB_INCOMPATIBLE
    guard isNone, isSpilled, let list = unsafe list(transaction), unsafe looksLikeList(list) else {
      unsafe mdb_txn_abort(transaction)
      return nil
    }
    if commits {
      guard unsafe mdb_txn_commit(transaction) == 0 else { return nil }
    } else {
      unsafe mdb_txn_abort(transaction)
    }
    return unsafe word(transaction) == UInt(bitPattern: list) ? UInt(bitPattern: list) : nil
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
