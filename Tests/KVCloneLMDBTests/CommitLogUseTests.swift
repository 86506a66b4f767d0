import Foundation
import Testing

@testable import KVCloneLMDB

/// The use of the log, its restarts, and its end, which leaves a complete `data.mdb`.
@Suite struct CommitLogUseTests {
  let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  private func put(_ environment: LMDBEnvironment, _ key: String, _ length: Int = 10) throws {
    let table = try environment.openTables(["a"], create: false)[0]
    var writer = try environment.beginWrite()
    try writer.put(table, key, String(repeating: "v", count: length))
    try writer.commit()
  }

  private func keys(_ environment: LMDBEnvironment) throws -> [String] {
    let table = try environment.openTables(["a"], create: false)[0]
    #expect(try PageFile(pinning: environment).walk().findings == [])
    return try environment.beginRead().keys(table)
  }

  // MARK: Opening and closing

  @Test func closingEndsTheUse() throws {
    let environment = try store.create(["a"], TemporaryStore.logging())
    for number in 0..<5 { try put(environment, "key \(number)") }
    let text = try store.logText()
    #expect(text.head?.isInUse == true && text.records.count == 5)
    #expect(try text.lastCommit == environment.info().commitNumber)
    environment.close()
    let ended = try #require(try store.logText().head)
    let data = try store.bytes(store.data)
    #expect(!ended.isInUse && ended.base == text.lastCommit)
    #expect(ended.metas == [Array(data[..<152]), Array(data[4096..<4248])])
    #expect(ended.salt != text.head?.salt && ended.sequence == (text.head?.sequence ?? 0) + 1)
    try FileManager.default.removeItem(atPath: store.log)
    #expect(try keys(store.open()) == (0..<5).map { "key \($0)" })
  }

  /// Four openings, each with the option or without, in all orders.
  @Test(arguments: 0..<16) func anyOrderOfOpeningsWillDo(order: Int) throws {
    try store.create(["a"], order % 3 == 0 ? TemporaryStore.logging() : LMDBOptions()).close()
    for turn in 0..<4 {
      let isLogging = order >> turn & 1 == 1
      let environment = try store.open(isLogging ? TemporaryStore.logging() : LMDBOptions())
      for number in 0...turn { try put(environment, "key \(turn) \(number)") }
      if try FileSystem.exists(store.log) {
        let text = try store.logText()
        #expect(text.head?.isInUse == isLogging && text.records.count == (isLogging ? turn + 1 : 0))
        if isLogging { #expect(try text.lastCommit == environment.info().commitNumber) }
      } else {
        #expect(!isLogging)
      }
      let expected = (0...turn).flatMap { turn in (0...turn).map { "key \(turn) \($0)" } }
      #expect(try keys(environment) == expected, "order \(order)")
      environment.close()
      if try FileSystem.exists(store.log) { #expect(try store.logText().head?.isInUse == false) }
      #expect(try store.findings() == [])
    }
  }

  @Test func whoOnlyReadsDoesNotUseTheLog() throws {
    let environment = try store.create(["a"], TemporaryStore.logging())
    #expect(try !FileSystem.exists(store.log))
    try put(environment, "x")
    environment.close()
    let log = try store.bytes(store.log)
    var options = TemporaryStore.logging()
    for isReadOnly in [true, false] {
      options.isReadOnly = isReadOnly
      let reader = try store.open(options)
      #expect(try keys(reader) == ["x"])
      reader.close()
      #expect(try store.bytes(store.log) == log)
    }
  }

  /// Makes a file immutable, which denies writes to root too, or mutable again.
  private static func setImmutable(_ isImmutable: Bool, _ path: String) -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["chattr", isImmutable ? "+i" : "-i", path]
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }

  private static let canSetImmutable: Bool = {
    guard let store = try? TemporaryStore() else { return false }
    let path = store.root + "/file"
    return FileManager.default.createFile(atPath: path, contents: nil) && setImmutable(true, path)
      && setImmutable(false, path)
  }()

  /// A reader blocks no other process, so it is admitted without the lock, as at opening.
  @Test(.enabled(if: canSetImmutable, "needs the right to make files immutable"))
  func aReaderContinuesWithALogThatItMayNotLock() throws {
    let environment = try store.create(["a"], TemporaryStore.logging())
    try put(environment, "x")
    environment.close()
    var options = TemporaryStore.logging()
    options.isReadOnly = true
    let reader = try store.open(options)
    defer { reader.close() }
    try #require(Self.setImmutable(true, store.log))
    defer { _ = Self.setImmutable(false, store.log) }
    // LMDB is opened again after a fatal failure.
    let isFatal = reader.core.state.withLock { state in
      state.isFatal = true
      reader.core.settle(&state)
      return state.isFatal
    }
    #expect(!isFatal)
    #expect(try keys(reader) == ["x"])
  }

  /// An unreadable mark is not a missing one: the log may be in use.
  @Test func aMarkThatCannotBeReadIsNotNone() throws {
    try store.prepare()
    let lock = try WriterLockFile(path: store.path + "/writer.lock")
    #expect(try lock.logMark() == .none)
    let unreadable = open("/dev/null", O_WRONLY | O_CLOEXEC)
    try #require(unreadable >= 0 && dup2(unreadable, lock.descriptor) >= 0)
    close(unreadable)
    #expect(throws: LMDBError.self) { _ = try lock.logMark() }
  }

  @Test func aLogThatIsALinkIsRefused() throws {
    try store.prepare()
    try store.write([], store.root + "/elsewhere")
    try FileManager.default.createSymbolicLink(atPath: store.log, withDestinationPath: store.root + "/elsewhere")
    #expect(throws: LMDBError.symlink(path: store.log)) { _ = try store.open(TemporaryStore.logging()) }
    #expect(try store.bytes(store.root + "/elsewhere") == [])
  }

  // MARK: Transactions

  @Test func whatChangesNothingWritesNothing() throws {
    let environment = try store.create(["a"], TemporaryStore.logging())
    let table = try environment.table(named: "a")
    try environment.beginWrite().commit()
    try put(environment, "x")
    let log = try store.bytes(store.log)
    let number = try environment.info().commitNumber
    for _ in 0..<3 {
      try environment.beginWrite().commit()
      var writer = try environment.beginWrite()
      let isDeleted = try writer.delete(table, "y")
      #expect(!isDeleted)
      try writer.commit()
      writer = try environment.beginWrite()
      for number in 0..<100 { try writer.put(table, "key \(number)", String(repeating: "v", count: 3000)) }
      try writer.spill()
      writer.abort()
    }
    #expect(try environment.info().commitNumber == number)
    #expect(try store.bytes(store.log) == log)
    try put(environment, "z")
    let text = try store.logText()
    #expect(try text.lastCommit == environment.info().commitNumber && text.records.count == 2)
    #expect(try keys(environment) == ["x", "z"])
    // The aborted transactions wrote only to unused pages.
    let copy = try TemporaryStore.found(data: try store.bytes(store.data), log: try store.bytes(store.log))
    #expect(try keys(copy.open()) == ["x", "z"])
  }

  @Test func aFullLogIsRestarted() throws {
    let environment = try store.create(["a"], TemporaryStore.logging())
    let limit = 8192 + 1_056_768
    var sequences: Set<UInt64> = []
    var previous: LogText?
    for number in 0..<90 {
      try put(environment, "key \(number % 50)", 50_000)
      let text = try store.logText(after: previous)
      #expect(text.head?.isInUse == true && text.end <= limit)
      #expect(try text.lastCommit == environment.info().commitNumber)
      // No space is wasted: a record that would not have fitted ended the use of the log.
      if let previous, previous.head != text.head {
        #expect(text.records.isEmpty && previous.end + 20 * 4096 > limit)
      }
      sequences.insert(text.head?.sequence ?? 0)
      previous = text
      #expect(try #require(try FileSystem.facts(store.log)).byteCount <= 2 * limit)
    }
    #expect((3...8).contains(sequences.count))
    #expect(try keys(environment).count == 50)
    environment.close()
    #expect(try store.findings() == [])
  }

  @Test func aLargerLimitIsObeyed() throws {
    let environment = try store.create(["a"], TemporaryStore.logging(3 << 20))
    for number in 0..<45 { try put(environment, "key \(number % 50)", 50_000) }
    let text = try store.logText()
    #expect(text.records.count == 45 && text.end > 2 << 20)
  }

  @Test func aCommitOfManyPagesIsACheckpoint() throws {
    let environment = try store.create(["a"], TemporaryStore.logging(64 << 20))
    try put(environment, "small")
    for (length, isRecorded) in [(230 * 4096, true), (256 * 4096, false), (5 << 20, false), (240 * 4096, true)] {
      let before = try store.logText()
      try put(environment, "large", length)
      let number = try environment.info().commitNumber
      let after = try store.logText()
      #expect(after.lastCommit == number && after.head?.isInUse == true)
      #expect((after.head == before.head) == isRecorded, "\(length) bytes")
      if !isRecorded { #expect(after.head?.base == number && after.records.isEmpty) }
      try put(environment, "small")
      #expect(try store.logText().records.last?.commit == number + 1)
      let copy = try TemporaryStore.found(data: try store.bytes(store.data), log: try store.bytes(store.log))
      #expect(try keys(copy.open()) == ["large", "small"])
    }
    environment.close()
    #expect(try store.findings() == [])
  }

  /// Nothing is written until all processes have closed the store.
  @Test func aBrokenLogIsWrittenNoMore() throws {
    for options in [TemporaryStore.logging(), LMDBOptions()] {
      let store = try TemporaryStore()
      let logging = try store.create(["a"], TemporaryStore.logging())
      try put(logging, "x")
      let (data, log) = (try store.bytes(store.data), try store.bytes(store.log))
      logging.close()
      let found = try TemporaryStore.found(data: data, log: nil)
      let environment = try found.open(options)
      try found.write(log, found.log)
      try WriterLockFile(path: found.path + "/writer.lock").mark(.isBroken)
      for _ in 0..<2 {
        #expect {
          try put(environment, "y")
        } throws: { error in
          if case LMDBError.commitLog(.broken, _) = error { true } else { false }
        }
      }
      #expect(try keys(environment) == ["x"])
      environment.close()
      #expect(try found.bytes(found.log) == log)
      let again = try found.open(options)
      try put(again, "y")
      #expect(try keys(again) == ["x", "y"])
    }
  }
}
