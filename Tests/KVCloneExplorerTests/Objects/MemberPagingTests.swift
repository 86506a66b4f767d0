import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// Long lists are read page by page, without reading what is before a page.
@Suite(.bounded) struct MemberPagingTests {
  /// The names of all members, by following the links of JSON.
  private func all(_ fixture: ObjectFixture, _ path: String, change: (Int) async throws -> Void = { _ in }) async throws
    -> [String]
  {
    var names: [String] = []
    var next: String? = path
    var pages = 0
    while let current = next, pages < 100 {
      let json = try await fixture.get(current).json()
      let objects = try #require(json["objects"] as? [[String: Any]])
      #expect(objects.count <= MembersPage.limit)
      names += objects.compactMap { $0["id"] as? String }
      next = (json["next"] as? String).map { target in
        let parts = target.split(separator: "?", maxSplits: 1)
        return parts[0] + ".json?" + parts[1]
      }
      pages += 1
      try await change(pages)
    }
    return names
  }

  @Test("An ordered list comes in its order", arguments: [0, 1, 16, 17, 100, 101, 1000])
  func ordered(count: Int) async throws {
    let fixture = try ObjectFixture()
    let id = try await fixture.thing(parts: count)
    let names = try await all(fixture, try await fixture.path(id, "/members/parts.json"))
    #expect(names == (1...max(count, 1)).reversed().prefix(count).map { "Part/\($0)" })
  }

  @Test("An unordered list and a list of referrers come by id", arguments: [0, 1, 17, 100, 101, 500])
  func unordered(count: Int) async throws {
    let fixture = try ObjectFixture()
    let id = try await fixture.thing(parts: 0, friends: count, bookmarks: count)
    let friends = try await all(fixture, try await fixture.path(id, "/members/friends.json"))
    #expect(friends == (2..<count + 2).map { "Thing/\($0)" })
    let referrers = try await all(fixture, try await fixture.path(id, "/referrers/Bookmark/target.json"))
    #expect(referrers == (1..<count + 1).map { "Bookmark/\($0)" })
  }

  @Test("Members that are removed between two pages do not hide others")
  func removed() async throws {
    let fixture = try ObjectFixture()
    let id = try await fixture.thing(parts: 0, friends: 450)
    let names = try await all(fixture, try await fixture.path(id, "/members/friends.json")) { page in
      // The last member of the page, and the first of the next one.
      let last = UInt64(page * MembersPage.limit + 1)
      try await fixture.store.write { tx in
        let gone = [last, last + 1].map { ObjectID(rootCode: id.rootCode, serial: $0) }
        let left = try tx.members(id, "friends").filter { !gone.contains($0) }
        try tx.setMembers(id, "friends", left)
      }
    }
    // Only the first member of the second page was removed before it was read.
    #expect(names == (2..<452).filter { $0 != 102 }.map { "Thing/\($0)" })
  }

  @Test("A page of an object shows the first members, and counts the others")
  func firstMembers() async throws {
    let fixture = try ObjectFixture()
    let id = try await fixture.thing(parts: 300, bookmarks: 300)
    let page = try await fixture.get(try await fixture.path(id))
    #expect(page.text.contains("Part/300<") && page.text.contains("Part/281<") && !page.text.contains("Part/280<"))
    #expect(page.text.contains("value=\"300\""))
    #expect(page.text.contains("/members/parts?after=") && page.text.contains("/referrers/Bookmark/target?after="))
    let next = try #require(page.text.firstMatch(of: /\/objects\/Thing\/1\/members\/parts\?after=[0-9.]+/))
    let second = try await fixture.get(String(next.output))
    #expect(
      second.text.contains("start=\"21\"") && second.text.contains("Part/280<") && !second.text.contains("Part/281<"))
  }

  @Test("Lists of a snapshot are those of its time")
  func snapshots() async throws {
    let fixture = try ObjectFixture()
    let id = try await fixture.thing(parts: 250, bookmarks: 120)
    try await fixture.store.createSnapshot(named: "then")
    try await fixture.store.write { tx in
      for member in try tx.members(id, "parts") { _ = try tx.delete(member) }
    }
    let path = try await fixture.path(id)
    #expect(try await all(fixture, path + "/members/parts.json").isEmpty)
    #expect(try await all(fixture, path + "/members/parts.json?at=then").count == 250)
    #expect(try await all(fixture, path + "/referrers/Bookmark/target.json?at=then").count == 120)
    let page = try await fixture.get(path + "?at=then")
    #expect(page.text.contains("Part/250<") && page.text.contains("at=then"))
  }

  @Test func emptyCursors() {
    for text in ["", ".", "..", "1", "1.", "a.1", "1.2.3.4", "-1.2", "1.281474976710656"] {
      #expect(MemberCursor(text) == nil, "\(text)")
    }
    for cursor in [
      MemberCursor(.after(ObjectID(rawValue: 5)), ordinal: 100),
      MemberCursor(.inChunk(label: .max, offset: 3), ordinal: 7),
    ] {
      #expect(MemberCursor(cursor.text) == cursor)
    }
  }
}
