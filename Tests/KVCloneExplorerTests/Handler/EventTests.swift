import KVClone
import KVCloneCore
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// The stream of commits: of all processes, bounded in number, and without a transaction between events.
@Suite(.bounded) struct EventTests {
  private let test: TestStore

  init() throws { test = try TestStore(noteModel) }

  private typealias Chunks = AsyncThrowingStream<[UInt8], any Error>.Iterator

  /// Waits for the next event, and returns its commit.
  private func commit(_ chunks: inout Chunks) async throws -> UInt64? {
    while let chunk = try await chunks.next() {
      let lines = String(decoding: chunk, as: UTF8.self).split(separator: "\n")
      guard lines.contains("event: commit") else { continue }
      let id = try #require(lines.first { $0.hasPrefix("id: ") }?.dropFirst(4))
      #expect(lines.contains("data: {\"commit\":\(id)}"))
      return UInt64(id)
    }
    return nil
  }

  @Test func eachCommitIsAnEvent() async throws {
    let client = ExplorerClient(test.store)
    let response = await client.send("GET", "/events")
    #expect(response.header("Content-Type") == "text/event-stream")
    #expect(response.header("Cache-Control") == "no-store")
    #expect(response.header("Content-Length") == nil)
    var chunks = try response.stream().makeAsyncIterator()
    let first = try await commit(&chunks)
    #expect(try await first == test.store.read { tx in try tx.currentToken().commit })
    for _ in 0..<3 {
      try await test.store.write { tx in try tx.insert("Note") }
      let expected = try await test.store.read { tx in try tx.currentToken().commit }
      #expect(try await commit(&chunks) == expected)
    }
  }

  @Test func commitsOfOtherProcessesAreEvents() async throws {
    let client = ExplorerClient(test.store)
    var chunks = try await client.send("GET", "/events").stream().makeAsyncIterator()
    let first = try #require(try await commit(&chunks))
    let peer = try PeerProcess("insert", [test.location, "Note"])
    #expect(peer.hear() == "open")
    try peer.tell("go")
    #expect(peer.hear() == "1")
    #expect(try #require(try await commit(&chunks)) > first)
    #expect(try peer.finish() == 0)
  }

  @Test func noTransactionIsHeldBetweenEvents() async throws {
    let client = ExplorerClient(test.store)
    var chunks = try await client.send("GET", "/events").stream().makeAsyncIterator()
    _ = try await commit(&chunks)
    let readers = try test.store.engine.readers()
    #expect(readers == nil || readers?.isEmpty == true)
  }

  @Test func theNumberOfStreamsIsBounded() async throws {
    let client = ExplorerClient(test.store) { $0.maximumOpenStreams = 2 }
    let streams = client.explorer.openStreams
    var first: ExplorerResponse? = await client.send("GET", "/events")
    let second = await client.send("GET", "/events")
    #expect(first?.status == 200 && second.status == 200)
    let refused = await client.send("GET", "/events")
    #expect(refused.status == 503)
    #expect(refused.header("Retry-After") != nil)
    // The server releases the response when the client disconnects.
    first = nil
    while streams.count > 1 { try await Task.sleep(for: .milliseconds(1)) }
    #expect(await client.send("HEAD", "/events").status == 200)
    while streams.count > 1 { try await Task.sleep(for: .milliseconds(1)) }
    withExtendedLifetime(second) {}
  }

  @Test func aCancelledReaderEndsItsStream() async throws {
    let client = ExplorerClient(test.store)
    let response = await client.send("GET", "/events")
    let reader = Task {
      for try await _ in try response.stream() {}
    }
    reader.cancel()
    _ = await reader.result
    while client.explorer.openStreams.count > 0 { try await Task.sleep(for: .milliseconds(1)) }
  }

  @Test func shuttingDownEndsAllStreams() async throws {
    let client = ExplorerClient(test.store)
    var streams: [Chunks] = []
    for _ in 0..<3 { streams.append(try await client.send("GET", "/events").stream().makeAsyncIterator()) }
    client.explorer.shutdown()
    for index in streams.indices {
      var chunks = streams[index]
      while try await commit(&chunks) != nil {}
    }
    let refused = await client.send("GET", "/")
    #expect(refused.status == 503)
    #expect(refused.text.contains("shutting down"))
  }

  @Test func closingTheStoreEndsTheStream() async throws {
    let client = ExplorerClient(test.store)
    var chunks = try await client.send("GET", "/events").stream().makeAsyncIterator()
    _ = try await commit(&chunks)
    test.store.close()
    #expect(try await commit(&chunks) == nil)
  }
}
