import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

extension ExplorerClient {
  /// Returns the text of a page, and expects status 200.
  func page(_ target: String, sourceLocation: SourceLocation = #_sourceLocation) async -> String {
    let response = await send("GET", target)
    #expect(response.status == 200, "\(target): \(response.text.prefix(500))", sourceLocation: sourceLocation)
    return response.text
  }

  /// Returns the JSON document of a page.
  func json(_ target: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> [String: Any] {
    let parts = target.split(separator: "?", maxSplits: 1).map(String.init)
    let text = await page(parts[0] + ".json" + (parts.count > 1 ? "?\(parts[1])" : ""), sourceLocation: sourceLocation)
    let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
    return try #require(value as? [String: Any], sourceLocation: sourceLocation)
  }

  /// Posts a form, as a page of the explorer does.
  func post(_ target: String, _ form: String = "") async -> ExplorerResponse {
    await send(
      "POST", target,
      [("Origin", "http://\(Self.host)"), ("Content-Type", "application/x-www-form-urlencoded")], body: form)
  }

  /// Follows links with an HTML page until it contains `text`.
  func wait(for text: String, at target: String) async throws -> String {
    for _ in 0..<2000 {
      let page = await page(target)
      if page.contains(text) { return page }
      try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("\(target) never contained \(text)")
    return ""
  }
}

/// A library with a snapshot before and after each of some changes.
struct LibraryHistory {
  let files: TestStore
  var store: ObjectStore { files.store }
  let kept: ObjectID
  let deleted: ObjectID
  let inserted: ObjectID

  static let oldCover = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + [UInt8](repeating: 1, count: 5000))
  static let newCover = Data([0xFF, 0xD8, 0xFF] + [UInt8](repeating: 2, count: 6000))

  init(options: StoreOptions = StoreOptions()) throws {
    files = try TestStore(snapshotModel, options: options)
    let store = files.store
    let (kept, deleted, pages, tags) = try store.write { tx in
      let tags = [try tx.insert("Tag", ["name": .string("red")]), try tx.insert("Tag", ["name": .string("blue")])]
      let kept = try tx.insert(
        "Book", ["number": .integer(1), "title": .string("The old & quick title"), "cover": .binary(Self.oldCover)],
        relationships: ["tags": [tags[0]]])
      let deleted = try tx.insert("Book", ["number": .integer(2), "title": .string("<script>alert(1)</script>")])
      var pages: [ObjectID] = []
      for number in 0..<3 {
        pages.append(try tx.insert("Page", ["text": .string("page \(number)")], relationships: ["book": [kept]]))
      }
      return (kept, deleted, pages, tags)
    }
    (self.kept, self.deleted) = (kept, deleted)
    try store.createSnapshot(named: "first")
    inserted = try store.write { tx in
      try tx.set(kept, "title", .string("The new & quick title"))
      try tx.set(kept, "cover", .binary(Self.newCover))
      try tx.setMembers(kept, "tags", [tags[1]])
      try tx.setMembers(kept, "pages", pages.reversed())
      try tx.delete(deleted)
      return try tx.insert("Book", ["number": .integer(3), "title": .string("new")])
    }
    try store.createSnapshot(named: "second")
  }

  func name(_ id: ObjectID) -> String { "Book/\(id.serial)" }
}
