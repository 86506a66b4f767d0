import CKVCloneLMDB
import Glibc

extension PageFile {
  /// Opens the state that the environment's next read transaction would see, through the environment's own descriptor:
  /// closing another one would drop LMDB's locks. Writers continue.
  package convenience init(
    pinning environment: LMDBEnvironment, watch: PageWatch? = nil, refusals: PageRefusals = PageRefusals()
  ) throws(LMDBError) {
    var attempt = 0
    while true {
      attempt += 1
      let pin = try ReadPin(try environment.beginRead(), keepsPages: !environment.readsWithoutLock)
      let found = MetaPair(pin.descriptor, refusals, pinned: pin.commitNumber)
      // The other page is being written, or two commits were faster.
      if (found.meta?.commitNumber != pin.commitNumber || !found.findings.isEmpty) && attempt < 20 {
        if attempt > 3 { usleep(500) }
        continue
      }
      try self.init(
        pin.descriptor, found, pin, watch, nil, refusals, lacksLog: false,
        hooks: environment.options.readAheadHooks)
      return
    }
  }
}

/// A read transaction. Sendable: it is only ended, never read from, which `MDB_NOTLS` allows on any thread.
@safe
private final class ReadPin: PageHold, @unchecked Sendable {
  private let transaction: LMDBReadTransaction
  let commitNumber: UInt64
  let descriptor: Int32
  /// False on a medium where readers cannot register.
  let keepsPages: Bool

  init(_ transaction: consuming LMDBReadTransaction, keepsPages: Bool) throws(LMDBError) {
    self.keepsPages = keepsPages
    commitNumber = transaction.commitNumber
    descriptor = try transaction.descriptor()
    self.transaction = transaction
  }
}

extension LMDBReadTransaction {
  /// LMDB's own descriptor of the data file, which LMDB closes.
  fileprivate func descriptor() throws(LMDBError) -> Int32 {
    var descriptor: Int32 = -1
    let code = unsafe mdb_env_get_fd(mdb_txn_env(handle.pointer), &descriptor)
    if code != 0 { throw LMDBError(code: code, operation: "mdb_env_get_fd") }
    return descriptor
  }
}
