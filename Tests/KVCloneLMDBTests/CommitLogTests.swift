import Foundation
import Testing

@testable import KVCloneLMDB

/// The commit log under killed processes, failing syncs, concurrent processes, and files that do not belong together.
@Suite struct CommitLogTests {
  let store: TemporaryStore

  init() throws {
    store = try TemporaryStore()
  }

  private var log: String { store.path + "/commit.log" }

  private var logged: LMDBOptions {
    var options = LMDBOptions()
    options.walSizeLimit = 0
    return options
  }

  private func put(_ environment: LMDBEnvironment, _ key: String) throws(LMDBError) {
    let table = try environment.table(named: "a")
    var writer = try environment.beginWrite()
    try writer.put(table, key, "1")
    try writer.commit()
  }

  private func keys(at path: String, _ options: LMDBOptions = LMDBOptions()) throws -> [String] {
    let environment = try LMDBEnvironment.open(at: path, options: options)
    defer { environment.close() }
    let table = try environment.openTables(environment.tableNames(), create: false)[0]
    #expect(try environment.auditPages().isConsistent)
    return try environment.beginRead().keys(table)
  }

  /// Leaves a store of a process that was killed between a commit and its record. Three commits of 2, 4 and 6 entries;
  /// the record of the last one is missing.
  private func killBeforeRecord() throws {
    #expect(try Peer(store.path, ["log=0", "create", "put=2", "put=4", "put=6", "die"]).finish().count == 5)
    let file = try #require(FileHandle(forUpdatingAtPath: log))
    var offset = UInt64(CommitLogFormat.recordsOffset)
    var last = offset
    while true {
      try file.seek(toOffset: offset)
      let words = try #require(try file.read(upToCount: 48)).withUnsafeBytes { Array($0.bindMemory(to: UInt64.self)) }
      if words.first != CommitLogFormat.recordMagic { break }
      last = offset
      offset += UInt64(CommitLogFormat.padded(Int(words[4])))
    }
    try #require(offset > last)
    try file.seek(toOffset: last)
    try file.write(contentsOf: Data(count: 8))
    try file.close()
  }

  @Test func recoversAfterADeath() throws {
    try killBeforeRecord()
    #expect(try keys(at: store.path).count == 4)
  }

  /// LMDB takes the number of the last commit from the lock file, unless it had the file alone when it opened it.
  @Test func severalProcessesThatOpenAStoreToBeRecoveredSeeTheSame() throws {
    for _ in 0..<12 {
      try killBeforeRecord()
      let peers = try (0..<4).map { _ in try Peer(store.path, ["wait", "open", "count"]) }
      for peer in peers { #expect(peer.line() == "waiting") }
      for peer in peers { peer.resume() }
      for peer in peers { #expect(peer.finish() == ["ok", "ok", "count 4"]) }
      #expect(try keys(at: store.path).count == 4)
      try FileManager.default.removeItem(atPath: store.path)
    }
  }

  @Test func aRecoveryMakesTheLockFileVoid() throws {
    try killBeforeRecord()
    _ = try CommitLogRecovery.run(StorePaths(store.path), deadline: LMDBOptions().openingDeadline)
    let magic = try #require(FileManager.default.contents(atPath: store.path + "/lock.mdb")).prefix(4)
    #expect(Array(magic) == [0, 0, 0, 0])
    #expect(try keys(at: store.path).count == 4)
  }

  // MARK: Failing writes and syncs

  @Test(.enabled(if: CommitFaultTests.shim != nil, "needs a C compiler (cc)"), arguments: CommitFaultTests.faults)
  func whatACommitThatFailedSaidIsStillSoAfterADeath(fault: Int, message: String, counts: [String]) throws {
    // Failing syncs of the log have tests of their own.
    if [1, 3, 9].contains(fault) { return }
    try store.prepare()
    let peer = try Peer(
      store.path, ["log=0", "open", "put=1", "fault=\(fault)", "put=3", "die"], preload: CommitFaultTests.shim)
    let lines = peer.finish()
    #expect(lines.count == 5 && lines.last == message, "\(lines)")
    let count = try keys(at: store.path).count
    #expect(counts.contains("count \(count)") || (count == 2 && counts.contains("count 1")), "\(lines) \(count)")
  }

  @Test(.enabled(if: CommitFaultTests.shim != nil, "needs a C compiler (cc)"))
  func aHeadThatMayNotBeOnTheDiskIsNotContinued() throws {
    try store.prepare()
    let peer = try Peer(
      store.path, ["log=0", "open", "fault=10", "put=3", "fault=0", "put=3", "count", "die"],
      preload: CommitFaultTests.shim)
    #expect(peer.finish() == ["ok", "ok", "ok", "error io 5", "ok", "ok", "count 4"])
    // It was written again, and synced.
    #expect(try CommitLogFile(existingAt: log)?.head()?.sequence == 2)
    #expect(try keys(at: store.path).count == 4)
  }

  /// On the disk the log may still be in use: writes without it would be undone after a power loss.
  @Test(.enabled(if: CommitFaultTests.shim != nil, "needs a C compiler (cc)"))
  func aLogWhoseEndMayNotBeOnTheDiskHasNotEnded() throws {
    try store.prepare()
    let user = try Peer(store.path, ["log=0", "open", "put=3", "wait", "put=4"])
    #expect(user.lines(4).last == "waiting")
    let other = try Peer(
      store.path, ["open", "fault=10", "put=5", "fault=0", "put=5"], preload: CommitFaultTests.shim)
    let lines = other.finish()
    #expect(lines.count == 5 && lines[2] == "error io 5", "\(lines)")
    #expect(lines.last?.hasPrefix("error A sync failed") == true, "\(lines)")
    user.resume()
    #expect(user.finish().last?.hasPrefix("error A sync failed") == true)
    #expect(try keys(at: store.path).count == 4)
  }

  /// The kernel marks pages as clean after a failed writeback, and reports the failure only once.
  @Test(.enabled(if: CommitFaultTests.shim != nil, "needs a C compiler (cc)"))
  func aSyncThatFailsAtTheEndKeepsOthersFromWriting() throws {
    try store.prepare()
    let user = try Peer(store.path, ["log=0", "open", "wait", "put=4"])
    #expect(user.lines(3).last == "waiting")
    let other = try Peer(
      store.path, ["log=0", "open", "put=3", "fault=1", "close"], preload: CommitFaultTests.shim)
    #expect(other.finish() == ["ok", "ok", "ok", "ok", "ok"])
    user.resume()
    #expect(user.finish().last?.hasPrefix("error A sync failed") == true)
    #expect(try keys(at: store.path).count == 4)
  }

  // MARK: Files that do not belong together

  @Test func aStoreThatIsMovedKeepsItsLog() throws {
    let moved = try store.create(["a"], logged)
    let place = store.root + "/moved"
    try FileManager.default.moveItem(atPath: store.path, toPath: place)
    let other = try store.create(["a"], logged)
    try put(other, "x")
    try put(moved, "y")
    try put(other, "z")
    try put(moved, "w")
    // As after a power loss, if the kernel had just written everything.
    for (path, copy) in [(store.path, store.root + "/1"), (place, store.root + "/2")] {
      try FileManager.default.copyItem(atPath: path, toPath: copy)
    }
    #expect(try keys(at: store.root + "/1") == ["x", "z"])
    #expect(try keys(at: store.root + "/2") == ["w", "y"])
    moved.close()
    other.close()
    #expect(try keys(at: store.path) == ["x", "z"])
    #expect(try keys(at: place) == ["w", "y"])
  }

  /// Their meta pages are the same, byte for byte.
  @Test func theLogOfAnotherNewStoreIsRefused() throws {
    let foreign = store.root + "/foreign"
    let other = try LMDBEnvironment.create(at: foreign, tables: ["a"], options: logged)
    try put(other, "x")
    try put(other, "y")
    try store.prepare()
    try FileManager.default.copyItem(atPath: foreign + "/commit.log", toPath: log)
    let bytes = FileManager.default.contents(atPath: store.data)
    #expect(throws: LMDBError.commitLog(.foreign, path: log)) { _ = try store.open() }
    #expect(FileManager.default.contents(atPath: store.data) == bytes)
    try FileManager.default.removeItem(atPath: log)
    #expect(try keys(at: store.path) == ["key"])
  }
}
