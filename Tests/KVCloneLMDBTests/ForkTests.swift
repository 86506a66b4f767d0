import Foundation
import Testing

@testable import KVCloneLMDB

/// Nothing in LMDB notices a fork; the environment must.
@Suite(.serialized) struct ForkTests {
  @Test func aForkedChildIsRefused() throws {
    let store = try TemporaryStore()
    let environment = try store.create()
    // Swift hides fork, with reason: the child may do hardly anything. It looks at one flag and leaves.
    let symbol = try #require(dlsym(nil, "fork"))
    let fork = unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)
    #expect(!environment.isForked)
    let child = fork()
    if child == 0 { _exit(environment.isForked ? 7 : 8) }
    try #require(child > 0)
    var status: Int32 = 0
    #expect(waitpid(child, &status, 0) == child)
    #expect(status >> 8 & 0xFF == 7)
    #expect(!environment.isForked)
    _ = try environment.beginWrite()
  }
}

/// The small helpers for other modules.
@Suite struct HelperTests {
  @Test func files() throws {
    let store = try TemporaryStore()
    #expect(FileSystem.kind(store.root) == .directory)
    #expect(FileSystem.kind("/proc/self/exe") == .symlink)
    #expect(FileSystem.kind("/dev/null") == .other)
    #expect(!FileSystem.exists(store.path))
    try FileSystem.createDirectory(store.path)
    #expect(throws: LMDBError.self) { try FileSystem.createDirectory(store.path) }
    try FileSystem.fsyncDirectory(store.root)
    #expect(try FileSystem.freeBytes(store.root) > 0)
    #expect(StorePaths("a/b//").directory == "a/b")
    #expect(StorePaths("/b").parent == "/" && StorePaths("b").parent == "." && StorePaths("a/b").name == "b")
  }

  @Test func threads() throws {
    let own = Threads.currentID
    #expect(try Threads.runOnThread(stackSize: 1 << 19) { Threads.currentID } != own)
    #expect(throws: LMDBError.self) { try Threads.runOnThread(stackSize: 1) {} }
    let earlier = monotonicNanoseconds()
    #expect(monotonicNanoseconds() >= earlier)
  }

  @Test func memory() throws {
    #expect(try #require(ProcessMemory.anonymousBytes) > 0)
  }

  @Test func messagesSayWhatToDo() {
    let errors: [LMDBError] = [
      .mapFull, .readersFull, .threadStorageFull, .transactionFull, .cursorFull, .pageFull, .corrupted, .panic,
      .versionMismatch, .invalid, .mapResized, .incompatible, .badReaderSlot, .badTransaction, .badTable, .tablesFull,
      .noTable(name: "a"), .keyTooLong(length: 600), .keyEmpty, .valueTooLong(length: 5), .notAscending,
      .incompleteValue(reserved: 2, written: 1), .nestedWrite, .busy(holder: nil), .transactionFailed, .forked,
      .alreadyOpen(path: "p"), .readOnly, .closed, .transactionsActive(count: 2), .storeExists(path: "p"),
      .noStore(path: "p"), .notAStore(path: "p", reason: "r"), .emptyFile(path: "p"), .symlink(path: "p"),
      .notRegularFile(path: "p"), .wrongOwner(path: "p", owner: 1), .wrongMode(path: "p", mode: 0o644),
      .hardLinked(path: "p", links: 2), .networkFileSystem(name: "NFS"), .unsupportedPageSize(16384),
      .replacedWhileOpening(path: "p"), .pidNamespace, .diskFull, .outOfMemory, .io(errno: 5, operation: "pread"),
    ]
    for error in errors {
      let sentences = error.message.split(separator: ". ")
      #expect(sentences.count >= 2 && error.message.hasSuffix("."), "\(error.message)")
    }
    #expect(LMDBError.io(errno: 5, operation: "pread").message.contains("Input/output error"))
    #expect(LMDBError(code: 28, operation: "write") == .diskFull)
  }

  @Test func libraryVersion() {
    #expect(LMDBLibrary.version.major == 0 && LMDBLibrary.version.minor == 9)
  }
}
