import CKVCloneLMDB
import Foundation
import Testing

@testable import KVCloneLMDB

/// `lock.mdb`: no process uses mutexes that another one destroys or has not initialized, with any release of LMDB.
@Suite struct LockFileTests {
  let store: TemporaryStore
  /// The path of `lock.mdb` in errors.
  let path: String

  init() throws {
    store = try TemporaryStore()
    path = try StorePaths(store.path).resolved().readerLock
    try store.prepare()
  }

  private var wait: Peer {
    get throws {
      let peer = try Peer(store.path, ["open", "wait"])
      #expect(peer.lines(2) == ["ok", "waiting"])
      return peer
    }
  }

  /// Offsets in `lock.mdb` (`MDB_txninfo`) if the C library has mutexes of 40 bytes: the kind of each mutex (`__kind`),
  /// which `pthread_mutex_destroy` sets to -1, and the number of the last commit.
  private static let (kinds, lastCommit): ([UInt64], UInt64) = ([8 + 16, 64 + 16], 48)

  private func patch(_ offset: UInt64, _ bytes: [UInt8]) throws {
    let file = try #require(FileHandle(forUpdatingAtPath: path))
    try file.seek(toOffset: offset)
    try file.write(contentsOf: Data(bytes))
    try file.close()
  }

  // MARK: Openings and closings

  /// The race itself, with a release that has it; with others, the lock does no harm. About 27 of 900 processes failed
  /// with 0.9.31.
  @Test(arguments: [[], ["log=0"], ["readonly"]])
  func processesThatOpenAndCloseAtTheSameTimeAllWork(options: [String]) throws {
    for _ in 0..<2 {
      let steps = options + ["busy=600000", "opens=40"]
      let peers = try (0..<6).map { _ in try Peer(store.path, steps) }
      let killed = try (0..<2).map { _ in try Peer(store.path, options + ["opens=100000"]) }
      usleep(UInt32.random(in: 0..<100_000))
      for peer in killed { peer.kill() }
      for peer in peers { #expect(peer.finish() == steps.map { _ in "ok" }) }
    }
    let environment = try store.open()
    try environment.openTables(["a"], create: false)
    #expect(try environment.auditPages().isConsistent)
  }

  /// `mdb_env_close` of 0.9.26 to 0.9.31 destroys the mutexes if it gets the write lock on byte 0.
  @Test(arguments: [false, true]) func aProcessCannotLockItsOwnLockFileAlone(isReadOnly: Bool) throws {
    var options = LMDBOptions()
    options.isReadOnly = isReadOnly
    let environment = try store.open(options)
    let descriptor = try #require(environment.core.raw.lockFile?.descriptor)
    // F_GETLK reports locks that would block LMDB's F_SETLK; a lock of the process's own of the same kind would not.
    #expect(kvclone_is_byte_locked_by_others(descriptor, 0) == 1)
    #expect(kvclone_is_byte_locked_by_others(descriptor, OpeningLock.offset) == 0)
    environment.close()
    let file = open(path, O_RDWR | O_CLOEXEC)
    #expect(file >= 0 && kvclone_is_byte_locked_by_others(file, 0) == 0)
    close(file)
  }

  @Test func aStoreThatIsReopenedKeepsTheLock() throws {
    let environment = try store.open()
    environment.core.state.withLock { state in
      state.isFatal = true
      environment.core.demandAttention()
      environment.core.settle(&state)
      #expect(!state.isFatal)
    }
    let descriptor = try #require(environment.core.raw.lockFile?.descriptor)
    #expect(kvclone_is_byte_locked_by_others(descriptor, 0) == 1)
    #expect(try Peer(store.path, ["open", "count"]).finish() == ["ok", "count 1"])
  }

  @Test func anOpeningWaitsForOneThatIsNotDone() throws {
    let holder = try lockedOpening()
    let peer = try Peer(store.path, ["open", "count"])
    let isWaiting = waitsToOpen(peer)
    holder.close()
    #expect(isWaiting)
    #expect(peer.finish() == ["ok", "count 1"])
  }

  /// `lock.mdb` with the opening lock, as during an opening.
  private func lockedOpening() throws -> ReaderLockFile {
    let file = try #require(try ReaderLockFile(path: path, isReadOnly: false))
    try file.lockOpening(deadline: LMDBOptions().openingDeadline)
    return file
  }

  /// Whether a process waits for the opening lock: it opens the file first, and continues only with the lock.
  private func waitsToOpen(_ peer: Peer) -> Bool {
    for _ in 0..<60_000 {
      let links = FileSystem.names(inDirectory: "/proc/\(peer.pid)/fd").map { "/proc/\(peer.pid)/fd/\($0)" }
      if links.contains(where: { (try? FileManager.default.destinationOfSymbolicLink(atPath: $0)) == path }) {
        return true
      }
      usleep(5000)
    }
    return false
  }

  @Test func aProcessThatIsKilledWhileItOpensLeavesTheLock() throws {
    let holder = try lockedOpening()
    let peers = try (0..<2).map { _ in try Peer(store.path, ["open", "count"]) }
    for peer in peers { #expect(waitsToOpen(peer)) }
    peers[0].kill()
    holder.close()
    #expect(peers[1].finish() == ["ok", "count 1"])
  }

  @Test func aLockFileThatIsReplacedWhileItIsOpenedIsNotUsed() throws {
    let holder = try lockedOpening()
    let peer = try Peer(store.path, ["open", "count", "wait", "close"])
    #expect(waitsToOpen(peer))
    try FileManager.default.removeItem(atPath: path)
    #expect(FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]))
    holder.close()
    #expect(peer.lines(3) == ["ok", "count 1", "waiting"])
    let file = open(path, O_RDWR | O_CLOEXEC)
    #expect(kvclone_ofd_is_byte_locked_elsewhere(file, 0) == 1, "the peer holds another file")
    close(file)
  }

  // MARK: Openings that do not end

  private static func busy(_ path: String, _ process: Int32) -> LMDBError {
    .openingBusy(path: path, process: process, name: ProcessNames.name(process))
  }

  @Test(arguments: [Duration.zero, .milliseconds(100)])
  func anOpeningWaitsNoLongerThanItsTimeout(timeout: Duration) throws {
    var options = LMDBOptions()
    options.busyTimeout = timeout
    let holder = try lockedOpening()
    let duration = ContinuousClock().measure {
      #expect(throws: Self.busy(path, getpid())) { _ = try store.open(options) }
    }
    #expect(duration >= timeout)
    holder.close()
    _ = try store.open(options)
  }

  @Test func anOpeningWaitsNoLongerForTheLog() throws {
    var options = LMDBOptions()
    options.walSizeLimit = 1 << 20
    let environment = try store.open(options)
    let table = try environment.openTables(["a"], create: false)[0]
    var writer = try environment.beginWrite()
    try writer.put(table, "log", "1")
    try writer.commit()
    environment.close()
    options.busyTimeout = .milliseconds(100)
    let log = try StorePaths(store.path).resolved().commitLog
    var holder = try CommitLogFile(existingAt: log)
    try #require(holder).lockOpening(path: log, deadline: options.openingDeadline)
    for isReadOnly in [false, true] {
      options.isReadOnly = isReadOnly
      #expect(throws: Self.busy(StorePaths(store.path).commitLog, getpid())) { _ = try store.open(options) }
    }
    holder = nil
    _ = try store.open(options)
  }

  /// Stops a process inside `mdb_env_open`, which only that process can end.
  @Test func aProcessThatIsStoppedWhileItOpensDoesNotStopOthers() throws {
    let file = open(path, O_RDWR | O_CLOEXEC)
    defer { close(file) }
    let peer = try Peer(store.path, ["opens=100000000"])
    defer { peer.kill() }
    for _ in 0..<20_000 {
      usleep(UInt32.random(in: 0..<2000))
      kill(peer.pid, SIGSTOP)
      while FileSystem.smallTextFile("/proc/\(peer.pid)/stat")?.contains(") T ") == false { usleep(100) }
      if kvclone_ofd_is_byte_locked_elsewhere(file, OpeningLock.offset) == 1 { break }
      kill(peer.pid, SIGCONT)
    }
    var options = LMDBOptions()
    options.busyTimeout = .milliseconds(100)
    let expected = Self.busy(path, peer.pid)
    #expect(throws: expected) { _ = try store.open(options) }
    #expect(expected.message.contains("kill -CONT \(peer.pid)"))
    #expect(try Peer(store.path, ["busy=100", "open"]).finish() == ["ok", "error " + expected.message])
    // When it continues, others open the store, though it opens it again and again.
    kill(peer.pid, SIGCONT)
    let answers = try Peer(store.path, ["busy=60000", "open", "count"]).finish()
    #expect(answers.dropLast() == ["ok", "ok"] && answers.last?.hasPrefix("count ") == true, "\(answers)")
  }

  // MARK: Lock files of other programs

  @Test(arguments: [0, 1]) func destroyedMutexesAreNotUsed(mutex: Int) throws {
    let peer = try wait
    // Programs without the opening lock destroy both; the reader mutex is the first.
    for kind in Self.kinds[...mutex] { try patch(kind, [0xFF, 0xFF, 0xFF, 0xFF]) }
    let refused = try Peer(store.path, ["open"]).finish()
    #expect(refused == ["error " + LMDBError.lockFileUnusable(path: path).message])
    #expect(throws: LMDBError.lockFileUnusable(path: path)) { _ = try store.open() }
    let next = try Peer(store.path, ["open", "put=3", "count"])
    peer.kill()
    // As the only process, it initializes the file.
    #expect(next.finish() == ["ok", "ok", "count 4"])
  }

  /// The lock file of an opening that was killed before it stored the last commit number. A writer would begin on an
  /// old state; 0.9.33 and later correct readers (ITS#10212).
  @Test func aLockFileThatKnowsNoCommitIsNotUsed() throws {
    _ = try Peer(store.path, ["open", "commits=5", "close"]).finish()
    let peer = try wait
    try patch(Self.lastCommit, [UInt8](repeating: 0, count: 8))
    let refusal = "error " + LMDBError.lockFileUnusable(path: path).message
    #expect(try Peer(store.path, ["open"]).finish() == [refusal])
    let reading = try Peer(store.path, ["readonly", "open", "count"]).finish()
    let refused = ["ok", refusal, "error " + LMDBError.closed.message]
    #expect(reading == (LMDBLibrary.version.patch >= 33 ? ["ok", "ok", "count 6"] : refused))
    peer.kill()
    #expect(try Peer(store.path, ["open", "put=3", "count"]).finish() == ["ok", "ok", "count 7"])
  }

  // MARK: Rejections before LMDB maps anything

  /// A shim that pretends another release of the library or the system, selected by `KVCLONE_PRETEND`.
  private static let pretender: String? = {
    let path = NSTemporaryDirectory() + "/kvclone-pretend-\(getpid()).so"
    let source = path + ".c"
    let text = """
      #define _GNU_SOURCE
      #include <dlfcn.h>
      #include <stdlib.h>
      #include <string.h>
      #include <unistd.h>
      static int is(const char *what) { const char *now = getenv("KVCLONE_PRETEND"); return now && !strcmp(now, what); }
      long sysconf(int name) {
        static long (*real)(int);
        if (!real) real = dlsym(RTLD_NEXT, "sysconf");
        return name == _SC_PAGESIZE && is("pages") ? 16384 : real(name);
      }
      char *mdb_version(int *major, int *minor, int *patch) {
        static char *(*real)(int *, int *, int *);
        if (!real) real = dlsym(RTLD_NEXT, "mdb_version");
        char *text = real(major, minor, patch);
        if (is("library")) { *major = 1; *minor = 0; *patch = 2; }
        return text;
      }

      """
    guard (try? text.write(toFile: source, atomically: true, encoding: .utf8)) != nil else { return nil }
    defer { try? FileManager.default.removeItem(atPath: source) }
    let isBuilt = Peer.succeeds("/usr/bin/env", ["cc", "-shared", "-fPIC", "-O1", "-o", path, source, "-ldl"])
    atexit { unlink(NSTemporaryDirectory() + "/kvclone-pretend-\(getpid()).so") }
    return isBuilt ? path : nil
  }()

  @Test(.enabled(if: pretender != nil, "needs a C compiler (cc)"), arguments: ["pages", "library", "nothing"])
  func otherPagesAndLibrariesAreRefusedBeforeAnythingIsMade(what: String) throws {
    let before = try FileManager.default.contentsOfDirectory(atPath: store.path).sorted()
    let new = store.root + "/new"
    let peer = try Peer(
      store.path, ["open", "path=\(new)", "create"], preload: Self.pretender, variables: ["KVCLONE_PRETEND": what])
    let lines = peer.finish()
    let error: LMDBError? =
      switch what {
      case "pages": .unsupportedSystemPageSize(16384)
      case "library": .unsupportedLibrary(loaded: "1.0.2", built: "\(LMDBLibrary.builtVersion)")
      default: nil
      }
    let line = error.map { "error " + $0.message } ?? "ok"
    #expect(lines == [line, "ok", line])
    #expect(try FileSystem.exists(new) == (error == nil))
    #expect(try FileManager.default.contentsOfDirectory(atPath: store.root).count == (error == nil ? 2 : 1))
    if error != nil { #expect(try FileManager.default.contentsOfDirectory(atPath: store.path).sorted() == before) }
  }
}
