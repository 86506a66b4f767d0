import CKVCloneLMDB
import Glibc
import Synchronization

/// One open store file: a directory (0700) with `data.mdb`, LMDB's `lock.mdb`, and `writer.lock` (0600 each).
///
/// At most one environment of a file exists in a process (`alreadyOpen`), and none survives a fork (`forked`).
/// Transactions keep their environment alive; it closes when the last reference goes, or after `close()` with the last
/// transaction.
@safe
package final class LMDBEnvironment: Sendable {
  /// The store's directory.
  package let directory: String
  package let options: LMDBOptions
  /// Whether the file ended before the last page its meta page names, when it was opened. A healthy file can, if a large
  /// value was put and deleted in one transaction; a full walk must decide before the content is trusted.
  package let isShorterThanLastPage: Bool

  struct State {
    /// Read and write transactions that are in use.
    var live = 0
    var isClosing = false
    var isClosed = false
    /// Read transactions that were reset and keep their reader slot.
    var pool: [LMDBTransactionHandle] = []
    var tables: [String: LMDBTable] = [:]
  }

  /// More idle readers than this give their slot back.
  static let maximumPooledReaders = 16

  nonisolated(unsafe) let pointer: OpaquePointer
  let state = Mutex(State())
  let slot = WriterSlot()
  let lockFile: WriterLockFile?
  let identity: FileSystem.Identity
  private let forkGuard = ForkGuard()
  private let spill = Atomic<UInt8>(SpillSupport.unknown.rawValue)

  /// What is known of forced spills.
  enum SpillSupport: UInt8 {
    case unknown, supported, unsupported
  }

  init(
    pointer: OpaquePointer, directory: String, options: LMDBOptions, identity: FileSystem.Identity,
    lockFile: WriterLockFile?, isShorterThanLastPage: Bool
  ) {
    unsafe self.pointer = pointer
    self.directory = directory
    self.options = options
    self.identity = identity
    self.lockFile = lockFile
    self.isShorterThanLastPage = isShorterThanLastPage
  }

  var isForked: Bool { forkGuard.isForked }

  /// Whether write transactions can spill on demand. Known after the first write transaction began.
  package var isSpillSupported: Bool { spillSupport == .supported }

  var spillSupport: SpillSupport {
    get { SpillSupport(rawValue: spill.load(ordering: .relaxed)) ?? .unsupported }
    set { spill.store(newValue.rawValue, ordering: .relaxed) }
  }

  func disableSpill() {
    spillSupport = .unsupported
  }

  /// The error of a return code, with what the environment knows: EIO on a full disk is a full disk.
  func error(_ code: Int32, _ operation: StaticString) -> LMDBError {
    if code == EIO, let free = try? FileSystem.freeBytes(directory), free < 1 << 20 { return .diskFull }
    return LMDBError(code: code, operation: operation)
  }

  /// Closes as soon as no transaction is live, which may be now. No further transaction can begin.
  package func close() {
    // The parent's locks and slots are not the child's to touch, and its copy of our mutex may be locked for ever.
    if isForked { return }
    state.withLock { state in
      state.isClosing = true
      closeIfIdle(&state)
    }
  }

  func closeIfIdle(_ state: inout State) {
    guard state.isClosing, !state.isClosed, state.live == 0 else { return }
    state.isClosed = true
    for handle in state.pool { unsafe mdb_txn_abort(handle.pointer) }
    state.pool.removeAll()
    unsafe mdb_env_close(pointer)
    EnvironmentRegistry.release(identity)
  }

  deinit {
    close()
  }
}
