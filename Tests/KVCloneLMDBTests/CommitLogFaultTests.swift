import Foundation
import Testing

@testable import KVCloneLMDB

/// The order of syncs, and the state after failed calls: by shims in front of a second process's C library.
@Suite struct CommitLogFaultTests {
  let store: TemporaryStore

  init() throws {
    store = try TemporaryStore()
    try store.prepare()
  }

  private func count(_ environment: LMDBEnvironment) throws -> Int {
    let table = try environment.openTables(["a"], create: false)[0]
    #expect(try PageFile(pinning: environment).walk().findings == [])
    return try environment.beginRead().keys(table).count
  }

  // MARK: Faults

  /// The faults are those of `CommitFaultTests`. The outcome that the commit reports must be right, even if the process
  /// is killed afterwards: 2 is the old state, 4 the new one.
  @Test(.enabled(if: CommitFaultTests.shim != nil, "needs a C compiler (cc)"), arguments: 0...9)
  func whatAFailedCommitSaysIsSo(fault: Int) throws {
    let peer = try Peer(
      store.path, ["log=0", "open", "put=1", "fault=\(fault)", "put=3", "wait"], preload: CommitFaultTests.shim)
    let lines = peer.lines(6)
    try #require(lines.count == 6 && lines[2] == "ok" && lines[5] == "waiting", "\(lines)")
    peer.kill()
    let environment = try store.open()
    let found = try count(environment)
    let expected =
      switch lines[4] {
      case "ok", "error commitFailed committed": [4]
      case "error commitFailed unknown": [2, 4]
      default: [2]
      }
    #expect(expected.contains(found), "fault \(fault): \(lines[4]), and there are \(found)")
    #expect((fault == 0) == (lines[4] == "ok"), "\(lines[4])")
  }

  @Test(.enabled(if: CommitFaultTests.shim != nil, "needs a C compiler (cc)"), arguments: 1...9)
  func aFailedCommitIsNoEnd(fault: Int) throws {
    let peer = try Peer(
      store.path,
      [
        "log=0", "open", "put=1", "fault=\(fault)", "put=3", "put=4", "fault=0", "close", "open", "count", "put=5",
        "count",
      ],
      preload: CommitFaultTests.shim)
    let lines = peer.finish()
    try #require(lines.count == 12, "\(lines)")
    #expect(lines[7...8] == ["ok", "ok"] && lines[10...] == ["ok", "count 6"], "fault \(fault): \(lines)")
    #expect(try count(store.open()) == 6)
  }

  /// Neither the log nor the file can be synced: nothing is written until the store is closed.
  @Test(.enabled(if: CommitFaultTests.shim != nil, "needs a C compiler (cc)"))
  func whereNothingCanBeSyncedNothingIsWrittenAnyMore() throws {
    let peer = try Peer(
      store.path,
      ["log=0", "open", "put=1", "fault=1", "put=3", "fault=0", "put=4", "count", "close", "open", "put=5", "count"],
      preload: CommitFaultTests.shim)
    let lines = peer.finish()
    try #require(lines.count == 12, "\(lines)")
    #expect(lines[4] == "error commitFailed unknown" && lines[6].hasPrefix("error A sync failed"), "\(lines)")
    #expect(lines[7] == "count 4" && lines[8...] == ["ok", "ok", "ok", "count 6"])
  }

  /// A length that cannot be read is not 0: the log would be restarted over its records.
  @Test(.enabled(if: CommitFaultTests.shim != nil, "needs a C compiler (cc)"))
  func aLengthThatCannotBeHadCostsNoRecord() throws {
    let peer = try Peer(
      store.path, ["log=0", "open", "put=1", "wait", "fault=11", "put=3", "wait"], preload: CommitFaultTests.shim)
    let first = peer.lines(4)
    try #require(first.last == "waiting", "\(first)")
    let before = try store.bytes(store.log)
    let end = try store.logText().end
    try #require(end > CommitLogFormat.recordsOffset)
    peer.resume()
    let second = peer.lines(4)
    #expect(second == ["ok", "ok", "ok", "waiting"])
    let records = CommitLogFormat.recordsOffset..<end
    #expect(try Array(store.bytes(store.log)[records]) == Array(before[records]))
    peer.kill()
    #expect(try count(store.open()) == 4)
  }

  // MARK: The order of syncs

  /// Compiles the tracing shim once; nil without a compiler.
  private static let tracer: String? = {
    let path = NSTemporaryDirectory() + "/kvclone-trace-\(getpid()).so"
    let source = path + ".c"
    guard (try? tracerSource.write(toFile: source, atomically: true, encoding: .utf8)) != nil else { return nil }
    defer { try? FileManager.default.removeItem(atPath: source) }
    let isBuilt = Peer.succeeds("/usr/bin/env", ["cc", "-shared", "-fPIC", "-O1", "-o", path, source, "-ldl"])
    atexit { unlink(NSTemporaryDirectory() + "/kvclone-trace-\(getpid()).so") }
    return isBuilt ? path : nil
  }()

  /// The events of the two files: "data", "head", "copy" (of the head) and "record" for writes, and "sync …".
  private func trace() throws -> [String] {
    let text = try String(contentsOfFile: store.root + "/trace", encoding: .utf8)
    return text.split(separator: "\n").map { line in
      let words = line.split(separator: " ")
      if words[0] == "s" { return "sync \(words[1])" }
      if words[1] == "data" { return "data" }
      return words[2] == "0" ? "head" : words[2] == "4096" ? "copy" : "record"
    }
  }

  /// Checks rules that hold between any two calls: everything that a call relies on is durable before it.
  private func complaint(_ trace: [String]) -> String? {
    var (dataIsSynced, copyIsSynced, isHeadOpen) = (true, true, false)
    for (index, event) in trace.enumerated() {
      // A head or a record is synced before the next event.
      if index > 0, ["head", "record"].contains(trace[index - 1]), event != "sync log" { return "\(index): no wait" }
      switch event {
      case "data": dataIsSynced = false
      case "sync data": dataIsSynced = true
      case "copy": (copyIsSynced, isHeadOpen) = (false, false)
      case "sync log": copyIsSynced = true
      case "head":
        if !dataIsSynced { return "\(index): a head before data.mdb is synced" }
        if !copyIsSynced { return "\(index): a head before the other copy is synced" }
        isHeadOpen = true
      default: break
      }
      if event == "data", isHeadOpen { return "\(index): no copy" }
    }
    return nil
  }

  @Test(.enabled(if: tracer != nil, "needs a C compiler (cc)"))
  func aCommitWaitsForTheLogAloneAndACheckpointForTheFileFirst() throws {
    let peer = try Peer(
      store.path, ["log=0", "open", "commits=3", "length=2000000", "commits=1", "length=10", "commits=2", "close"],
      preload: Self.tracer)
    #expect(peer.finish().last == "ok")
    let trace = try trace()
    #expect(complaint(trace) == nil, "\(trace)")
    // The beginning, the large commit, and the end: nothing else waits for the file.
    #expect(trace.filter { $0 == "head" }.count == 3 && trace.filter { $0 == "sync data" }.count == 3, "\(trace)")
    #expect(trace.filter { $0 == "record" }.count == 5, "\(trace)")
  }

  /// After another process wrote a head, this process does not know whether the head's copy is durable.
  @Test(.enabled(if: tracer != nil, "needs a C compiler (cc)"))
  func aHeadIsWrittenOnceTheOtherCopyIsDurableFromAnyWriter() throws {
    let first = try Peer(
      store.path, ["log=0", "open", "commits=2", "wait", "commits=2", "close"], preload: Self.tracer)
    #expect(first.lines(6).last == "waiting")
    let second = try Peer(store.path, ["open", "commits=1", "close"], preload: Self.tracer)
    #expect(second.finish().last == "ok")
    first.resume()
    #expect(first.finish().last == "ok")
    let trace = try trace()
    #expect(complaint(trace) == nil, "\(trace)")
  }

  @Test(.enabled(if: tracer != nil, "needs a C compiler (cc)"))
  func aRecoveryIsOnTheDiskBeforeTheLogIsEnded() throws {
    let peer = try Peer(store.path, ["log=0", "open", "commits=3", "wait"])
    #expect(peer.lines(7).last == "waiting")
    peer.kill()
    #expect(try Peer(store.path, ["open", "count"], preload: Self.tracer).finish() == ["ok", "count 4"])
    let trace = try trace()
    #expect(complaint(trace) == nil, "\(trace)")
    #expect(trace.filter { $0 == "data" }.count > 3 && trace.filter { $0 == "head" }.count == 1, "\(trace)")
  }

  /// Logs writes and syncs of the two files to a file next to the store. LMDB writes with pwrite, and runs of pages
  /// with writev (mdb.c 0.9.24).
  private static let tracerSource = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <fcntl.h>
    #include <stdio.h>
    #include <string.h>
    #include <sys/uio.h>
    #include <unistd.h>
    static void note(char what, int fd, long offset) {
      char link[64], path[4096], line[64];
      snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
      ssize_t n = readlink(link, path, sizeof path - 16);
      if (n <= 0) return;
      path[n] = 0;
      char *name = strrchr(path, '/');
      if (!name) return;
      int isLog = strcmp(name, "/commit.log") == 0;
      if (!isLog && strcmp(name, "/data.mdb") != 0) return;
      *name = 0;
      name = strrchr(path, '/');
      if (!name) return;
      strcpy(name, "/trace");
      int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
      int length = snprintf(line, sizeof line, "%c %s %ld\\n", what, isLog ? "log" : "data", offset);
      if (write(file, line, length) < 0) {}
      close(file);
    }
    ssize_t pwrite(int fd, const void *b, size_t n, off_t o) {
      static ssize_t (*real)(int, const void *, size_t, off_t);
      if (!real) real = dlsym(RTLD_NEXT, "pwrite");
      // Zeros make the log longer.
      if (n < 262144 || *(const char *)b) if (!(n == 65536 + 8192 && !*(const char *)b)) note('w', fd, o);
      return real(fd, b, n, o);
    }
    ssize_t pwrite64(int fd, const void *b, size_t n, off_t o) { return pwrite(fd, b, n, o); }
    ssize_t writev(int fd, const struct iovec *v, int n) {
      static ssize_t (*real)(int, const struct iovec *, int);
      if (!real) real = dlsym(RTLD_NEXT, "writev");
      note('w', fd, -1);
      return real(fd, v, n);
    }
    int fdatasync(int fd) {
      static int (*real)(int);
      if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
      note('s', fd, 0);
      return real(fd);
    }
    int fsync(int fd) {
      static int (*real)(int);
      if (!real) real = dlsym(RTLD_NEXT, "fsync");
      note('s', fd, 0);
      return real(fd);
    }

    """
}
