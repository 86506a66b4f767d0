import Foundation
import Testing

@testable import KVCloneLMDB

/// Rule 9: the state after a failed commit. The environment determines every outcome instead of assuming it, and the
/// store remains usable.
@Suite struct CommitFaultTests {
  let store: TemporaryStore

  init() throws {
    store = try TemporaryStore()
  }

  private func put(_ environment: LMDBEnvironment, _ key: String) throws(LMDBError) {
    let table = try environment.table(named: "a")
    var writer = try environment.beginWrite()
    try writer.put(table, key, "1")
    try writer.commit()
  }

  /// Replaces the descriptor that LMDB writes meta pages with by one that cannot be written.
  private func breakMetaWrites() throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
      guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name),
        target.hasSuffix("/\(store.root.split(separator: "/").last ?? "?")/store/data.mdb"),
        let info = FileSystem.smallTextFile("/proc/self/fdinfo/" + name),
        let flags = info.split(separator: "\n").first(where: { $0.hasPrefix("flags:") }),
        let value = Int(flags.dropFirst(6).filter(\.isNumber), radix: 8), value & Int(O_DSYNC) != 0,
        let number = Int32(name)
      else { continue }
      let other = open("/dev/null", O_RDONLY | O_CLOEXEC)
      dup2(other, number)
      close(other)
      return
    }
    Issue.record("LMDB has no descriptor for meta pages")
  }

  @Test func aMetaPageThatCannotBeWrittenIsRevertedAndTheStoreContinues() throws {
    let environment = try store.create(["a", "b"])
    let tables = try (environment.table(named: "a"), environment.table(named: "b"))
    try put(environment, "x")
    let before = try environment.info().commitNumber
    try breakMetaWrites()
    #expect(throws: LMDBError.commitFailed(outcome: .notCommitted, errno: EBADF)) { try put(environment, "y") }
    // It was reopened at once, because no other transaction was open.
    #expect(try environment.info().commitNumber == before)
    #expect(try environment.beginRead().keys(tables.0) == ["x"])
    #expect(try environment.table(named: "b") == tables.1)
    try put(environment, "z")
    #expect(try environment.beginRead().keys(tables.0) == ["x", "z"])
    #expect(try environment.beginRead().keys(tables.1).isEmpty)
    #expect(try environment.auditPages().isConsistent)
    environment.close()
    _ = try store.open()
  }

  /// Commits `x`, and fails to write the meta page of the next commit while a reader prevents the reopening.
  private func failCommitNextToReader(_ environment: LMDBEnvironment) throws -> PinnedReader {
    try put(environment, "x")
    let pinned = try PinnedReader(environment)
    try breakMetaWrites()
    #expect(throws: LMDBError.commitFailed(outcome: .notCommitted, errno: EBADF)) { try put(environment, "y") }
    return pinned
  }

  @Test func aPinnedReaderDelaysTheReopening() throws {
    let environment = try store.create()
    let table = try environment.table(named: "a")
    var pinned: PinnedReader? = try failCommitNextToReader(environment)
    #expect(throws: LMDBError.panic) { _ = try environment.beginRead() }
    #expect(throws: LMDBError.panic) { _ = try environment.beginWrite() }
    #expect(try pinned?.keys(table) == ["x"])
    pinned = nil
    #expect(try environment.beginRead().keys(table) == ["x"])
    try put(environment, "z")
  }

  @Test func anErrorThatPreventsTheReopeningIsReportedUntilItIsGone() throws {
    let environment = try store.create()
    let table = try environment.table(named: "a")
    var pinned: PinnedReader? = try failCommitNextToReader(environment)
    #expect(throws: LMDBError.panic) { _ = try environment.beginWrite() }
    let (data, away) = (store.path + "/data.mdb", store.path + "/away")
    #expect(rename(data, away) == 0)
    withExtendedLifetime(pinned) {}
    pinned = nil
    for _ in 0..<2 {
      let readError = #expect(throws: LMDBError.self) { _ = try environment.beginRead() }
      let writeError = #expect(throws: LMDBError.self) { _ = try environment.beginWrite() }
      #expect(readError == writeError && readError != .panic)
      #expect(readError?.message.hasPrefix("No store exists at ") == true, "\(String(describing: readError))")
    }
    #expect(rename(away, data) == 0)
    #expect(try environment.beginRead().keys(table) == ["x"])
    try put(environment, "z")
  }

  @Test func closesAfterAPanic() throws {
    let environment = try store.create()
    try put(environment, "x")
    do {
      let pinned = try PinnedReader(environment)
      try breakMetaWrites()
      #expect(throws: LMDBError.commitFailed(outcome: .notCommitted, errno: EBADF)) { try put(environment, "y") }
      environment.close()
      #expect(try pinned.keys(environment.table(named: "a")) == ["x"])
    }
    let again = try store.open()
    let table = try again.openTables(["a"], create: false)[0]
    #expect(try again.beginRead().keys(table) == ["x"])
  }

  // MARK: With a shim in front of the C library

  /// Compiles the shim once; nil without a compiler.
  static let shim: String? = {
    let path = NSTemporaryDirectory() + "/kvclone-fault-\(getpid()).so"
    let source = path + ".c"
    guard (try? shimSource.write(toFile: source, atomically: true, encoding: .utf8)) != nil else { return nil }
    defer { try? FileManager.default.removeItem(atPath: source) }
    let isBuilt = Peer.succeeds("/usr/bin/env", ["cc", "-shared", "-fPIC", "-O1", "-o", path, source, "-ldl"])
    atexit { unlink(NSTemporaryDirectory() + "/kvclone-fault-\(getpid()).so") }
    return isBuilt ? path : nil
  }()

  /// The fault, the result of the commit, and the content afterwards: 1 is the old state, 4 the new one.
  static let faults: [(Int, String, [String])] = [
    (1, "error io 5", ["count 1"]), (2, "error diskFull", ["count 1"]), (3, "error io 5", ["count 1"]),
    (4, "error commitFailed notCommitted", ["count 1"]), (5, "error commitFailed notCommitted", ["count 1"]),
    (6, "error commitFailed unknown", ["count 1", "count 4"]), (7, "error commitFailed notCommitted", ["count 1"]),
    (8, "error commitFailed committed", ["count 4"]), (9, "error commitFailed unknown", ["count 1", "count 4"]),
  ]

  @Test(.enabled(if: shim != nil, "needs a C compiler (cc)"), arguments: faults)
  func everyCallOfACommitMayFail(fault: Int, message: String, counts: [String]) throws {
    try store.prepare()
    let peer = try Peer(
      store.path, ["open", "fault=\(fault)", "put=3", "fault=0", "count", "put=3", "count"],
      preload: Self.shim)
    let lines = peer.finish()
    #expect(lines.count == 7 && lines[2] == message, "\(lines)")
    #expect(counts.contains(lines[4]))
    #expect(lines.suffix(2) == ["ok", "count 4"])
    let environment = try store.open()
    try environment.openTables(["a"], create: false)
    #expect(try environment.auditPages().isConsistent)
  }

  /// 1 fdatasync fails; 2 data pages: ENOSPC; 3 a short write; 4 the meta page is not written; 5 it is written, and the
  /// write fails; 6 as 5, and the page cannot be overwritten; 7 as 5, and LMDB cannot restore it, though the library
  /// can; 8 as 7, and the library can only after the reopening; 9 as 4, and nothing can be synced after that; 10 the
  /// next sync after a commit log's head (360 bytes) was written fails; 11 the length of a commit log cannot be read;
  /// 12 a commit log cannot be read. Meta pages are written in 120 bytes, the library's repairs in 8, other pages in
  /// multiples of 4096 (mdb.c 0.9.24 to 0.9.36).
  private static let shimSource = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <errno.h>
    #include <stdio.h>
    #include <string.h>
    #include <sys/stat.h>
    #include <sys/uio.h>
    #include <unistd.h>
    int kvclone_fault = 0;
    static int metas, repairs, failed_meta, wrote_head;
    ssize_t pwrite64(int, const void *, size_t, off_t);
    static int fail(int code) { errno = code; return -1; }
    static int data(size_t n) {
      if (n % 4096 != 0 || n == 0) return 0;
      return kvclone_fault == 2 ? ENOSPC : 0;
    }
    static ssize_t meta(int fd, const void *b, size_t n, off_t o, ssize_t (*real)(int, const void *, size_t, off_t)) {
      int f = kvclone_fault;
      if (n == 360 && o == 0) wrote_head = 1;
      if (n == 120 && f >= 4 && f != 11) {
        metas++;
        if (metas == 1) {
          failed_meta = 1;
          if (f != 4 && f != 9) real(fd, b, n, o);
          return fail(EIO);
        }
        if (f >= 6 && f <= 8) return fail(EIO);
      }
      if (n == 8 && f >= 6) {
        repairs++;
        if (f == 6 || (f == 8 && repairs == 1)) return fail(EIO);
      }
      return real(fd, b, n, o);
    }
    ssize_t pwrite(int fd, const void *b, size_t n, off_t o) {
      static ssize_t (*real)(int, const void *, size_t, off_t);
      if (!real) real = dlsym(RTLD_NEXT, "pwrite");
      if (data(n)) return fail(data(n));
      if (kvclone_fault == 3 && n % 4096 == 0 && n > 0) return real(fd, b, n / 2, o);
      return meta(fd, b, n, o, real);
    }
    ssize_t pwrite64(int fd, const void *b, size_t n, off_t o) { return pwrite(fd, b, n, o); }
    ssize_t writev(int fd, const struct iovec *v, int n) {
      static ssize_t (*real)(int, const struct iovec *, int);
      if (!real) real = dlsym(RTLD_NEXT, "writev");
      if (data(v[0].iov_len)) return fail(ENOSPC);
      if (kvclone_fault == 3) return real(fd, v, 1);
      return real(fd, v, n);
    }
    static int is_log(int fd) {
      char entry[32], path[4096];
      snprintf(entry, sizeof entry, "/proc/self/fd/%d", fd);
      ssize_t n = readlink(entry, path, sizeof path);
      return n > 10 && !memcmp(path + n - 10, "commit.log", 10);
    }
    int fstat(int fd, struct stat *s) {
      static int (*real)(int, struct stat *);
      if (!real) real = dlsym(RTLD_NEXT, "fstat");
      if (kvclone_fault == 11 && is_log(fd)) return fail(EIO);
      return real(fd, s);
    }
    ssize_t pread(int fd, void *b, size_t n, off_t o) {
      static ssize_t (*real)(int, void *, size_t, off_t);
      if (!real) real = dlsym(RTLD_NEXT, "pread");
      if (kvclone_fault == 12 && is_log(fd)) return fail(EIO);
      return real(fd, b, n, o);
    }
    ssize_t pread64(int fd, void *b, size_t n, off_t o) { return pread(fd, b, n, o); }
    int fdatasync(int fd) {
      static int (*real)(int);
      if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
      if (kvclone_fault == 1 || (kvclone_fault == 9 && failed_meta)) return fail(EIO);
      if (wrote_head && kvclone_fault == 10) {
        wrote_head = 0;
        return fail(EIO);
      }
      wrote_head = 0;
      return real(fd);
    }

    """
}
