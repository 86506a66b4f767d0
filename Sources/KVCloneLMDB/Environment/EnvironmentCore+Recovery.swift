import CKVCloneLMDB
import Glibc
import Synchronization

/// Recovery after LMDB failed to write a meta page.
///
/// A commit writes its pages, syncs them, and then writes one of two meta pages through a descriptor with `O_DSYNC`
/// (`mdb_env_write_meta` in mdb.c 0.9.24). If that fails, LMDB tries to restore the page's old transaction number, sets
/// `MDB_FATAL_ERROR`, and fails every later begin with `MDB_PANIC`: whether the new number is in the file, in the page
/// cache or on the disk is unknown. An earlier failure (ENOSPC, EIO, a failed fdatasync) leaves both meta pages
/// unchanged, and the commit did not happen.
///
/// No process has seen the new number yet: processes read it from the lock file, where it is entered last. Recovery
/// therefore restores the old number, as LMDB tried to do, and syncs it. If this fails too, the environment is reopened
/// and inspected.
extension EnvironmentCore {
  /// Whether LMDB refuses every transaction. The caller holds the write lock, so LMDB's own lock is free.
  func isPanicked() -> Bool {
    var transaction: OpaquePointer?
    let code = unsafe mdb_txn_begin(pointer, nil, 0, &transaction)
    if code == 0 { unsafe mdb_txn_abort(transaction) }
    return code == MDB_PANIC
  }

  /// Determines and settles the outcome of the commit `number`, and reopens the environment if the caller, counted
  /// once, is the only live user; otherwise the last user to leave does.
  func recover(commit number: UInt64) -> LMDBCommitOutcome {
    var outcome = unsafe MetaPageRepair(pointer).takeBack(number)
    state.withLock { state in
      state.isFatal = true
      demandAttention()
      settle(&state, own: 1)
      if outcome == .unknown, !state.isFatal { outcome = outcomeAfterReopening(number) }
    }
    return outcome
  }

  private func outcomeAfterReopening(_ number: UInt64) -> LMDBCommitOutcome {
    var raw = unsafe MDB_envinfo()
    if unsafe mdb_env_info(pointer, &raw) != 0 { return .unknown }
    let repair = unsafe MetaPageRepair(pointer)
    // If alone, LMDB takes the number from the meta pages; with other processes, from the lock file, as they do.
    return unsafe raw.lastCommit >= number ? repair.confirm(number) : repair.takeBack(number)
  }

  /// Closes and reopens LMDB's environment, with the same tables under the same handles. There is no live user, or only
  /// the caller, without a transaction. On failure the environment stays fatal, and the next begin tries again, or
  /// throws the error.
  func reopen(_ state: inout State) {
    dropPooledReaders()
    let paths = StorePaths(directory)
    // A recovery that runs while LMDB reopens the store would leave it an outdated lock file. If recovery cannot be
    // locked out, the next begin tries again. Read-only users are admitted without the lock, as at opening.
    let deadline = options.openingDeadline
    var lock: CommitLogFile?
    do throws(LMDBError) {
      lock = try CommitLogRecovery.lock(paths, deadline: deadline)
    } catch {
      guard case .io(let code, _) = error, CommitLogRecovery.refusals.contains(code) else {
        state.reopeningError = error
        return
      }
    }
    defer { withExtendedLifetime(lock) {} }
    if !state.isBroken { raw.close() }
    state.isBroken = true
    do throws(LMDBError) {
      if try StoreFileCheck.identify(paths, isReadOnly: options.isReadOnly) != identity { return }
      let found = try StoreFileCheck.inspect(paths, identity)
      let opened = try LMDBEnvironment.openRaw(directory, options, minimumMap: found.byteCount, deadline: deadline)
      do throws(LMDBError) {
        if try unsafe LMDBEnvironment.descriptorIdentity(opened.pointer) != identity {
          throw .replacedWhileOpening(path: paths.data)
        }
        try unsafe Self.openTables(state.tables, opened.pointer)
      } catch {
        opened.close()
        throw error
      }
      raw = opened
      state.isBroken = false
      state.isFatal = false
    } catch {
      state.reopeningError = error
    }
  }

  /// LMDB numbers tables in the order of opening.
  private static func openTables(_ tables: [String: LMDBTable], _ pointer: OpaquePointer) throws(LMDBError) {
    var transaction: OpaquePointer?
    var code = unsafe mdb_txn_begin(pointer, nil, UInt32(MDB_RDONLY), &transaction)
    for (name, table) in tables.sorted(by: { $0.value.dbi < $1.value.dbi }) where code == 0 {
      var dbi: UInt32 = 0
      code = unsafe mdb_dbi_open(transaction, name, 0, &dbi)
      if code == 0, dbi != table.dbi { code = MDB_BAD_DBI }
    }
    if code == 0 {
      code = unsafe mdb_txn_commit(transaction)
    } else if let transaction = unsafe transaction {
      unsafe mdb_txn_abort(transaction)
    }
    if code != 0 { throw LMDBError(code: code, operation: "mdb_dbi_open") }
  }
}

/// Reads and writes the transaction numbers of the two meta pages through LMDB's own descriptor. The caller holds the
/// write lock.
@safe
private struct MetaPageRepair: ~Copyable {
  private let environment: OpaquePointer
  private let descriptor: Int32?

  init(_ environment: OpaquePointer) {
    unsafe self.environment = unsafe environment
    var descriptor: Int32 = -1
    self.descriptor = unsafe mdb_env_get_fd(environment, &descriptor) == 0 ? descriptor : nil
  }

  /// Ensures that the commit `number` is not in the file.
  func takeBack(_ number: UInt64) -> LMDBCommitOutcome {
    guard let own = read(number & 1), let other = read(1 - (number & 1)) else { return .unknown }
    // What LMDB writes there: the page's number of two commits ago. The other page, one commit ago, then is the newer
    // one.
    if own == number, !write(number & 1, other > 0 ? other - 1 : 0) { return .unknown }
    return isSynced ? .notCommitted : .unknown
  }

  /// Ensures that the commit `number`, which is in the file, is durable. A sync alone does not: after a failed
  /// write-back, Linux marks the page clean. Writing it again makes it dirty.
  func confirm(_ number: UInt64) -> LMDBCommitOutcome {
    guard read(number & 1) == number, write(number & 1, number) else { return .unknown }
    return isSynced ? .committed : .unknown
  }

  private var isSynced: Bool { unsafe mdb_env_sync(environment, 1) == 0 }

  private func read(_ page: UInt64) -> UInt64? {
    guard let descriptor else { return nil }
    var number: UInt64 = 0
    let count = unsafe pread(descriptor, &number, 8, Self.offset(page))
    return count == 8 ? UInt64(littleEndian: number) : nil
  }

  private func write(_ page: UInt64, _ number: UInt64) -> Bool {
    guard let descriptor else { return false }
    var number = number.littleEndian
    return unsafe pwrite(descriptor, &number, 8, Self.offset(page)) == 8
  }

  /// The offset of `mm_txnid` in the page: 16 bytes of header, then 128 of `MDB_meta` before it.
  private static func offset(_ page: UInt64) -> Int { Int(page) * LMDBLimits.pageSize + MetaPages.commitOffset }
}
