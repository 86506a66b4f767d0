import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

@Suite("Bounds of what one response of a grid holds", .bounded)
struct GridMemoryTests {
  private static let length = 3 << 20
  private let fixture: GridFixture

  init() throws {
    fixture = try GridFixture()
    try fixture.fill(5) { ["title": .string("\($0)" + String(repeating: "é<", count: Self.length / 3))] }
  }

  @Test("pages of long texts are short in all formats, and have the size of each text")
  func longTexts() async throws {
    let client = fixture.client()
    for format in ["", ".json", ".csv"] {
      let response = await client.send("GET", "/entities/Item\(format)?columns=title")
      #expect(response.status == 200 && response.text.utf8.count < 60_000, "\(format)")
    }
    let objects = try #require(try await client.json("/entities/Item?columns=title")["objects"] as? [[String: Any]])
    let title = try #require((objects[0]["values"] as? [String: Any])?["title"] as? [String: Any])
    #expect(title["size"] as? Int == Self.length + 1)
    #expect((title["beginning"] as? String)?.hasPrefix("0é<é<") == true)
    #expect(await client.page("/entities/Item.csv?columns=title").contains("…"))
    // A text of medium length is whole in documents, and has a link in HTML.
    let id = try fixture.fill(1) { _ in ["title": .string(String(repeating: "x", count: 5000))] }[0]
    let medium = try await client.json("/entities/Item?columns=title&where=title%20BEGINSWITH%20%22xx%22")
    let values = (medium["objects"] as? [[String: Any]])?.first?["values"] as? [String: Any]
    #expect((values?["title"] as? String)?.count == 5000)
    let page = await client.page("/entities/Item?columns=title&where=title%20BEGINSWITH%20%22xx%22")
    #expect(page.contains("/objects/Book/\(id.serial)/text/title"))
  }

  @Test("names of objects are cut without reading their texts")
  func names() async throws {
    let model = fixture.store.model
    try await fixture.store.read { tx in
      let name = try DisplayName.read(try tx.objectID(named: "Book/1"), in: model, tx)
      #expect(name.text?.unicodeScalars.count == DisplayName.maximumLength + 1 && name.text?.hasSuffix("…") == true)
    }
    for text in ["", "abc", String(repeating: "🧀", count: 80)] {
      let id = try fixture.fill(1) { _ in ["title": .string(text)] }[0]
      let name = try await fixture.store.read { tx in try DisplayName.read(id, in: model, tx) }
      #expect(name.text == (text.isEmpty ? nil : text))
    }
  }

  @Test("an export has whole texts, in short chunks")
  func export() async throws {
    let client = fixture.client()
    let response = await client.send("GET", "/entities/Item.csv?all=1&columns=title")
    var count = 0
    var lines = 0
    for try await chunk in try response.stream() {
      #expect(chunk.count <= 256 << 10 && !chunk.isEmpty)
      count += chunk.count
      lines += chunk.count { $0 == UInt8(ascii: "\n") }
    }
    #expect(lines == 6 && count > 5 * Self.length)
  }

  @Test("the number of concurrent exports is bounded, and ended ones leave their places")
  func concurrentExports() async throws {
    let client = fixture.client()
    let target = "/entities/Item.csv?all=1&columns=year"
    var open: [ExplorerResponse] = []
    for _ in 0..<8 {
      open.append(await client.send("GET", target))
      #expect(open.last?.status == 200)
    }
    let refused = await client.send("GET", target)
    #expect(refused.status == 503 && refused.text.contains("exports are running"))
    open = []
    #expect(await client.send("GET", target).status == 200)
  }
}
