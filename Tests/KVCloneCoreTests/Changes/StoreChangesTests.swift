import Foundation
import KVClone
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVCloneCore
@testable import KVCloneQuery

/// Commits of this process and of others, as an asynchronous sequence.
@Suite("Changes as an asynchronous sequence") struct StoreChangesTests {
  private let test: TestStore
  private let store: ObjectStore

  init() throws {
    test = try TestStore(HistoryTests.model, options: StoreOptions.tracking())
    store = test.store
  }

  @Test func whatIsCommittedAfterTheSequenceWasMadeComesInOrder() async throws {
    try await store.write { tx in _ = try tx.insert("Tag") }
    let changes = store.changes
    try await store.write { tx in _ = try tx.insert("Note") }
    var first = changes.makeAsyncIterator()
    var second = changes.makeAsyncIterator()
    let store = self.store
    let writer = Task {
      for number in 0..<200 {
        try await store.write { tx in
          tx.author = "\(number)"
          _ = try tx.insert("Item")
        }
      }
    }
    let note = try #require(try await first.next())
    #expect(try note.insertedIDs().count == 1 && note.author.isEmpty)
    for number in 0..<200 { #expect(try await first.next()?.author == "\(number)") }
    // A late consumer misses nothing.
    try await writer.value
    #expect(try await second.next()?.token == note.token)
    for number in 0..<200 { #expect(try await second.next()?.author == "\(number)") }
    var resumed = store.changes(after: note.token).makeAsyncIterator()
    #expect(try await resumed.next()?.author == "0")
  }

  @Test func cancellingAndClosingEndIt() async throws {
    let changes = store.changes
    let cancelled = Task { () -> Int in
      var count = 0
      for try await _ in changes { count += 1 }
      return count
    }
    try await store.write { tx in _ = try tx.insert("Tag") }
    cancelled.cancel()
    #expect(try await cancelled.value <= 1)
    let waiting = Task { () -> Int in
      var count = 0
      for try await _ in changes { count += 1 }
      return count
    }
    let results = store.liveResults(for: FetchRequest("Tag"))
    let live = Task { for try await _ in results {} }
    await Task.yield()
    store.close()
    #expect(try await waiting.value <= 1)
    try await live.value
    var late = changes.makeAsyncIterator()
    #expect(try await late.next() == nil)
  }

  @Test func aPurgeThatIsFasterIsAnError() async throws {
    var iterator = store.changes.makeAsyncIterator()
    try await store.write { tx in _ = try tx.insert("Tag") }
    try await store.purgeHistory(before: try store.currentToken())
    do {
      _ = try await iterator.next()
      Issue.record("nothing was thrown")
    } catch {
      #expect(error.kind == .historyExpired)
    }
    // A consumer that has seen everything is not behind.
    let token = try store.currentToken()
    var other = store.changes.makeAsyncIterator()
    let store = self.store
    let next = Task { try await other.next() }
    try await store.purgeHistory(before: token)
    try await store.write { tx in _ = try tx.insert("Note") }
    #expect(try await next.value?.insertedCount == 1)
  }

  @Test func withoutAHistoryThereIsNothingToTell() async throws {
    try await store.setTracksHistory(false)
    var iterator = store.changes.makeAsyncIterator()
    do {
      _ = try await iterator.next()
      Issue.record("nothing was thrown")
    } catch {
      #expect(error.kind == .historyDisabled)
    }
  }

  @Test func otherProcessesAreHeard() async throws {
    let changes = store.changes
    let heard = Task {
      var transactions: [HistoryTransaction] = []
      for try await transaction in changes.prefix(5) { transactions.append(transaction) }
      return transactions
    }
    let peer = try PeerProcess("insert", [test.location, "Note"])
    #expect(peer.hear() == "open")
    for number in 1...5 {
      try peer.tell("go")
      #expect(peer.hear() == "\(number)")
    }
    for (number, transaction) in try await heard.value.enumerated() {
      #expect(transaction.author == "peer")
      #expect(try transaction.insertedIDs().map(\.serial) == [UInt64(number + 1)])
    }
    // One at a time: each commit is received before the next is requested.
    var iterator = store.changes.makeAsyncIterator()
    for number in 6...8 {
      try peer.tell("go")
      #expect(try await iterator.next()?.insertedIDs().map(\.serial) == [UInt64(number)])
      #expect(peer.hear() == "\(number)")
    }
    #expect(try peer.finish() == 0)
  }
}
