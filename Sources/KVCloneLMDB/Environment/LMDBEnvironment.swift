import CKVCloneLMDB
import Glibc
import Synchronization

/// One open store file: a directory (0700) with `data.mdb`, LMDB's `lock.mdb`, and `writer.lock` (0600 each).
///
/// At most one environment of a file exists in a process (`alreadyOpen`), and none survives a fork (`forked`). It
/// closes with the last transaction after `close()`, or after the last reference went.
package final class LMDBEnvironment: Sendable {
  /// The store's directory: its absolute path when it was opened.
  package let directory: String
  package let options: LMDBOptions
  /// Whether the file ended before the last page its meta page names, when it was opened. A healthy file can, if a
  /// large value was put and deleted in one transaction; a full walk must decide before the content is trusted.
  package let isShorterThanLastPage: Bool
  /// Whether readers cannot register, because the store was opened read-only on a file system that cannot be written.
  ///
  /// That is safe on a read-only medium. If it is only this mount that is read-only, and a writer uses another mount of
  /// the file, the writer reuses pages that we are reading: a read then gives wrong bytes, which checksums find.
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

  /// Which file `data.mdb` is.
  package var identity: FileSystem.Identity { core.identity }

  @inline(__always)
  var isForked: Bool { core.forkGuard.isForked }

  /// Whether write transactions can spill on demand: see `SpillProbe`, which runs once per process, on first use.
  package var isSpillSupported: Bool { spill.load(ordering: .relaxed) && SpillProbe.isSupported }

  func disableSpill() {
    spill.store(false, ordering: .relaxed)
  }

  /// The error of a return code, with what the environment knows.
  func error(_ code: Int32, _ operation: StaticString) -> LMDBError {
    core.error(code, operation)
  }

  /// Closes as soon as no transaction is live, which may be now. No further transaction can begin.
  package func close() {
    // The parent's locks and slots are not the child's to touch, and its copy of our mutex may be locked for ever.
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
  /// The error of a return code. A write that ends early gives EIO in LMDB (`mdb_page_flush`: "short write, filesystem
  /// full?"), so EIO on a full disk, or at the longest file allowed, is a full disk. EAGAIN at begin comes from the
  /// lock by which a process marks itself as a reader (`mdb_reader_pid`): another PID namespace has our number.
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

  /// Whether the file system has less than a mebibyte left. btrfs and others cannot say it, but can try.
  var hasLittleRoom: Bool {
    guard let descriptor else { return false }
    if let free = FileSystem.freeSpace(descriptor: descriptor) { return free.usable < 1 << 20 }
    return LMDBError.isDiskFull(unsafe kvclone_try_room(directory, 1 << 20))
  }

  /// LMDB's own descriptor of `data.mdb`, which stays where the file is, whatever is renamed. For live users.
  var descriptor: Int32? {
    var descriptor: Int32 = -1
    return unsafe mdb_env_get_fd(pointer, &descriptor) == 0 && descriptor >= 0 ? descriptor : nil
  }

  /// The size of `data.mdb`, in bytes.
  var fileSize: Int? {
    descriptor.flatMap { (try? FileSystem.facts(descriptor: $0))?.byteCount }
  }
}
