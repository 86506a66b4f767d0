import KVClone
import KVCloneCore
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVCloneExplorer

/// Requests end at their deadline, and wait for their turn.
@Suite(.bounded) struct RequestTimeTests {
  private let test: TestStore

  init() throws {
    test = try TestStore(noteModel)
    try test.store.write { tx in
      for number in 0..<600 { try tx.insert("Note", ["title": .string("\(number)")]) }
    }
  }

  /// A page that reads all objects until its deadline, and never ends otherwise.
  private static let endless: Route = .get("/endless") { context in
    let count = try await context.read { tx -> Int in
      while true { try tx.forEachObject(of: "Note") { _ in true } }
    }
    return .page(EchoPage(name: "\(count)"))
  }

  @Test(arguments: ["/endless.json", "/endless.json?at=before"])
  func readsEndAtTheDeadline(target: String) async throws {
    try await test.store.createSnapshot(named: "before")
    let client = ExplorerClient(
      test.store, { $0.requestTimeLimit = .milliseconds(50) }, routes: [Self.endless] + EchoPage.routes)
    let response = await client.send("GET", target)
    #expect(response.status == 503)
    #expect(response.text.contains("\"timeLimit\""))
    #expect(response.text.contains("index"))
    #expect(await client.send("GET", "/names/a").status == 200)
  }

  @Test func waitingEndsAtTheDeadline() async {
    let client = ExplorerClient(
      test.store, { $0.requestTimeLimit = .milliseconds(20) },
      routes: [
        .get("/sleep") { _ in
          try await Task.sleep(for: .unreached)
          return .page(EchoPage(name: ""))
        }
      ])
    let response = await client.send("GET", "/sleep.json")
    #expect(response.status == 503)
    #expect(response.text.contains("\"timeLimit\""))
  }

  @Test func changesHaveALongerLimit() async {
    let client = ExplorerClient(
      test.store, { ($0.requestTimeLimit, $0.allowsWrites) = (.zero, true) },
      routes: [
        .get("/long", isLong: true) { context in
          try context.deadline.check()
          return .page(EchoPage(name: "long"))
        },
        .post("/long") { context in
          try context.deadline.check()
          return .page(EchoPage(name: "posted"))
        },
      ])
    #expect(await client.send("GET", "/long").status == 200)
    let origin = (name: "Origin", value: "http://\(ExplorerClient.host)")
    #expect(await client.send("POST", "/long", [origin]).status == 200)
  }

  @Test func chunksAreReadOnTheThreadsOfTheExplorer() async throws {
    let client = ExplorerClient(
      test.store,
      routes: [
        .get("/chunks") { _ in
          .response(
            ExplorerResponse(
              status: 200,
              body: .stream(
                AsyncThrowingStream { withUnsafeCurrentTask { $0?.unownedTaskExecutor == nil ? [0] : [1] } })))
        }
      ])
    var chunks = try await client.send("GET", "/chunks").stream().makeAsyncIterator()
    #expect(try await chunks.next() == [1])
    #expect(try await chunks.next() == [1])
  }

  @Test func readsOfAPageSeeTheStore() async throws {
    let client = ExplorerClient(
      test.store,
      routes: [
        .get("/count") { context in
          let count = try await context.read { tx in try tx.count(FetchRequest("Note")) }
          return .page(EchoPage(name: "\(count)"))
        }
      ])
    try await test.store.createSnapshot(named: "before")
    try await test.store.write { tx in try tx.insert("Note") }
    #expect(await client.send("GET", "/count.json").text.contains("601"))
    #expect(await client.send("GET", "/count.json?at=before").text.contains("600"))
  }

  /// Requests that wait until the test ends them.
  private final class Gate: Sendable {
    private let state = Mutex((isOpen: false, waiters: [CheckedContinuation<Void, Never>]()))

    func pass() async {
      await withCheckedContinuation { continuation in
        let isOpen = state.withLock { state in
          if !state.isOpen { state.waiters.append(continuation) }
          return state.isOpen
        }
        if isOpen { continuation.resume() }
      }
    }

    func open() {
      let waiters = state.withLock { state in
        state.isOpen = true
        return state.waiters
      }
      for waiter in waiters { waiter.resume() }
    }

    var waiterCount: Int { state.withLock { $0.waiters.count } }
  }

  private func until(_ condition: () -> Bool) async throws {
    while !condition() { try await Task.sleep(for: .milliseconds(1)) }
  }

  private func client(_ gate: Gate, patience: Duration) -> ExplorerClient {
    ExplorerClient(
      test.store, { ($0.maximumConcurrentRequests, $0.requestTimeLimit) = (2, patience) },
      routes: [
        .get("/gate") { _ in
          await gate.pass()
          return .page(EchoPage(name: ""))
        }
      ])
  }

  @Test func requestsBeyondTheLimitWaitForTheirTurn() async throws {
    let gate = Gate()
    let client = client(gate, patience: .unreached)
    let requests = (0..<10).map { _ in Task { await client.send("GET", "/gate").status } }
    try await until { gate.waiterCount == 2 && client.explorer.requests.waitingCount == 8 }
    gate.open()
    for request in requests { #expect(await request.value == 200) }
    #expect(client.explorer.requests.waitingCount == 0)
  }

  @Test func tooManyRequestsAreRefused() async throws {
    let gate = Gate()
    let client = client(gate, patience: .unreached)
    let requests = (0..<34).map { _ in Task { await client.send("GET", "/gate").status } }
    try await until { client.explorer.requests.waitingCount == 32 }
    let refused = await client.send("GET", "/gate")
    #expect(refused.status == 503)
    #expect(refused.header("Retry-After") == "1")
    // A client that disconnects frees its place.
    requests[33].cancel()
    requests[32].cancel()
    requests[31].cancel()
    try await until { client.explorer.requests.waitingCount < 32 }
    gate.open()
    for request in requests.prefix(31) { _ = await request.value }
    #expect(await client.send("GET", "/gate").status == 200)
  }

  @Test func requestsDoNotWaitForever() async throws {
    let gate = Gate()
    let client = client(gate, patience: .milliseconds(20))
    let requests = (0..<2).map { _ in Task { await client.send("GET", "/gate").status } }
    try await until { gate.waiterCount == 2 }
    #expect(await client.send("GET", "/gate").status == 503)
    gate.open()
    for request in requests { #expect(await request.value == 200) }
    #expect(await client.send("GET", "/gate").status == 200)
  }
}
