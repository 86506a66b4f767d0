import CKVCloneLMDB
import Glibc
import Synchronization

/// One open store file: a directory (0700) with `data.mdb`, LMDB's `lock.mdb`, and `writer.lock` (0600 each).
///
/// At most one environment of a file exists in a process (`alreadyOpen`), and none survives a fork (`forked`). It
/// closes with the last transaction after `close()`, or when the last reference is released.
package final class LMDBEnvironment: Sendable {
  /// The absolute path of the store's directory when it was opened.
  package let directory: String
  package let options: LMDBOptions
  /// Whether the file was shorter than the last page that its meta page names, when it was opened. A healthy file can
  /// be, if a large value was put and deleted in one transaction; a full walk must decide before the content is
  /// trusted.
  package let isShorterThanLastPage: Bool
  /// Whether readers cannot register, because the store was opened read-only on a read-only file system.
  ///
  /// That is safe on a read-only medium. If only this mount is read-only, and a writer uses another mount of the file,
  /// the writer reuses pages that are being read: a read then returns wrong bytes, which checksums detect.
  package let readsWithoutLock: Bool

  let core: EnvironmentCore
  let slot = WriterSlot()
  let lockFile: WriterLockFile?
  private let spill = Atomic<Bool>(true)

  init(
    raw: RawEnvironment, directory: String, options: LMDBOptions, identity: FileSystem.Identity,
    lockFile: WriterLockFile?, commitLog: CommitLog? = nil, isShorterThanLastPage: Bool
  ) {
    core = EnvironmentCore.make(raw, directory: directory, options: options, identity: identity)
    self.directory = directory
    self.options = options
    self.lockFile = lockFile
    self.isShorterThanLastPage = isShorterThanLastPage
    core.commitLog = commitLog
    readsWithoutLock = unsafe options.isReadOnly && Self.hasNoReaderTable(raw.pointer)
  }

  var pointer: OpaquePointer { unsafe core.pointer }

  /// The identity of the `data.mdb` file.
  package var identity: FileSystem.Identity { core.identity }

  @inline(__always)
  var isForked: Bool { core.forkGuard.isForked }

  /// Whether write transactions can spill on demand: see `SpillProbe`, which runs once per process, on first use.
  package var isSpillSupported: Bool { spill.load(ordering: .relaxed) && SpillProbe.isSupported }

  func disableSpill() {
    spill.store(false, ordering: .relaxed)
  }

  /// Converts a return code, with the environment's limits.
  func error(_ code: Int32, _ operation: StaticString) -> LMDBError {
    core.error(code, operation)
  }

  /// Closes as soon as no transaction is live, which may be now. No further transaction can begin.
  package func close() {
    // The parent's locks and slots are not the child's, and its copy of the mutex may be locked for ever.
    if isForked { return }
    core.state.withLock { state in
      if state.isClosing { return }
      state.isClosing = true
      core.demandAttention()
      core.settle(&state)
    }
  }

  deinit {
    close()
    if isForked { return }
    core.state.withLock { state in
      state.isAbandoned = true
      if state.isClosed { EnvironmentCore.keepForReuse(core) }
    }
  }
}

extension EnvironmentCore {
  /// Converts a return code. A short write gives EIO in LMDB (`mdb_page_flush`: "short write, filesystem full?"), so
  /// EIO on a full disk, or at the file size limit, is a full disk. EAGAIN at begin comes from the lock by which a
  /// process marks itself as a reader (`mdb_reader_pid`): a process in another PID namespace has the same id.
  func error(_ code: Int32, _ operation: StaticString) -> LMDBError {
    if code == EIO, hasLittleRoom { return .diskFull }
    if code == EIO, isAtSizeLimit { return .fileSizeLimit }
    if code == EAGAIN, operation.description == "mdb_txn_begin" { return .pidNamespace }
    return LMDBError(code: code, operation: operation)
  }

  private var isAtSizeLimit: Bool {
    let limit = kvclone_file_size_limit()
    guard limit != .max, let length = fileSize else { return false }
    return UInt64(length) + UInt64(LMDBLimits.pageSize) > limit
  }

  /// Whether the file system has less than a mebibyte left. btrfs and others do not report it reliably, but can try.
  var hasLittleRoom: Bool {
    guard let descriptor else { return false }
    if let free = FileSystem.freeSpace(descriptor: descriptor) { return free.usable < 1 << 20 }
    return LMDBError.isDiskFull(unsafe kvclone_try_room(directory, 1 << 20))
  }

  /// LMDB's own descriptor of `data.mdb`, which follows the file through renames. For live users.
  var descriptor: Int32? {
    var descriptor: Int32 = -1
    return unsafe mdb_env_get_fd(pointer, &descriptor) == 0 && descriptor >= 0 ? descriptor : nil
  }

  /// The size of `data.mdb`, in bytes.
  var fileSize: Int? {
    descriptor.flatMap { try? FileSystem.byteCount(descriptor: $0) }
  }
}
