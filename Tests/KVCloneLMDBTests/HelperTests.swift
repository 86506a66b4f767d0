import Foundation
import KVCloneTestSupport
import Testing

@testable import KVCloneLMDB

/// The small helpers for other modules.
@Suite struct HelperTests {
  @Test func files() throws {
    let store = try TemporaryStore()
    #expect(try FileSystem.kind(store.root) == .directory)
    #expect(try FileSystem.kind("/proc/self/exe") == .symlink)
    #expect(try FileSystem.kind("/dev/null") == .other)
    #expect(try !FileSystem.exists(store.path))
    try FileSystem.createDirectory(store.path)
    #expect(throws: LMDBError.self) { try FileSystem.createDirectory(store.path) }
    try FileSystem.fsyncDirectory(store.root)
    #expect(StorePaths("a/b//").directory == "a/b")
    #expect(StorePaths("/b").parent == "/" && StorePaths("b").parent == "." && StorePaths("a/b").name == "b")
    #expect(try StorePaths("/usr/../b/").resolved().directory == "/b")
    #expect(try StorePaths(".").resolved().directory == FileManager.default.currentDirectoryPath)
    #expect(try StorePaths("").resolved().directory == "")
    #expect(try StorePaths(store.root + "/none/b").resolved().directory == store.root + "/none/b")
    #expect(FileSystem.freeSpace(descriptor: -1) == nil)
  }

  @Test func threads() throws {
    let own = Threads.currentID
    #expect(try onThread(stackSize: 1 << 19) { Threads.currentID } != own)
    let earlier = monotonicNanoseconds()
    #expect(monotonicNanoseconds() >= earlier)
  }

  @Test func messagesSayWhatToDo() {
    let errors: [LMDBError] = [
      .mapFull, .readersFull, .threadStorageFull, .transactionFull, .cursorFull, .pageFull, .corrupted, .panic,
      .versionMismatch, .invalid, .mapResized, .incompatible, .badReaderSlot, .badTransaction, .badTable, .tablesFull,
      .noTable(name: "a"), .keyTooLong(length: 600), .keyEmpty, .valueTooLong(length: 5), .notAscending,
      .nestedWrite, .busy(holder: nil), .openingBusy(path: "p", process: 5, name: "n"),
      .openingBusy(path: "p", process: nil, name: ""), .transactionFailed, .forked,
      .alreadyOpen(path: "p"), .readOnly, .closed, .transactionsActive(count: 2), .storeExists(path: "p"),
      .storeNotFound(path: "p"), .destination(path: "p", parent: "q", errno: 2),
      .destination(path: "p", parent: "q", errno: 20), .destination(path: "", parent: ".", errno: 13),
      .insideStore(path: "p", store: "q"), .quotaExceeded, .fileSizeLimit, .invalidStore(path: "p", reason: "r"),
      .emptyFile(path: "p"), .symlink(path: "p"),
      .notRegularFile(path: "p"), .wrongOwner(path: "p", owner: 1), .wrongMode(path: "p", mode: 0o644),
      .hardLinked(path: "p", links: 2), .networkFileSystem(name: "NFS"), .unsupportedPageSize(16384),
      .commitFailed(outcome: .committed, errno: 5), .commitFailed(outcome: .notCommitted, errno: 28),
      .commitFailed(outcome: .unknown, errno: 5), .replacedWhileOpening(path: "p"), .pidNamespace, .diskFull,
      .outOfMemory, .io(errno: 5, operation: "pread"), .unsupportedSystemPageSize(16384),
      .unsupportedLibrary(loaded: "1.0.0", built: "0.9.24"), .lockFileUnusable(path: "p"),
    ]
    for error in errors {
      let sentences = error.message.split(separator: ". ")
      #expect(sentences.count >= 2 && error.message.hasSuffix("."), "\(error.message)")
    }
    #expect(LMDBError.io(errno: 5, operation: "pread").message.contains("Input/output error"))
    #expect(LMDBError(code: 28, operation: "write") == .diskFull)
  }

  /// Each limit has a remedy of its own, and only a device's error leads to the kernel's log.
  @Test(arguments: [
    (EMFILE, "ulimit -n"), (ENFILE, "fs.file-max"), (ENOMEM, "ulimit -v"), (ENOSPC, "disk is full"),
    (EDQUOT, "quota"), (EFBIG, "ulimit -f"), (EROFS, "Remount"), (EACCES, "owner and the mode"),
    (EPERM, "owner and the mode"), (ENOENT, "Check the path"), (EBUSY, "try again"), (ENOLCK, "file locks"),
    (EINVAL, "local file system"), (EIO, "kernel's log"),
  ])
  func errorsOfTheSystemNameTheirRemedy(code: Int32, remedy: String) {
    let error = LMDBError(code: code, operation: "open")
    #expect(error.message.contains(remedy), "\(error.message)")
    #expect(error.message.contains("kernel") == (code == EIO), "\(error.message)")
    #expect(LMDBError.isDiskFull(code) == error.isDiskFull)
    for outcome in [LMDBCommitOutcome.committed, .notCommitted, .unknown] {
      let commit = LMDBError.commitFailed(outcome: outcome, errno: code).message
      #expect(commit.contains("kernel") == (code == EIO), "\(commit)")
    }
  }

  /// Rule 15. Every failure here has the secret in its key or value.
  @Test func errorsSayNothingOfKeysAndValues() throws {
    let store = try TemporaryStore()
    var options = LMDBOptions()
    options.mapSize = 1 << 20
    let environment = try store.create(["a"], options)
    let table = try environment.table(named: "a")
    let (secret, long) = ("Geheimnis", String(repeating: "Geheimnis", count: 60))
    let huge = String(repeating: "Geheimnis", count: 300_000)
    var errors: [any Error] = []
    func attempt(_ body: (inout LMDBWriteTransaction) throws(LMDBError) -> Void) throws {
      var writer = try environment.beginWrite(label: "test")
      do throws(LMDBError) { try body(&writer) } catch { errors.append(error) }
      if let failure = commitError(writer) { errors.append(failure) }
    }
    try attempt { (writer) throws(LMDBError) in try writer.put(table, long, secret) }
    try attempt { (writer) throws(LMDBError) in try writer.put(table, secret, huge) }
    try attempt { (writer) throws(LMDBError) in
      try writer.append(table, secret, secret)
      try writer.append(table, secret, secret)
    }
    try attempt { (writer) throws(LMDBError) in _ = try writer.delete(table, long) }
    try attempt { (writer) throws(LMDBError) in try writer.put(LMDBTable(dbi: 900), secret, secret) }
    do { _ = try environment.beginRead().text(table, long) } catch { errors.append(error) }
    do { _ = try environment.beginRead().keys(table, from: long) } catch { errors.append(error) }
    #expect(errors.count == 12)
    for error in errors {
      var text = "\(error)"
      dump(error, to: &text)
      #expect(!text.contains(secret), "\(text)")
    }
  }

  /// A test run for a certain release must not pass with the system's library.
  @Test func libraryVersion() throws {
    let version = LMDBLibrary.version
    #expect(version.major == 0 && version.minor == 9)
    let wanted = ProcessInfo.processInfo.environment["KVCLONE_LMDB"] ?? "\(version)"
    #expect("\(version)" == wanted)
    #expect(try Peer("", ["library"]).finish() == ["LMDB \(wanted)"])
    if let shim = CommitFaultTests.shim {
      #expect(try Peer("", ["library"], preload: shim).finish() == ["LMDB \(wanted)"])
    }
  }

  @Test func librariesAndSystemsWithOtherPagesAreRefused() throws {
    typealias Version = LMDBLibrary.Version
    let built = Version(major: 0, minor: 9, patch: 24)
    for patch in [22, 24, 31, 36, 70] {
      try LMDBLibrary.check(Version(major: 0, minor: 9, patch: patch), built, pageSize: 4096)
      #expect(LMDBLibrary.destroysMutexes(Version(major: 0, minor: 9, patch: patch)) == (patch == 31))
    }
    for other in [Version(major: 1, minor: 0, patch: 0), Version(major: 0, minor: 10, patch: 24)] {
      #expect(throws: LMDBError.unsupportedLibrary(loaded: "\(other)", built: "0.9.24")) {
        try LMDBLibrary.check(other, built, pageSize: 4096)
      }
    }
    for size in [8192, 16384, 65536] {
      let error = LMDBError.unsupportedSystemPageSize(size)
      #expect(throws: error) { try LMDBLibrary.check(built, built, pageSize: size) }
      #expect(error.message.contains("\(size)") && error.message.contains("4096"))
    }
  }
}
