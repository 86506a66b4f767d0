import Foundation
import Testing

@testable import KVCloneLMDB

/// The guarantees of transactions: reads, writes, order, aborts, limits.
@Suite struct TransactionTests {
  let store: TemporaryStore
  let environment: LMDBEnvironment
  let table: LMDBTable

  init() throws {
    store = try TemporaryStore()
    environment = try store.create(["a", "b"])
    table = try environment.table(named: "a")
  }

  private func fill(_ keys: [String]) throws {
    var transaction = try environment.beginWrite()
    for key in keys { try transaction.put(table, key, key.uppercased()) }
    try transaction.commit()
  }

  @Test func onlyTheTransactionReadsItsOwnWrites() throws {
    var writer = try environment.beginWrite()
    try writer.put(table, "k", "1")
    #expect(try writer.text(table, "k") == "1")
    #expect(try environment.beginRead().text(table, "k") == nil)
    let number = writer.commitNumber
    let before = try environment.beginRead()
    try writer.commit()
    #expect(try before.text(table, "k") == nil)
    let after = try environment.beginRead()
    #expect(try after.text(table, "k") == "1")
    #expect(after.commitNumber == number)
  }

  @Test func abortAndDropForgetEverything() throws {
    try fill(["x"])
    var writer = try environment.beginWrite()
    try writer.put(table, "y", "1")
    #expect(try writer.delete(table, "x"))
    writer.abort()
    do {
      var dropped = try environment.beginWrite()
      #expect(try dropped.delete(table, "x"))
      #expect(try dropped.text(table, "x") == nil)
    }
    #expect(try environment.beginRead().keys(table) == ["x"])
  }

  @Test func seeks() throws {
    let empty = try environment.beginRead()
    for position in [StorageSeek.atOrAfter, .atOrBefore] {
      #expect(try empty.seekText(table, "m", position) == nil)
    }
    try fill(["b", "d", "f"])
    let reader = try environment.beginRead()
    #expect(try reader.seekText(table, "", .atOrAfter) == "b=B")
    #expect(try reader.seekText(table, "", .atOrBefore) == nil)
    #expect(try reader.seekText(table, "c", .atOrAfter) == "d=D")
    #expect(try reader.seekText(table, "d", .atOrAfter) == "d=D")
    #expect(try reader.seekText(table, "g", .atOrAfter) == nil)
    #expect(try reader.seekText(table, "c", .atOrBefore) == "b=B")
    #expect(try reader.seekText(table, "d", .atOrBefore) == "d=D")
    #expect(try reader.seekText(table, "dd", .atOrBefore) == "d=D")
    #expect(try reader.seekText(table, "z", .atOrBefore) == "f=F")
    #expect(try reader.seekText(table, "a", .atOrBefore) == nil)
  }

  @Test func scans() throws {
    try fill(["b", "d", "f"])
    let reader = try environment.beginRead()
    #expect(try reader.keys(table) == ["b", "d", "f"])
    #expect(try reader.keys(table, from: "") == ["b", "d", "f"])
    #expect(try reader.keys(table, from: "c") == ["d", "f"])
    #expect(try reader.keys(table, from: "d") == ["d", "f"])
    #expect(try reader.keys(table, from: "z") == [])
    var count = 0
    try reader.scan(table) { _, _ in
      count += 1
      return count < 2
    }
    #expect(count == 2)
    var cursor = try reader.cursor(table)
    while let entry = try cursor.next() { #expect(textOf(entry.value) == textOf(entry.key).uppercased()) }
    #expect(try cursor.next() == nil)
  }

  @Test func keyLengths() throws {
    let value: [UInt8] = [1]
    let longest = [UInt8](repeating: 9, count: 511)
    var writer = try environment.beginWrite()
    try writer.put(table, longest.span.bytes, value.span.bytes)
    try writer.commit()
    let reader = try environment.beginRead()
    #expect(try reader.bytes(table, longest)?.count == 1)
    for (length, error) in [(512, LMDBError.keyTooLong(length: 512)), (0, .keyEmpty)] {
      let key = [UInt8](repeating: 9, count: length)
      #expect(throws: error) { _ = try reader.bytes(table, key) }
      var writer = try environment.beginWrite()
      #expect(throws: error) { try writer.put(table, key.span.bytes, value.span.bytes) }
      #expect(throws: LMDBError.transactionFailed) { try writer.put(table, "fine", "1") }
      #expect(commitError(writer) == .transactionFailed)
    }
  }

  @Test func appendsInOrderOnly() throws {
    var writer = try environment.beginWrite()
    try writer.append(table, "a", "1")
    try writer.append(table, "b", "2")
    #expect(throws: LMDBError.notAscending) { try writer.append(table, "b", "3") }
    #expect(writer.failure == .notAscending)
    #expect(commitError(writer) == .transactionFailed)
    #expect(try environment.beginRead().keys(table).isEmpty)
  }

  @Test func deletes() throws {
    try fill(["b", "d"])
    var writer = try environment.beginWrite()
    #expect(try writer.delete(table, "b"))
    #expect(try !writer.delete(table, "b"))
    #expect(try writer.text(table, "d") == "D")
    #expect(try writer.delete(table, "d"))
    try writer.put(table, "e", "E")
    try writer.commit()
    #expect(try environment.beginRead().keys(table) == ["e"])
    #expect(try environment.sizes(table).entries == 1)
  }

  @Test func tablesOpenedLaterNeedALaterTransaction() throws {
    let early = try environment.beginRead()
    let late = try environment.openTables(["late"], create: true)[0]
    #expect(throws: LMDBError.self) { _ = try early.text(late, "k") }
    #expect(try environment.beginRead().text(late, "k") == nil)
  }

  @Test func readersAreCountedAndReused() throws {
    for _ in 0..<300 { _ = try environment.beginRead().commitNumber }
    #expect(try environment.info().readerCount <= 2)
    let reader = try environment.beginRead()
    #expect(try environment.liveReaders().contains { $0.pid == getpid() && $0.commit == reader.commitNumber })
    #expect(try environment.clearDeadReaders() == 0)
  }

  @Test func tellsWhenReadersAreFull() throws {
    var options = LMDBOptions()
    options.maximumReaders = 2
    // A separate store: an existing lock file keeps its number of slots.
    let environment = try LMDBEnvironment.create(at: store.root + "/small", tables: [], options: options)
    let first = try environment.beginRead()
    do {
      let second = try environment.beginRead()
      #expect(throws: LMDBError.readersFull) { _ = try environment.beginRead() }
      #expect(first.commitNumber == second.commitNumber)
    }
    _ = try environment.beginRead()
  }

  @Test func fullMapFailsTheTransactionAndCanGrow() throws {
    environment.close()
    var options = LMDBOptions()
    options.mapSize = 1 << 20
    let environment = try store.open(options)
    let table = try environment.openTables(["a"], create: false)[0]
    let big = [UInt8](repeating: 5, count: 2 << 20)
    let key: [UInt8] = [1]
    var writer = try environment.beginWrite()
    do throws(LMDBError) {
      try writer.put(table, key.span.bytes, big.span.bytes)
      Issue.record("2 MiB fit into a map of 1 MiB")
    } catch {
      #expect(error == .mapFull)
    }
    #expect(throws: LMDBError.transactionsActive(count: 1)) { try environment.growMap(toAtLeast: 8 << 20) }
    #expect(commitError(writer) == .transactionFailed)
    try environment.growMap(toAtLeast: 8 << 20)
    var again = try environment.beginWrite()
    try again.put(table, key.span.bytes, big.span.bytes)
    try again.commit()
    #expect(try environment.sizes(table).overflowPages > 512)
  }
}
