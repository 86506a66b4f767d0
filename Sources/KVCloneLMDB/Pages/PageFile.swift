import CKVCloneLMDB
import Glibc

/// The data file of a store, read with `pread` alone: no byte of it can crash the process, as a map could.
///
/// It reads one committed state, `meta`: a read transaction of an open environment keeps its pages from being reused
/// (`init(pinning:)`), or there is no other writer, or `isStillCurrent` detects changes (`open(at:)`).
package final class PageFile: Sendable {
  /// The state that is read; nil if neither meta page is valid.
  package let meta: PageMeta?
  /// The findings in the meta pages.
  package let metaFindings: [PageFinding]
  /// The size of the file, taken after the meta pages were read, so that a growing file never looks truncated.
  package let byteCount: UInt64
  let descriptor: Int32
  /// Keeps the pages, the descriptor or the write lock.
  private let hold: any PageHold
  /// Observes reading, and may stop it.
  let watch: PageWatch?
  /// Pages that are read from the write-ahead log.
  private let overlay: CommitLogOverlay?
  /// Whether a write-ahead log in use may exist that could not be read to its end, because a system call failed. Only
  /// if the store is left unchanged.
  package let lacksLog: Bool
  /// The newest commit in the file's own meta pages at opening; nil if both are corrupted. Only with an overlay.
  private let fileCommit: UInt64?
  /// Failed reads.
  package let refusals: PageRefusals
  /// Observes read-ahead requests.
  let hooks: ReadAheadHooks?

  /// Opens the file of a store that this process does not have open, whatever its state.
  ///
  /// First writes back a log that a killed process left. With `isUntouched`, the log is read in place, and nothing in
  /// the store is written.
  ///
  /// With a `lockTimeout`, takes `writer.lock`, if it exists and can be locked in time, to exclude writers of other
  /// processes. Check `isStillCurrent` at the end.
  ///
  /// - Throws: what prevents reading: `storeNotFound`, `alreadyOpen`, `symlink`, `wrongMode` …
  package convenience init(
    at directory: String, lockTimeout: Duration? = nil, isUntouched: Bool = false, watch: PageWatch? = nil,
    refusals: PageRefusals = PageRefusals()
  ) throws(LMDBError) {
    let paths = StorePaths(directory)
    let identity: FileSystem.Identity
    do throws(LMDBError) {
      identity = try StoreFileCheck.identify(paths, isReadOnly: true)
    } catch {
      guard case .emptyFile = error, let facts = try FileSystem.facts(paths.data) else { throw error }
      identity = facts.identity
    }
    try NetworkFileSystems.check(paths.directory, trustedFuse: [])
    guard EnvironmentRegistry.claim(identity) else { throw .alreadyOpen(path: paths.data) }
    do throws(LMDBError) {
      if !isUntouched { _ = try CommitLogRecovery.run(paths, deadline: LMDBOptions().openingDeadline) }
    } catch {
      EnvironmentRegistry.release(identity)
      throw error
    }
    let file = unsafe kvclone_open(paths.data, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0)
    guard file >= 0 else {
      EnvironmentRegistry.release(identity)
      if -file == ELOOP { throw .symlink(path: paths.data) }
      throw LMDBError(code: -file, operation: "open data.mdb")
    }
    let hold = OwnDescriptor(file, identity, writerLock: lockTimeout.flatMap { Self.lock(paths, $0) })
    if try FileSystem.facts(descriptor: file).identity != identity { throw .replacedWhileOpening(path: paths.data) }
    let (overlay, isAll) = isUntouched ? CommitLogOverlay.find(paths, data: file) : (nil, true)
    var found = MetaPair(file, refusals, overlay: overlay)
    for _ in 0..<3 where !found.findings.isEmpty && !hold.isWriterLocked {
      usleep(1000)
      found = MetaPair(file, refusals, overlay: overlay)
    }
    try self.init(file, found, hold, watch, overlay, refusals, lacksLog: !isAll)
  }

  init(
    _ descriptor: Int32, _ found: MetaPair, _ hold: any PageHold, _ watch: PageWatch?, _ overlay: CommitLogOverlay?,
    _ refusals: PageRefusals, lacksLog: Bool, hooks: ReadAheadHooks? = nil
  ) throws(LMDBError) {
    self.descriptor = descriptor
    self.hooks = hooks
    self.lacksLog = lacksLog
    self.hold = hold
    self.watch = watch
    self.refusals = refusals
    meta = found.meta
    metaFindings = found.findings
    self.overlay = overlay
    fileCommit = overlay == nil ? nil : MetaPair(descriptor, refusals).meta?.commitNumber
    let byteCount = UInt64(max(0, try FileSystem.facts(descriptor: descriptor).byteCount))
    self.byteCount = max(byteCount, overlay?.end ?? 0)
  }

  /// Takes the write lock if it is free and the lock file exists: a missing one is not created.
  private static func lock(_ paths: StorePaths, _ timeout: Duration) -> WriterLockFile? {
    // Unlike elsewhere, a failed lookup counts as no lock: a damaged directory must not prevent reading its pages, and
    // whether they changed is checked afterwards (`isStillCurrent`).
    guard (try? FileSystem.kind(paths.writerLock)) == .regularFile,
      let lock = try? WriterLockFile(path: paths.writerLock)
    else { return nil }
    let deadline = monotonicNanoseconds() &+ timeout.clampedNanoseconds
    guard (try? lock.acquire(deadline: deadline, label: "check")) != nil else { return nil }
    return lock
  }

  /// Whether the pages of the state are unchanged. Without a pin and the write lock, transaction N + 3 is the first
  /// that may reuse pages of state N; it begins after commit N + 2.
  package var isStillCurrent: Bool {
    if hold.keepsPages { return true }
    // The log's meta pages do not change. A process that writes it back and continues writes into the file.
    if overlay != nil { return MetaPair(descriptor, refusals).meta?.commitNumber == fileCommit }
    guard let meta else { return true }
    let pair = MetaPair(descriptor, refusals)
    guard let now = pair.meta else { return false }
    // An unreadable meta page may be that of the following commit.
    let slack: UInt64 = pair.findings.isEmpty ? 2 : 1
    return now.commitNumber <= meta.commitNumber || now.commitNumber - meta.commitNumber < slack
  }

  /// Reads bytes of a page and of those that follow it.
  func read(_ page: UInt64, _ offset: Int = 0, into buffer: UnsafeMutableRawBufferPointer) throws(PageError) {
    if let watch, !watch.allows(reading: buffer.count) { throw PageError(page: page, problem: .unreadable(ECANCELED)) }
    if let overlay { return try unsafe read(page, offset, into: buffer, overlay) }
    try unsafe readFile(page, offset, into: buffer)
  }

  /// Reads page by page, each from where its newest bytes are.
  private func read(
    _ page: UInt64, _ offset: Int, into buffer: UnsafeMutableRawBufferPointer, _ overlay: CommitLogOverlay
  ) throws(PageError) {
    var done = 0
    while done < buffer.count {
      let position = offset + done
      let number = page + UInt64(position / PageView.size)
      let start = position % PageView.size
      let piece = unsafe UnsafeMutableRawBufferPointer(
        rebasing: buffer[done..<min(buffer.count, done + PageView.size - start)])
      if !(unsafe overlay.read(number, start, into: piece)) { try unsafe readFile(number, start, into: piece) }
      done += piece.count
    }
  }

  /// The first page behind `page` with bytes in the file. A file that was maliciously extended has none for most.
  func nextStored(after page: UInt64) -> UInt64 {
    // A log has pages that the file may lack.
    guard overlay == nil, hold is OwnDescriptor, page < byteCount / UInt64(LMDBLimits.pageSize) else { return page + 1 }
    let offset = kvclone_find_data(descriptor, Int64(page + 1) * Int64(LMDBLimits.pageSize))
    return max(page + 1, UInt64(offset) / UInt64(LMDBLimits.pageSize))
  }

  /// The commit number in one of the file's own meta pages, whatever else the page has; nil if unreadable.
  package func claimedCommit(_ page: UInt64) -> UInt64? {
    var commit: UInt64 = 0
    let isRead = try? unsafe readAll(
      descriptor, &commit, 8, Int(page) * LMDBLimits.pageSize + MetaPages.commitOffset, "read of data.mdb")
    return isRead == true ? UInt64(littleEndian: commit) : nil
  }

  private func readFile(_ page: UInt64, _ offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(PageError) {
    guard var base = buffer.baseAddress else { return }
    var rest = buffer.count
    var position = Int(page) * LMDBLimits.pageSize + offset
    // Reading several pages at once failed: each may be readable alone.
    var refused: (page: UInt64, code: Int32)?
    while rest > 0 {
      let inPage = min(rest, LMDBLimits.pageSize - position % LMDBLimits.pageSize)
      let count = unsafe pread(descriptor, base, refused == nil ? rest : inPage, position)
      if count < 0 {
        let code = errno
        if code == EINTR { continue }
        let current = UInt64(position / LMDBLimits.pageSize)
        if refused == nil, rest > inPage {
          refused = (current, code)
          continue
        }
        if let refused { refusals.note(refused.page, refused.code, isDenied: false) }
        refusals.note(current, code, isDenied: true)
        throw PageError(page: current, problem: .unreadable(code))
      }
      if count == 0 {
        if let refused { refusals.note(refused.page, refused.code, isDenied: false) }
        throw PageError(page: page, problem: .beyondEnd)
      }
      unsafe base += count
      rest -= count
      position += count
    }
    // The kernel returns the bytes before an unreadable page, so it was the first one.
    if let refused { refusals.note(refused.page, refused.code, isDenied: false) }
  }
}

/// Both meta pages, as far as they are valid.
struct MetaPair {
  var meta: PageMeta?
  var findings: [PageFinding] = []

  /// - Parameter pinned: The commit of the wanted meta page; nil for the newest.
  init(_ descriptor: Int32, _ refusals: PageRefusals, pinned: UInt64? = nil, overlay: CommitLogOverlay? = nil) {
    var found: [PageMeta] = []
    for page: UInt64 in 0...1 {
      do throws(PageProblem) {
        if let meta = overlay?.meta(page) { found.append(meta) } else { found.append(try Self.read(descriptor, page)) }
      } catch {
        if case .unreadable(let code) = error { refusals.note(page, code, isDenied: false) }
        note(page, error)
      }
    }
    found.sort { $0.commitNumber > $1.commitNumber }
    if let pinned { found.sort { left, right in left.commitNumber == pinned && right.commitNumber != pinned } }
    // Both are 0 in a file without a commit.
    if found.count == 2, found[0].commitNumber != found[1].commitNumber {
      let other = found[1].commitNumber
      let isNeighbour = other &+ 1 == found[0].commitNumber || (pinned != nil && other == found[0].commitNumber &+ 1)
      if !isNeighbour { note(found[1].page, .meta("its commit is not adjacent to that of the other meta page")) }
    }
    for candidate in found where meta == nil {
      if let problem = candidate.rootProblem {
        note(candidate.page, problem)
      } else {
        meta = candidate
      }
    }
  }

  private mutating func note(_ page: UInt64, _ problem: PageProblem) {
    findings.append(PageFinding(page: page, table: nil, key: nil, problem: problem))
  }

  /// Reads a page twice: a writer of another process may be writing it.
  private static func read(_ descriptor: Int32, _ page: UInt64) throws(PageProblem) -> PageMeta {
    var last: PageMeta?
    for _ in 0..<4 {
      let meta = try readOnce(descriptor, page)
      if meta == last { return meta }
      last = meta
    }
    throw .meta("it changes while it is read")
  }

  private static func readOnce(_ descriptor: Int32, _ page: UInt64) throws(PageProblem) -> PageMeta {
    var bytes = [UInt8](repeating: 0, count: 152)
    var count: Int
    repeat {
      count = unsafe pread(descriptor, &bytes, bytes.count, Int(page) * LMDBLimits.pageSize)
    } while count < 0 && errno == EINTR
    if count < 0 { throw .unreadable(errno) }
    if count < bytes.count { throw .beyondEnd }
    let result = unsafe bytes.withUnsafeBytes { bytes -> Result<PageMeta, PageProblem> in
      guard let base = bytes.baseAddress else { return .failure(.beyondEnd) }
      do throws(PageProblem) { return .success(try unsafe PageMeta(base, page: page)) } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}

/// Keeps a `PageFile` readable as long as it lives.
protocol PageHold: AnyObject, Sendable {
  /// Whether no page of the state can change.
  var keepsPages: Bool { get }
}

/// A separate descriptor, and the file's entry in the registry.
private final class OwnDescriptor: PageHold {
  private let descriptor: Int32
  private let identity: FileSystem.Identity
  private let writerLock: WriterLockFile?
  let isWriterLocked: Bool
  var keepsPages: Bool { isWriterLocked }

  init(_ descriptor: Int32, _ identity: FileSystem.Identity, writerLock: WriterLockFile?) {
    self.descriptor = descriptor
    self.identity = identity
    self.writerLock = writerLock
    isWriterLocked = writerLock != nil
  }

  deinit {
    writerLock?.release()
    close(descriptor)
    EnvironmentRegistry.release(identity)
  }
}
