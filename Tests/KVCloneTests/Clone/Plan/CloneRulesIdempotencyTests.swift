import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// Rule R31: a clone with a key runs once, even if the call is repeated.
@Suite("Clone rules: idempotency")
struct CloneRulesIdempotencyTests {
  private static let model = ManagedObjectModel("Shelf") {
    EntityDescription("Shelf") {
      AttributeDescription("name", .string)
      RelationshipDescription("books", toMany: "Book", inverse: "shelf", deleteRule: .cascade)
      RelationshipDescription("room", toOne: "Room", inverse: "shelves")
    }
    EntityDescription("Book") {
      AttributeDescription("name", .string)
      AttributeDescription("scan", .binary)
      RelationshipDescription("shelf", toOne: "Shelf", inverse: "books")
    }
    EntityDescription("Room") { RelationshipDescription("shelves", toMany: "Shelf", inverse: "room") }
  }

  private let fixture: CloneStore
  private let shelf: ObjectID

  init() throws {
    fixture = try CloneStore(Self.model)
    let room = try fixture.insert("Room")
    shelf = try fixture.insert("Shelf", ["name": "s"], ["room": [room]])
    for index in 0..<3 {
      try fixture.insert(
        "Book", ["name": .string("\(index)"), "scan": .binary(Data(count: 3000))], ["shelf": [shelf]])
    }
  }

  private func keyed(_ key: String, _ change: (inout CloneOptions) -> Void = { _ in }) -> CloneOptions {
    .with {
      $0.idempotencyKey = key
      change(&$0)
    }
  }

  private func expectSame(
    _ again: CloneResult, as first: CloneResult, _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(again.isRepeated && !first.isRepeated, sourceLocation: location)
    #expect(again.roots == first.roots && again.objectCount == first.objectCount, sourceLocation: location)
    #expect(
      again.counts == first.counts && again.affectedObjectIDs == first.affectedObjectIDs, sourceLocation: location)
    #expect(again.affectedObjectCount == first.affectedObjectCount, sourceLocation: location)
    #expect(again.blobsShared == first.blobsShared && again.bytesShared == first.bytesShared, sourceLocation: location)
    #expect(
      again.bytesCopied == first.bytesCopied && again.bytesWritten == first.bytesWritten, sourceLocation: location)
  }

  @Test("R31 the second call answers what the first one did, and commits nothing", .tags(.r31))
  func r31_repeated() throws {
    let first = try fixture.clone([shelf], keyed("k"))
    #expect(first.objectCount == 4 && first.affectedObjectCount == 1 && first.deletedRoots.isEmpty)
    #expect(first.blobsShared == 3 && first.bytesShared == 9000)
    let (lines, commit) = (try fixture.lines(), try fixture.commit)
    for _ in 0..<2 {
      let again = try fixture.store.clone([shelf], options: keyed("k"))
      expectSame(again, as: first)
      #expect(again.deletedRoots.isEmpty)
    }
    #expect(try fixture.lines() == lines && fixture.commit == commit)
    // Calls with another key, or without one, are different calls.
    #expect(try fixture.clone([shelf], keyed("K")).root != first.root)
    #expect(try !fixture.clone([shelf]).isRepeated)
  }

  @Test("R31 it says which clones were deleted since, and does not need its source", .tags(.r31))
  func r31_deleted() throws {
    let first = try fixture.clone([shelf], keyed("k"))
    _ = try fixture.store.write { try $0.delete([first.root]) }
    let again = try fixture.store.clone([shelf], options: keyed("k"))
    expectSame(again, as: first)
    #expect(again.deletedRoots == [first.root])
    _ = try fixture.store.write { try $0.delete([shelf]) }
    #expect(try fixture.store.clone([shelf], options: keyed("k")).deletedRoots == [first.root])
    try fixture.expectClean()
  }

  @Test("R31 the same key with other arguments is an error, whichever argument it is", .tags(.r31))
  func r31_reused() throws {
    let book = try fixture.members(shelf, "books")[0]
    let first = try fixture.clone([shelf], keyed("k"))
    try fixture.expectRefusal(.idempotencyKeyReused, [book], keyed("k"), isPlanned: false)
    try fixture.expectRefusal(.idempotencyKeyReused, [shelf, book], keyed("k"), isPlanned: false)
    let changes: [(inout CloneOptions) -> Void] = [
      { $0.excludedRelationshipNames = ["room"] }, { $0.passingExclusionList = true },
      { $0.rules = ["Shelf.room": .follow] }, { $0.userInfoKeys.exclude = "x" }, { $0.references = .keepOriginal },
      { $0.blobs = .copy }, { $0.maxObjects = 9 }, { $0.maxDepth = 9 }, { $0.maxBytes = 1 << 30 },
      { $0.count = 2 }, { $0.recordsProvenance = true },
    ]
    for change in changes {
      let error = #expect(throws: CloneError.self) {
        try fixture.store.clone([shelf], options: keyed("k", change))
      }
      #expect(error?.kind == .idempotencyKeyReused)
    }
    // Closures and the key's expiry are not compared, and order counts only where it has a meaning.
    for change in [
      { $0.idempotencyExpiresAt = Date(timeIntervalSinceNow: 1000) }, { $0.didClone = { _, _, _ in } },
      { $0.willClone = { edge, _ in edge.rule } }, { $0.progress = { _ in } },
    ] as [(inout CloneOptions) -> Void] {
      expectSame(try fixture.store.clone([shelf], options: keyed("k", change)), as: first)
    }
    try fixture.clone([shelf], keyed("names") { $0.excludedRelationshipNames = ["books", "room"] })
    #expect(
      try fixture.store.clone(
        [shelf], options: keyed("names") { $0.excludedRelationshipNames = ["room", "books", "room"] }
      ).isRepeated)
  }

  @Test("R31 a key has 1 to 255 bytes", .tags(.r31), arguments: ["", String(repeating: "é", count: 128)])
  func r31_badKey(key: String) throws {
    try fixture.expectRefusal(.invalidConfiguration, [shelf], keyed(key))
    #expect(try fixture.clone([shelf], keyed(String(repeating: "é", count: 127) + "x")).objectCount == 4)
  }

  @Test("R31 a refused clone leaves its key unused", .tags(.r31))
  func r31_refused() throws {
    try fixture.expectRefusal(.limitExceeded, [shelf], keyed("k") { $0.maxObjects = 1 })
    try fixture.expectRefusal(.unknownRelationship, [shelf], keyed("k") { $0.excludedRelationshipNames = ["x"] })
    #expect(try !fixture.clone([shelf], keyed("k")).isRepeated)
  }

  @Test("R31 inside a transaction the key is there with the transaction, or not at all", .tags(.r31))
  func r31_transaction() throws {
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try fixture.store.write { tx in
        _ = try tx.clone([shelf], options: keyed("k"))
        throw Stop()
      }
    }
    let (first, again) = try fixture.store.write { tx in
      (try tx.clone([shelf], options: keyed("k")), try tx.clone([shelf], options: keyed("k")))
    }
    expectSame(again, as: first)
    expectSame(try fixture.store.clone([shelf], options: keyed("k")), as: first)
    try fixture.expectClean()
  }

  @Test("R31 an expired key counts as unknown, and is replaced", .tags(.r31))
  func r31_expired() throws {
    let past = keyed("k") { $0.idempotencyExpiresAt = Date(timeIntervalSinceNow: -1) }
    let first = try fixture.clone([shelf], past)
    let second = try fixture.clone([shelf], keyed("k"))
    #expect(!second.isRepeated && second.root != first.root)
    expectSame(try fixture.store.clone([shelf], options: past), as: second)
  }

  @Test("R31 purging removes keys: some, old ones, expired ones, all", .tags(.r31))
  func r31_purge() throws {
    let store = fixture.store
    for name in ["a", "b", "c"] { try fixture.clone([shelf], keyed(name)) }
    try fixture.clone([shelf], keyed("old") { $0.idempotencyExpiresAt = Date(timeIntervalSinceNow: -1) })
    let commit = try fixture.commit
    #expect(try store.purgeIdempotencyKeys(["x"]) == 0)
    #expect(try store.purgeIdempotencyKeys(before: Date(timeIntervalSinceNow: -1000)) == 0)
    #expect(try store.purgeIdempotencyKeys(["a"], expiredOnly: true) == 0)
    #expect(try fixture.commit == commit)
    #expect(try store.purgeIdempotencyKeys(expiredOnly: true) == 1)
    #expect(try fixture.commit == commit + 1)
    #expect(try store.purgeIdempotencyKeys(["a", "x"]) == 1)
    #expect(try !fixture.clone([shelf], keyed("a")).isRepeated)
    #expect(try store.clone([shelf], options: keyed("b")).isRepeated)
    #expect(try store.purgeIdempotencyKeys(before: Date(timeIntervalSinceNow: 1000)) == 3)
    #expect(try store.purgeIdempotencyKeys() == 0)
    try store.write { tx in
      let book = try tx.members(shelf, "books")[0]
      for index in 0..<1500 { _ = try tx.clone([book], options: keyed("\(index)")) }
    }
    #expect(try store.purgeIdempotencyKeys() == 1500)
    try fixture.expectClean()
  }

  @Test("R31 concurrent calls with one key make one clone", .tags(.r31))
  func r31_concurrent() async throws {
    let (store, shelf, options) = (fixture.store, shelf, keyed("k"))
    let results = try await withThrowingTaskGroup(of: CloneResult.self) { group in
      for _ in 0..<8 { group.addTask { try await store.clone([shelf], options: options) } }
      return try await group.reduce(into: [CloneResult]()) { $0.append($1) }
    }
    #expect(Set(results.map(\.root)).count == 1)
    #expect(results.count { !$0.isRepeated } == 1)
    #expect(try fixture.count("Shelf") == 2)
  }

  /// The point at which a process that clones with a key is killed; `after`: when the commit is durable, before the
  /// call returns.
  @Test(
    "R31 a process that is killed around its commit, and the call repeated: one clone", .tags(.r31),
    arguments: [
      "copy", "hook", "before", "after", "never",
    ])
  func r31_killed(moment: String) throws {
    let test = try TestStore(Self.model)
    let shelf = try test.store.write { tx in
      let shelf = try tx.insert("Shelf")
      for _ in 0..<3 { try tx.insert("Book", relationships: ["shelf": [shelf]]) }
      return shelf
    }
    test.store.close()
    for attempt in 0..<2 {
      let peer = try PeerProcess("clone", [test.location, "\(shelf.rawValue)", "key", attempt == 0 ? moment : "never"])
      let line = peer.hear()
      peer.process.waitUntilExit()
      if attempt == 0 && moment != "never" {
        #expect(line == nil && peer.process.terminationReason == .uncaughtSignal)
      } else {
        let isKnown = ["after", "never"].contains(moment)
        #expect(line == (isKnown ? "repeated" : "cloned") || attempt == 0 && line == "cloned")
      }
    }
    let again = try test.openAgain()
    defer { again.close() }
    #expect(try again.clone([shelf], options: keyed("key") { $0.recordsProvenance = true }).isRepeated)
    #expect(try again.read { try $0.count(entity: "Shelf") } == 2)
    #expect(try again.read { try $0.count(entity: "Book") } == 6)
    try checked(again)
  }
}
