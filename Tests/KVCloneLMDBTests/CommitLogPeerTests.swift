import Foundation
import Testing

@testable import KVCloneLMDB

/// A log that several processes use, end, or leave behind.
@Suite struct CommitLogPeerTests {
  let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  /// The numbers that the peer's `commits` wrote, as far as they are in the store.
  private func numbers(_ environment: LMDBEnvironment) throws -> [UInt64] {
    let table = try environment.openTables(["a"], create: false)[0]
    #expect(try PageFile(pinning: environment).walk().findings == [])
    let reader = try environment.beginRead()
    var numbers: [UInt64] = []
    try reader.scan(table) { key, _ in
      if key.byteCount == 8 {
        numbers.append(UInt64(bigEndian: key.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }))
      }
      return true
    }
    return numbers
  }

  private func put(_ environment: LMDBEnvironment, _ key: String) throws {
    let table = try environment.openTables(["a"], create: false)[0]
    var writer = try environment.beginWrite()
    try writer.put(table, key, "value")
    try writer.commit()
  }

  /// Copies the files that a kill of this and all other processes would leave now.
  private func copy() throws -> TemporaryStore {
    try TemporaryStore.found(data: try store.bytes(store.data), log: try store.bytes(store.log))
  }

  // MARK: Killed processes

  @Test(arguments: [(17, 100), (60, 2500), (35, 60_000)])
  func whatAKilledProcessReportedIsThere(count: Int, length: Int) throws {
    try store.prepare()
    let peer = try Peer(store.path, ["log=0", "open", "length=\(length)", "commits=100000"])
    #expect(peer.lines(3) == ["ok", "ok", "ok"])
    #expect(peer.lines(count).last == "committed \(count)")
    peer.kill()
    var last = UInt64(count)
    while let line = peer.line() { last = UInt64(line.dropFirst("committed ".count)) ?? last }
    #expect(try store.logText().head?.isInUse == true)
    let data = try store.bytes(store.data)
    let environment = try store.open()
    let found = try numbers(environment)
    #expect(found == Array(1...last) || found == Array(1...last + 1), "\(found.count) of \(last)")
    #expect(try store.logText().head?.isInUse == false)
    try put(environment, "next")
    environment.close()
    #expect(try store.findings() == [])
    // Without the pages that LMDB wrote since the checkpoint before the last one, only the log has them.
    #expect(data.count >= 8192)
  }

  @Test func aReadOnlyOpeningRecovers() throws {
    try store.prepare()
    let peer = try Peer(store.path, ["log=0", "open", "commits=5", "wait"])
    #expect(peer.lines(9).last == "waiting")
    peer.kill()
    var options = LMDBOptions()
    options.isReadOnly = true
    let environment = try store.open(options)
    #expect(try numbers(environment) == Array(1...5))
    #expect(try store.logText().head?.isInUse == false)
  }

  @Test(.enabled(if: CommitFaultTests.shim != nil, "needs a C compiler (cc)"))
  func aLogThatCannotBeReadKeepsNoSecondProcessOut() throws {
    try store.prepare()
    let peer = try Peer(store.path, ["log=0", "open", "commits=3", "wait", "close"])
    #expect(peer.lines(7).last == "waiting")
    let second = ["fault=12", "open", "count", "close", "lacks-log"]
    #expect(
      try Peer(store.path, second, preload: CommitFaultTests.shim).finish() == ["ok", "ok", "count 4", "ok", "has log"])
    peer.kill()
    // Now only the log shows whether data.mdb is whole.
    let alone = try Peer(store.path, ["fault=12", "open", "lacks-log"], preload: CommitFaultTests.shim).finish()
    #expect(alone == ["ok", "error io 5", "lacks log"])
    #expect(try numbers(store.open()) == [1, 2, 3])
  }

  @Test(.enabled(if: Peer.canMount, "needs the right to mount"))
  func aReaderWithoutWritePermissionGetsAnError() throws {
    try store.prepare()
    let script = """
      mount --bind "$2" "$2"; mount -o remount,ro,bind "$2" "$2"
      "$1" lmdb "$2/store" readonly open count
      """
    // A log that is not in use needs no write.
    #expect(try Peer.script(script, root: store.root).last == "count 1")
    let peer = try Peer(store.path, ["log=0", "open", "commits=5", "wait"])
    #expect(peer.lines(9).last == "waiting")
    peer.kill()
    let data = try store.bytes(store.data)
    let lines = try Peer.script(script, root: store.root)
    #expect(lines.count == 3 && lines[1].hasPrefix("error ") && lines[1].contains("commit.log has commits"), "\(lines)")
    #expect(try store.bytes(store.data) == data && store.logText().head?.isInUse == true)
    #expect(try numbers(store.open()) == Array(1...5))
  }

  @Test(arguments: [false, true]) func theProcessAfterAKilledOneHasACompleteStore(isLogging: Bool) throws {
    try store.prepare()
    let environment = try store.open(isLogging ? TemporaryStore.logging() : LMDBOptions())
    let peer = try Peer(store.path, ["log=0", "open", "commits=9", "wait"])
    #expect(peer.lines(13).last == "waiting")
    let before = try store.logText()
    peer.kill()
    // The log is in use, and this process has the store open: no other process writes a checkpoint.
    let second = try Peer(store.path, ["open", "count"])
    #expect(second.finish() == ["ok", "count 10"])
    #expect(try store.logText().head == before.head)
    try put(environment, "next")
    let after = try store.logText()
    #expect(after.head?.isInUse == isLogging)
    if isLogging { #expect(try after.head == before.head && after.lastCommit == environment.info().commitNumber) }
    #expect(try numbers(copy().open()) == Array(1...9))
    environment.close()
    #expect(try store.logText().head?.isInUse == false)
    #expect(try store.findings() == [])
  }

  /// The process was killed between LMDB's commit and its record: the next commit needs a checkpoint, because the log
  /// lacks the pages.
  @Test func aCommitWithoutARecordIsFollowedByACheckpoint() throws {
    try store.prepare()
    let environment = try store.open(TemporaryStore.logging())
    try put(environment, "x")
    let peer = try Peer(store.path, ["log=0", "open", "commits=3", "wait"])
    #expect(peer.lines(7).last == "waiting")
    peer.kill()
    let text = try store.logText()
    let record = try #require(text.records.last)
    // As if its last record had never been written.
    var log = try store.bytes(store.log)
    for index in record.range { log[index] = 0 }
    let file = try #require(FileHandle(forUpdatingAtPath: store.log))
    try file.write(contentsOf: Data(log))
    try file.close()
    try put(environment, "y")
    let after = try store.logText()
    #expect(after.head != text.head && after.head?.base == record.commit && after.records.count == 1)
    #expect(try numbers(copy().open()) == [1, 2, 3])
  }

  // MARK: In turn

  @Test func twoThatUseTheLogGoOnInTurn() throws {
    try store.prepare()
    let environment = try store.open(TemporaryStore.logging())
    let turns = 6
    let peer = try Peer(store.path, ["log=0", "open"] + (0..<turns).flatMap { _ in ["commits=2", "wait"] })
    #expect(peer.lines(2) == ["ok", "ok"])
    var head: LogText.Head?
    for turn in 0..<turns {
      #expect(peer.lines(turn == 0 ? 4 : 5).suffix(1) == ["waiting"])
      try put(environment, "ours \(turn)")
      let text = try store.logText()
      #expect(try text.lastCommit == environment.info().commitNumber && text.head?.isInUse == true)
      #expect(text.records.count == 3 * (turn + 1))
      if turn > 0 { #expect(text.head == head, "the log goes on") }
      head = text.head
      let copy = try copy().open()
      #expect(try numbers(copy) == [1, 2])
      #expect(try copy.beginRead().keys(copy.table(named: "a")).count == 3 + turn + 1)
      peer.resume()
    }
    #expect(peer.finish() == ["ok"])
    // The peer's close ended the use; the next commit begins it again.
    #expect(try store.logText().head?.isInUse == false)
    try put(environment, "last")
    #expect(try store.logText().head?.isInUse == true && store.logText().records.count == 1)
    environment.close()
    #expect(try store.logText().head?.isInUse == false)
    #expect(try store.findings() == [])
  }

  @Test(arguments: [false, true]) func oneThatUsesTheLogAndOneThatDoesNotTakeTurns(isPeerLogging: Bool) throws {
    try store.prepare()
    let environment = try store.open(isPeerLogging ? LMDBOptions() : TemporaryStore.logging())
    let steps = (isPeerLogging ? ["log=0", "open"] : ["no-log", "open"])
    let turns = 5
    let peer = try Peer(store.path, steps + (0..<turns).flatMap { _ in ["commits=2", "wait"] })
    #expect(peer.lines(2) == ["ok", "ok"])
    for turn in 0..<turns {
      #expect(peer.lines(turn == 0 ? 4 : 5).suffix(1) == ["waiting"])
      if try FileSystem.exists(store.log) {
        #expect(try store.logText().head?.isInUse == isPeerLogging)
        #expect(try numbers(copy().open()) == [1, 2])
      }
      try put(environment, "ours \(turn)")
      let text = try store.logText()
      #expect(text.head?.isInUse == !isPeerLogging)
      if !isPeerLogging { #expect(try text.lastCommit == environment.info().commitNumber && text.records.count == 1) }
      #expect(try numbers(copy().open()) == [1, 2])
      peer.resume()
    }
    #expect(peer.finish() == ["ok"])
    environment.close()
    #expect(try store.logText().head?.isInUse == false)
    #expect(try store.findings() == [])
  }
}
