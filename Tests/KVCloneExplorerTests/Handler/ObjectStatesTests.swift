import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

struct ObjectStatesTests {
  @Test(
    "a page about a deleted object leads to the snapshots that have it",
    arguments: [
      "/objects/NAME", "/objects/NAME/raw", "/objects/NAME/blob/cover", "/clone/NAME", "/graph/NAME", "/find?id=NAME",
    ])
  func deleted(_ target: String) async throws {
    let library = try LibraryHistory()
    let client = ExplorerClient(library.store)
    let name = library.name(library.deleted)
    let response = await client.send("GET", target.replacingOccurrences(of: "NAME", with: name))
    #expect(response.status == 404)
    #expect(
      response.text.contains("href=\"/objects/\(name)?at=first\"") && !response.text.contains("at=second\">second"))
  }

  @Test("an object that a snapshot lacks is found in the present, and JSON names the snapshots")
  func inserted() async throws {
    let library = try LibraryHistory()
    let client = ExplorerClient(library.store)
    let name = library.name(library.inserted)
    let response = await client.send("GET", "/objects/\(name)?at=first")
    #expect(response.status == 404 && response.text.contains("<a href=\"/objects/\(name)\">present</a>"))
    let document = await client.send("GET", "/objects/\(name).json?at=first")
    let json = try #require(try JSONSerialization.jsonObject(with: Data(document.text.utf8)) as? [String: Any])
    #expect(json["snapshots"] as? [String] == ["second"] && json["kind"] as? String == "objectNotFound")
  }

  @Test("an object that no state has is only not found")
  func unknown() async throws {
    let library = try LibraryHistory()
    let response = await ExplorerClient(library.store).send("GET", "/objects/Book/999")
    #expect(response.status == 404 && !response.text.contains("Other states"))
  }

  @Test("only the newest ten snapshots are searched")
  func bounded() async throws {
    let library = try LibraryHistory()
    for number in 0..<10 { try await library.store.createSnapshot(named: "later-\(number)") }
    let name = library.name(library.deleted)
    let response = await ExplorerClient(library.store).send("GET", "/objects/\(name)")
    #expect(response.status == 404 && !response.text.contains("at=first"))
  }
}
