import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

@Suite(.bounded) struct ComparisonTests {
  @Test("differences between two snapshots are counted by entity, and listed with their properties")
  func list() async throws {
    let library = try LibraryHistory()
    let client = ExplorerClient(library.store)
    let page = await client.page("/compare?from=first&to=second")
    #expect(page.contains("Changes from first to second"))
    for (id, word) in [(library.kept, "changed"), (library.deleted, "deleted"), (library.inserted, "inserted")] {
      #expect(page.contains("/compare/\(library.name(id))?from=first&amp;to=second"), "\(word)")
      #expect(page.contains(word))
    }
    #expect(page.contains("The new &amp; quick title") && page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"))
    let json = try await client.json("/compare?from=first&to=second")
    #expect(json["complete"] as? Bool == true && json["next"] is NSNull)
    let counts = try #require(json["counts"] as? [[String: Any]])
    let books = try #require(counts.first { $0["entity"] as? String == "Book" })
    #expect(books["inserted"] as? Int == 1 && books["updated"] as? Int == 1 && books["deleted"] as? Int == 1)
  }

  @Test("the JSON of differences is that of the tool: the values of both states")
  func document() async throws {
    let library = try LibraryHistory()
    let json = try await ExplorerClient(library.store).json("/compare?from=first&to=&kind=updated&entity=Book")
    let differences = try #require(json["differences"] as? [[String: Any]])
    #expect(differences.map { $0["updated"] as? String } == [library.name(library.kept)])
    let title = try #require((differences[0]["attributes"] as? [String: Any])?["title"] as? [String: Any])
    #expect(title["old"] as? String == "The old & quick title" && title["new"] as? String == "The new & quick title")
    let relationships = try #require(differences[0]["relationships"] as? [String: [String: Any]])
    #expect(relationships["pages"]?["reordered"] as? Bool == true)
  }

  @Test("the other direction swaps inserted and deleted objects", arguments: ["second", ""])
  func direction(_ later: String) async throws {
    let library = try LibraryHistory()
    let client = ExplorerClient(library.store)
    let forward = await client.page("/compare.csv?from=first&to=\(later)").split(separator: "\n").sorted()
    let backward = await client.page("/compare.csv?from=\(later)&to=first").split(separator: "\n").sorted()
    let swapped = backward.map {
      $0.replacing("inserted", with: "?").replacing("deleted", with: "inserted").replacing("?", with: "deleted")
    }
    #expect(forward.count > 3 && forward.map(String.init) == swapped.map(String.init).sorted())
  }

  @Test("equal states have no differences", arguments: ["from=first&to=first", "from=&to=", "from=second&to=", ""])
  func equal(_ query: String) async throws {
    let library = try LibraryHistory()
    let client = ExplorerClient(library.store)
    _ = await client.page("/compare?\(query)")
    let json = try await client.json("/compare?\(query)")
    #expect((json["differences"] as? [Any])?.isEmpty == true && (json["counts"] as? [Any])?.isEmpty == true)
  }

  @Test("10,000 differences in pages: none lost, none repeated, in the order of diff", arguments: [997, 1000])
  func paging(_ limit: Int) async throws {
    let files = try TestStore(snapshotModel)
    let store = files.store
    try Self.makeChanges(store)
    let expected = try store.diff(from: try store.snapshot(named: "before")).map(\.name)
    #expect(expected.count == 10_000)
    let client = ExplorerClient(store)
    var found: [String] = []
    var next: String?
    repeat {
      let json = try await client.json(
        "/compare?from=before&to=&limit=\(limit)" + (next.map { "&after=\($0)" } ?? ""))
      found += (json["differences"] as? [[String: Any]] ?? []).compactMap {
        ($0["inserted"] ?? $0["updated"] ?? $0["deleted"]) as? String
      }
      next = json["next"] as? String
    } while next != nil && found.count <= expected.count
    #expect(found == expected)
  }

  /// Makes 4,000 changes, 1,000 deletions and 5,000 insertions after the snapshot `before`.
  private static func makeChanges(_ store: ObjectStore) throws {
    let books = try store.insert("Book", count: 5000)
    try store.createSnapshot(named: "before")
    try store.write { tx in
      for (index, book) in books.enumerated() {
        if index.isMultiple(of: 5) { try tx.delete(book) } else { try tx.set(book, "title", .string("t")) }
      }
      for _ in 0..<5000 { try tx.insert("Tag", ["name": .string("n")]) }
    }
  }

  @Test("a list that the time limit cuts continues after the last examined object")
  func budget() throws {
    let library = try LibraryHistory()
    let store = library.store
    let (from, to) = (try StoreState(store, named: "first"), StoreState.present)
    let all = try store.diff(from: try store.snapshot(named: "first"))
    var found: [String] = []
    var after: ObjectID?
    for _ in 0...all.count {
      let part = try Comparison(
        store, from: from, to: to, Comparison.Filter(entity: "Book"), after: after, limit: 100,
        budget: Comparison.Budget(rows: 1, counts: 1))
      #expect(!part.hasAllCounts && part.total.total == 1)
      found += part.rows.map(\.object.text)
      after = part.next
      if after == nil { break }
      #expect(part.isCut)
    }
    #expect(after == nil && found == all.map(\.name).filter { $0.hasPrefix("Book/") })
  }

  @Test("a comparison without time for a single object is refused with a remedy")
  func overdue() throws {
    let library = try LibraryHistory()
    let from = try StoreState(library.store, named: "first")
    do {
      _ = try Comparison(
        library.store, from: from, to: .present, limit: 10, budget: Comparison.Budget(rows: 0, counts: 0))
      Issue.record("nothing was thrown")
    } catch let error as ExplorerError {
      #expect(error.kind == .timeLimit && error.message.contains("kvclone snapshot diff"))
    }
  }

  @Test(
    "malformed filters and positions are refused",
    arguments: ["after=x", "after=1", "after=1-281474976710656", "after=70000-1", "limit=0", "limit=x", "kind=x"])
  func malformed(_ item: String) async throws {
    let library = try LibraryHistory()
    let response = await ExplorerClient(library.store).send("GET", "/compare?from=first&to=&\(item)")
    #expect(response.status == 400)
  }

  // MARK: One object

  @Test("an object that changed is shown with both values, marked words, both images and links")
  func updatedObject() async throws {
    let library = try LibraryHistory()
    let name = library.name(library.kept)
    let page = await ExplorerClient(library.store).page("/compare/\(name)?from=first&to=second")
    #expect(page.contains("The <del>old</del> &amp; quick title"))
    #expect(page.contains("The <ins>new</ins> &amp; quick title"))
    #expect(page.contains("<img src=\"/objects/\(name)/blob/cover?at=first\""))
    #expect(page.contains("<img src=\"/objects/\(name)/blob/cover?at=second\""))
    #expect(page.contains("reordered"))
    // The removed tag exists in the old state, the added one in the new state.
    #expect(page.contains("/objects/Tag/1?at=first") && page.contains("/objects/Tag/2?at=second"))
    let equal = await ExplorerClient(library.store).page("/compare/\(name)?from=second&to=")
    #expect(equal.contains("equal in both states"))
  }

  @Test("inserted and deleted objects have all values on one side")
  func oneSided() async throws {
    let library = try LibraryHistory()
    let client = ExplorerClient(library.store)
    let deleted = await client.page("/compare/\(library.name(library.deleted))?from=first&to=")
    #expect(deleted.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && !deleted.contains("<script>alert"))
    let json = try await client.json("/compare/\(library.name(library.inserted))?from=first&to=")
    #expect((json["difference"] as? [String: Any])?["inserted"] as? String == library.name(library.inserted))
    let csv = await client.page("/compare/\(library.name(library.inserted)).csv?from=&to=first")
    #expect(csv.contains("title,new,\n"))
    #expect(await client.send("GET", "/compare/Book/99?from=first&to=").status == 404)
    #expect(await client.send("GET", "/compare/Nothing/1?from=first&to=").status == 404)
    #expect(await client.send("GET", "/compare/Book/x?from=first&to=").status == 404)
  }

  @Test("long values and lists are bounded in documents, and pages list all members that changed")
  func longObject() async throws {
    let files = try TestStore(snapshotModel)
    let store = files.store
    let (book, tags) = try await store.write { tx in
      let tags = try (0..<2500).map { try tx.insert("Tag", ["name": .string("\($0)")]) }
      return (try tx.insert("Book", [:], relationships: ["tags": tags]), tags)
    }
    try await store.createSnapshot(named: "before")
    try await store.write { tx in
      try tx.set(book, "title", .string(String(repeating: "<é>", count: 1 << 20)))
      try tx.setMembers(book, "tags", [])
    }
    let client = ExplorerClient(store)
    let path = "/compare/Book/\(book.serial)"
    for target in [path, "/compare"] {
      let response = await client.send("GET", "\(target).json?from=before&to=&entity=Book")
      #expect(response.status == 200 && response.text.utf8.count < 100_000, "\(target)")
    }
    let json = try #require(try await client.json(path + "?from=before&to=")["difference"] as? [String: Any])
    let attributes = try #require(json["attributes"] as? [String: [String: Any]])
    #expect((attributes["title"]?["new"] as? [String: Any])?["size"] as? Int == 4 << 20)
    let change = try #require((json["relationships"] as? [String: [String: Any]])?["tags"])
    #expect((change["removed"] as? [Any])?.count == 1000 && change["removedCount"] as? Int == 2500)
    #expect(change["addedCount"] as? Int == 0)

    let page = await client.page(path + "?from=before&to=")
    #expect(page.contains("2400 more</a>") && page.utf8.count < 1 << 20)
    var found: [String] = []
    var next: String?
    repeat {
      let after = next.map { "&after=\($0)" } ?? ""
      let json = try await client.json(path + "?from=before&to=&list=tags&side=removed&limit=999" + after)
      #expect(json["count"] as? Int == 2500)
      found += try #require(json["objects"] as? [String])
      next = json["next"] as? String
    } while next != nil && found.count < 2500
    #expect(found == tags.map { "Tag/\($0.serial)" })
    let html = await client.page(path + "?from=before&to=&list=tags&side=removed")
    #expect(html.contains("href=\"/objects/Tag/1?at=before\"") && html.contains("after="))
    for query in ["list=tags&side=x", "list=tags", "list=tags&side=added&after=x"] {
      #expect(await client.send("GET", path + "?from=before&to=&\(query)").status == 400, "\(query)")
    }
    #expect(await client.send("GET", path + "?from=before&to=&list=pages&side=added").status == 404)
  }

  @Test(
    "a difference that cannot be marked is stated",
    arguments: [(String(repeating: "a ", count: 30_000), "b"), ("e", "\u{301}")])
  func unmarked(_ text: String, _ end: String) async throws {
    let files = try TestStore(snapshotModel)
    let composed = text == "e" ? "\u{E9}" : text
    let id = try files.store.insert("Book", ["title": .string(composed)])
    try await files.store.createSnapshot(named: "before")
    try await files.store.write { tx in try tx.set(id, "title", .string(text + end)) }
    let page = await ExplorerClient(files.store).page("/compare/Book/\(id.serial)?from=before&to=")
    #expect(page.contains("differs after the part shown") && !page.contains("<ins>"))
  }

  @Test("the pages of a comparison count once, and again after a commit")
  func countsOnce() async throws {
    let library = try LibraryHistory()
    let (from, present) = (try StoreState(library.store, named: "first"), StoreState.present)
    let budget = Comparison.Budget(rows: 100, counts: 100)
    let first = try Comparison(library.store, from: from, to: present, limit: 10, budget: budget)
    let key = try ComparisonCounts.Key(library.store, from, present)
    let known = ComparisonCounts.of(library.store).find(key)
    #expect(first.hasAllCounts && known?.counts == first.counts && known?.isComplete == true)
    // Without any time for counting.
    let again = try Comparison(
      library.store, from: from, to: present, limit: 10, budget: Comparison.Budget(rows: 100, counts: 0))
    #expect(again.hasAllCounts && again.counts == first.counts)
    try await library.store.write { tx in _ = try tx.insert("Tag", ["name": .string("new")]) }
    #expect(ComparisonCounts.of(library.store).find(try ComparisonCounts.Key(library.store, from, present)) == nil)
    let later = try Comparison(library.store, from: from, to: present, limit: 10, budget: budget)
    #expect(later.total.inserted == first.total.inserted + 1)
  }

  @Test("the comparison of an object equals that in the list, also for long lists and between later snapshots")
  func objectAlone() throws {
    let files = try TestStore(snapshotModel)
    let store = files.store
    var random = SeededGenerator(seed: 45)
    let (book, tags) = try store.write { tx in
      let tags = try (0..<700).map { try tx.insert("Tag", ["name": .string("\($0)")]) }
      return (try tx.insert("Book", [:], relationships: ["tags": tags]), tags)
    }
    let pages = try store.write { tx in
      try (0..<600).map { try tx.insert("Page", ["text": .string("\($0)")], relationships: ["book": [book]]) }
    }
    for number in 0..<6 {
      try store.createSnapshot(named: "s\(number)")
      try store.write { tx in
        try tx.setMembers(book, "tags", tags.filter { _ in Bool.random(using: &random) })
        if number.isMultiple(of: 2) { try tx.setMembers(book, "pages", pages.shuffled(using: &random)) }
        try tx.set(book, "title", .string("\(number)"))
      }
    }
    for (from, to) in [(0, 1), (1, 4), (2, nil), (3, 5), (5, nil), (4, 0)] as [(Int, Int?)] {
      let first = try store.snapshot(named: "s\(from)")
      let second = try to.map { try store.snapshot(named: "s\($0)") }
      let expected = try store.diff(from: first, to: second).first { $0.id == book }
      #expect(
        try SnapshotDifference.of(book, in: store, from: first, to: second) == expected,
        "\(from) \(String(describing: to))")
      #expect(expected != nil)
    }
  }
}
