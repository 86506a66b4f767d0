import Foundation
import Testing

@testable import KVCloneLMDB

/// Rule 7: address space is reserved, followed and enlarged, and only while no transaction uses the map.
@Suite struct MapTests {
  let store: TemporaryStore
  private let mebibyte = 1 << 20

  init() throws {
    store = try TemporaryStore()
  }

  private func small(_ size: Int) throws -> LMDBEnvironment {
    var options = LMDBOptions()
    options.mapSize = size
    return try store.create(["a"], options)
  }

  private func put(_ environment: LMDBEnvironment, _ key: UInt8, _ byteCount: Int) throws(LMDBError) {
    let table = try environment.table(named: "a")
    var writer = try environment.beginWrite()
    try writer.put(table, [key].span.bytes, [UInt8](repeating: key, count: byteCount).span.bytes)
    try writer.commit()
  }

  // A sanitizer leaves less of the address space, which concurrent tests have to share.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["KVCLONE_SANITIZER"] == nil, "a sanitizer has the room"))
  func reservesOneTebibyte() throws {
    let environment = try store.create()
    #expect(try environment.info().mapSize == 1 << 40)
  }

  @Test func doublesBeforeAWriteThatMightNotFit() throws {
    let environment = try small(4 * mebibyte)
    for key in 1...40 as ClosedRange<UInt8> { try put(environment, key, mebibyte / 2) }
    #expect(try environment.info().mapSize == 32 * mebibyte)
    #expect(try environment.sizes(environment.table(named: "a")).entries == 40)
  }

  @Test func doesNotMoveTheMapUnderAReader() throws {
    let environment = try small(4 * mebibyte)
    try put(environment, 1, mebibyte)
    let table = try environment.table(named: "a")
    var reader: PinnedReader? = try PinnedReader(environment)
    var key: UInt8 = 1
    var failure: LMDBError?
    while failure == nil, key < 100 {
      key += 1
      do { try put(environment, key, mebibyte / 2) } catch { failure = error }
    }
    #expect(failure == .mapFull)
    #expect(failure?.message.contains("pinned snapshot") == true)
    #expect(try environment.info().mapSize == 4 * mebibyte)
    // The reader's map has not moved, and others can read.
    #expect(try reader?.byteCount(table, 1) == mebibyte)
    #expect(try PinnedReader(environment).byteCount(table, 1) == mebibyte)
    #expect(throws: LMDBError.mapFull) { try put(environment, key, mebibyte / 2) }
    reader = nil
    // The end of the last transaction made it grow.
    #expect(try environment.info().mapSize == 8 * mebibyte)
    try put(environment, key, mebibyte / 2)
    #expect(try environment.auditPages().isConsistent)
  }

  @Test func aTransactionThatDidNotFitFitsTheNextTime() throws {
    let environment = try small(mebibyte)
    var attempts = 0
    while attempts < 10 {
      attempts += 1
      do throws(LMDBError) {
        try put(environment, 1, 5 * mebibyte)
        break
      } catch {
        #expect(error == .mapFull)
      }
    }
    #expect(attempts == 4)
    #expect(try environment.info().mapSize == 8 * mebibyte)
  }

  @Test func growsAfterReadersOfOtherThreads() throws {
    let environment = try small(2 * mebibyte)
    let table = try environment.table(named: "a")
    let failures = try withReaders(of: environment, table) {
      for key in 1...60 as ClosedRange<UInt8> {
        var isDone = false
        while !isDone {
          do throws(LMDBError) {
            try put(environment, key, mebibyte / 2)
            isDone = true
          } catch {
            guard error == .mapFull else { throw error }
          }
        }
      }
    }
    #expect(failures == 0)
    #expect(try environment.sizes(table).entries == 60)
    #expect(try environment.info().mapSize >= 32 * mebibyte)
  }

  /// Runs `body` while threads begin and end read transactions as fast as they can.
  private func withReaders(
    of environment: LMDBEnvironment, _ table: LMDBTable, _ body: () throws -> Void
  ) throws -> Int {
    let shared = ReaderThreads()
    let group = DispatchGroup()
    for _ in 0..<3 {
      DispatchQueue.global().async(group: group) {
        while !shared.isDone {
          let count = try? PinnedReader(environment).byteCount(table, 1)
          if let count, count != 1 << 19 { shared.fail() }
        }
      }
    }
    defer {
      shared.stop()
      group.wait()
    }
    try body()
    return shared.failures
  }

  // MARK: With other processes

  @Test(
    .enabled(
      if: ProcessInfo.processInfo.environment["KVCLONE_SANITIZER"] == nil,
      "a sanitizer reserves more address space than the limit allows"))
  func takesLessWhereALimitForbidsIt() throws {
    try store.prepare()
    let peer = try Peer(store.path, ["limit-space=2000000000", "open", "info", "count", "put=200", "count"])
    let lines = peer.finish()
    #expect(lines.count == 6)
    let size = try #require(lines.dropFirst(2).first.flatMap { Int($0.dropFirst(4)) })
    #expect(size < 2_000_000_000 && size >= 64 << 20)
    #expect(lines.suffix(3) == ["count 1", "ok", "count 201"])
  }

  @Test(
    .enabled(
      if: ProcessInfo.processInfo.environment["KVCLONE_SANITIZER"] == nil,
      "a sanitizer's own memory is in the limit, too"))
  func aLimitThatForbidsGrowthIsAnErrorAndNoMore() throws {
    let environment = try small(4 * mebibyte)
    environment.close()
    // The limit is set when the map is open: the rest that the process may map is less than the map would need.
    let (size, room) = (96 * mebibyte, 80 * mebibyte)
    let peer = try Peer(
      store.path,
      [
        "map=\(size)", "length=100000", "open", "limit-room=\(room)", "put=1100", "info", "count", "limit-space=0",
        "put=1100", "info", "put=1100", "count",
      ])
    let expected = [
      "ok", "ok", "ok", "ok", "error mapFull", "map \(size)", "count 0", "ok", "error mapFull", "map \(2 * size)", "ok",
      "count 1100",
    ]
    #expect(peer.finish() == expected)
  }

  /// A process with a limit lost the map, and every transaction ended in `io` (found by `Tools/faults --class map`).
  @Test func followsAsFarAsALimitAllows() throws {
    let environment = try store.create()
    try put(environment, 1, 1000)
    // The limit is set when the map is open: a map of 1 TiB, as stored in the file, exceeds it.
    let peer = try Peer(
      store.path,
      [
        "map=\(4 * mebibyte)", "open", "limit-room=\(48 * mebibyte)", "wait", "count", "put=3", "count", "info", "wait",
        "count", "limit-space=0", "count", "put=4",
      ])
    #expect(peer.lines(4).last == "waiting")
    try put(environment, 2, 10 * mebibyte)
    peer.resume()
    #expect(peer.lines(6) == ["ok", "count 2", "ok", "count 5", "map \(16 * mebibyte)", "waiting"])
    try put(environment, 3, 100 * mebibyte)
    peer.resume()
    #expect(peer.finish() == ["ok", "error mapResized", "ok", "count 6", "ok"])
    #expect(try environment.auditPages().isConsistent)
  }

  @Test func followsAProcessThatGrewTheFile() throws {
    let environment = try small(2 * mebibyte)
    let table = try environment.table(named: "a")
    try put(environment, 1, 1000)
    let peer = try Peer(
      store.path, ["map=67108864", "open", "put=4000", "wait", "put=60000", "put=60000", "wait", "close"])
    #expect(peer.lines(4).last == "waiting")
    // With no open transaction, both kinds of begin follow.
    #expect(try environment.beginRead().commitNumber > 0)
    #expect(try environment.info().mapSize == 64 * mebibyte)
    try put(environment, 2, 1000)
    var pinned: PinnedReader? = try PinnedReader(environment)
    peer.resume()
    #expect(peer.lines(4) == ["ok", "error mapFull", "ok", "waiting"])
    // The peer's map was doubled; the map here cannot be while a reader uses it.
    #expect(throws: LMDBError.mapResized) { _ = try environment.beginRead() }
    #expect(throws: LMDBError.mapResized) { _ = try environment.beginWrite() }
    #expect(try pinned?.byteCount(table, 1) == 1000)
    pinned = nil
    _ = try environment.beginRead()
    try put(environment, 3, 1000)
    peer.resume()
    #expect(peer.finish() == ["ok", "ok"])
    #expect(try environment.auditPages().isConsistent)
  }
}

private final class ReaderThreads: @unchecked Sendable {
  private let lock = NSLock()
  private var done = false
  private var count = 0

  var isDone: Bool { lock.withLock { done } }
  var failures: Int { lock.withLock { count } }
  func stop() { lock.withLock { done = true } }
  func fail() { lock.withLock { count += 1 } }
}
