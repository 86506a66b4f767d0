import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// Any request gets a valid response, and nothing traps.
@Suite(.bounded) struct HandlerPropertyTests {
  private let test: TestStore
  private let clients: [ExplorerClient]

  init() throws {
    test = try TestStore(RequestGenerator.model)
    try test.store.write { tx in
      for entity in RequestGenerator.entities {
        for number in 0..<20 { try tx.insert(entity, ["title": .string("<hostile>\"hostile=\(number)")]) }
      }
    }
    try test.store.createSnapshot(named: "before.json")
    let branch = try test.store.branches.create("spring")
    for (store, side) in [(branch, "theirs"), (test.store, "ours")] {
      try store.write { tx in
        for entity in RequestGenerator.entities {
          let object = try tx.objectID(named: "\(entity)/1")
          try tx.set(object, "title", .string("<hostile>\"hostile=\(side)"))
          try tx.insert(entity, ["<hostile>": .binary(Data("<hostile>\(side)".utf8))])
        }
      }
    }
    clients = [
      ExplorerClient(test.store) { ($0.allowsWrites, $0.requestTimeLimit) = (true, .milliseconds(200)) },
      ExplorerClient(test.store) { ($0.token, $0.basePath) = ("t", "/b") },
      ExplorerClient(test.store) { $0.allowedHosts = ["localhost"] },
    ]
  }

  @Test(arguments: PropertySeeds.seeds)
  func anyRequestGetsAValidResponse(seed: UInt64) async throws {
    print("seed \(seed)")
    var requests = RequestGenerator(seed: seed)
    for number in 0..<PropertySeeds.count(2000) / 20 {
      let client = clients[number % clients.count]
      // Requests of a group are answered concurrently.
      let group = (0..<20).map { _ in requests.next() }
      await withTaskGroup { tasks in
        for request in group {
          tasks.addTask {
            let response = await client.explorer.respond(to: request)
            Self.check(response, request, "seed \(seed), group \(number): \(request)")
          }
        }
      }
    }
  }

  private static func check(_ response: ExplorerResponse, _ request: ExplorerRequest, _ name: String) {
    #expect((200...599).contains(response.status), "\(name)")
    #expect(response.status != 500, "\(name): \(response.text)")
    let policy = response.header("Content-Security-Policy") ?? ""
    #expect(policy.hasPrefix(SecurityHeaders.contentSecurityPolicy), "\(name)")
    for field in response.headers {
      #expect((field.name + field.value).utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }, "\(name): \(field)")
    }
    guard case .bytes(let bytes) = response.body, request.method != "HEAD" else { return }
    if let length = response.header("Content-Length") { #expect(Int(length) == bytes.count, "\(name)") }
    if response.header("Content-Type")?.hasPrefix("text/html") == true {
      // The markers of the generator are never markup.
      #expect(!response.text.contains("<hostile") && !response.text.contains("\"hostile"), "\(name)")
    }
  }

  @Test(arguments: [
    String(repeating: "(", count: 5000), String(repeating: "NOT ", count: 4000),
    String(repeating: "a AND ", count: 2700),
    "title IN {" + String(repeating: "'x',", count: 4000) + "'x'}", "title MATCHES '(a*)*(a*)*b'",
    String(repeating: "next.", count: 3000) + "title == 'x'",
    "title == '" + String(repeating: "\\u{202E}", count: 2000),
    "title LIKE '" + String(repeating: "*a", count: 4000) + "'", "%@ == %K", "\u{0}", "SUBQUERY(",
  ])
  func hugePredicatesAreAnsweredOrRefused(predicate: String) async {
    let counting: Route = .get("/count") { context in
      let predicate = try QueryPredicate(format: context.query["where"] ?? "")
      let count = try await context.read { tx in try tx.count(FetchRequest("Note", predicate: predicate)) }
      return .page(EchoPage(name: "\(count)"))
    }
    let counter = ExplorerClient(test.store, { $0.maximumTargetSize = 1 << 20 }, routes: [counting])
    let query = "where=\(PercentEncoding.encode(predicate))"
    let status = await counter.send("GET", "/count?\(query)").status
    #expect([200, 400, 503].contains(status), "\(status)")
    for format in ["", ".json", ".csv"] {
      let response = await clients[0].send("GET", "/entities/Note\(format)?\(query)")
      #expect(response.status < 500 || response.status == 503, "\(response.text.prefix(500))")
    }
  }
}
