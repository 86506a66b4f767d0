import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneQuery

@Suite("Uniqueness conflicts: what merge policies make of them")
struct UniquenessConflictTests {
  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(mergeModel) }

  /// Creates a person with one of everything.
  private func stored(_ code: Int64, team: ObjectID? = nil) throws -> ObjectID {
    try store.write { tx in
      try tx.insert(
        "Person", ["code": .integer(code), "name": "old", "level": 5],
        relationships: [
          "tags": [try tx.insert("Tag")], "notes": [try tx.insert("Note")], "card": [try tx.insert("Card")],
          "team": [try team ?? tx.insert("Team")],
        ])
    }
  }

  static let inserted: [(MergePolicy, String, Bool)] = [
    (.mergeByPropertyStoreTrump, "code 1, name old, memo m, level 5, tags 2, notes 2, card 1, team 1", false),
    (.mergeByPropertyObjectTrump, "code 1, name new, memo m, level 5, tags 2, notes 2, card 1, team 1", true),
    (.overwrite, "code 1, name new, memo m, level 1, tags 2, notes 2, card 1, team 0", true),
    (.rollback, "code 1, name old, memo -, level 5, tags 1, notes 1, card 1, team 1", false),
  ]

  @Test("a new object gives way to the stored one, which takes over what the policy says", arguments: inserted)
  func insertedAndStored(_ policy: MergePolicy, _ expected: String, _ takesCard: Bool) throws {
    let person = try stored(1)
    let card = try #require(try store.toOne(person, "card"))
    let (new, newCard, note, log) = try store.merge(policy) { tx in
      let card = try tx.insert("Card")
      let note = try tx.insert("Note")
      let new = try tx.insert(
        "Person", ["code": 1, "name": "new", "memo": "m"],
        relationships: ["tags": [try tx.insert("Tag")], "notes": [note], "card": [card]])
      return (new, card, note, try tx.insert("Log", relationships: ["about": [new], "all": [new]]))
    }
    #expect(try store.shown(person) == expected)
    #expect(try store.value(person, "shown") == (expected.contains("new") ? "NEW" : "OLD"))
    #expect(try !store.exists(new) && store.objects("Person") == [person])
    // Objects that were not transferred are deleted with the new object; stored ones are never deleted.
    #expect(try store.exists(newCard) == takesCard && store.exists(card))
    #expect(try store.toOne(person, "card") == (takesCard ? newCard : card))
    #expect(try store.exists(note) == (policy != .rollback))
    #expect(try store.members(person, "notes").last == note || policy == .rollback)
    let linked = policy == .rollback ? [] : [person]
    #expect(try store.members(log, "about") == linked && store.members(log, "all") == linked)
    try checked(store)
  }

  @Test("without a policy it is a validation error")
  func error() throws {
    let person = try stored(1)
    #expect(
      expectIssues { try store.merge(.error) { _ = try $0.insert("Person", ["code": 1]) } }
        == ["uniquenessConflict Person.code"])
    #expect(expectIssues { try store.insert("Person", ["code": 1]) } == ["uniquenessConflict Person.code"])
    #expect(try store.merge(.error) { try $0.resolveConstraintConflicts() }.isEmpty)
    #expect(try store.objects("Person") == [person])
  }

  static let updated: [(MergePolicy, String, Bool)] = [
    (.mergeByPropertyStoreTrump, "code 2, name changed, memo -, level 1, tags 0, notes 0, card 0, team 0", true),
    (.mergeByPropertyObjectTrump, "code 1, name changed, memo -, level 5, tags 1, notes 1, card 1, team 1", false),
    (.overwrite, "code 1, name changed, memo -, level 1, tags 1, notes 1, card 0, team 0", false),
    (.rollback, "code 2, name b, memo -, level 1, tags 0, notes 0, card 0, team 0", true),
  ]

  @Test(
    "a stored object that was changed to another's values returns to its own, or the other goes", arguments: updated)
  func updatedAndStored(_ policy: MergePolicy, _ expected: String, _ returns: Bool) throws {
    let person = try stored(1)
    let large = AttributeValue.binary(Data(repeating: 7, count: 5000))
    let other = try store.insert("Person", ["code": 2, "name": "b", "data": large])
    let log = try store.insert("Log", relationships: ["about": [person], "all": [other, person]])
    try store.merge(policy) { tx in
      try tx.setAttributes(other, ["code": 1, "name": "changed", "data": .binary(Data(repeating: 8, count: 3000))])
    }
    #expect(try store.shown(other) == expected)
    #expect(try store.exists(person) == returns)
    #expect(try store.toOne(log, "about") == (returns ? person : other))
    #expect(try store.members(log, "all") == (returns ? [other, person] : [other]))
    // The bytes were deleted in the transaction already.
    #expect(try store.data(other, "data")?.count == (policy == .rollback ? 5000 : 3000))
    #expect(try store.data(other, "data")?.first == (policy == .rollback ? 7 : 8))
    #expect(try store.blobCount() == 1)
    try checked(store)
  }

  @Test(
    "of two new objects the first stays, and the policy says whose values",
    arguments: [
      (MergePolicy.mergeByPropertyStoreTrump, "code 1, name first, memo m, level 1"),
      (.mergeByPropertyObjectTrump, "code 1, name last, memo m, level 1"),
      (.overwrite, "code 1, name last, memo m, level 1"), (.rollback, "code 1, name first, memo -, level 1"),
    ])
  func twoNew(_ policy: MergePolicy, _ expected: String) throws {
    let ids = try store.merge(policy) { tx in
      [
        try tx.insert("Person", ["code": 1, "name": "first"]),
        try tx.insert("Pilot", ["code": 1, "name": "last", "memo": "m", "license": "x"]),
      ]
    }
    #expect(try store.objects("Person") == [ids[0]])
    #expect(try store.shown(ids[0]).hasPrefix(expected))
    try checked(store)
  }

  @Test("a new object that conflicts with two stored ones", arguments: MergePolicy.allCases)
  func chain(_ policy: MergePolicy) throws {
    let first = try store.insert("Pilot", ["code": 1, "name": "one"])
    let second = try store.insert("Pilot", ["code": 2, "name": "two", "license": "b", "memo": "kept"])
    func write() throws {
      try store.merge(policy) { _ = try $0.insert("Pilot", ["code": 1, "license": "b", "name": "new"]) }
    }
    switch policy {
    case .error:
      #expect(expectIssues { try write() } == ["uniquenessConflict Pilot.code", "uniquenessConflict Pilot.license"])
    case .rollback, .mergeByPropertyStoreTrump:
      try write()
      #expect(try store.objects("Person") == [first, second])
      #expect(try store.value(first, "license") == nil && store.value(first, "name") == "one")
      #expect(try store.value(second, "license") == "b" && store.value(second, "code") == 2)
    case .mergeByPropertyObjectTrump, .overwrite:
      try write()
      #expect(try store.objects("Person") == [first])
      #expect(try store.value(first, "license") == "b" && store.value(first, "name") == "new")
      #expect(try store.value(first, "memo") == (policy == .overwrite ? nil : "kept"))
    }
    try checked(store)
  }

  @Test("an object of a sub-entity merges into one of the entity that declares the constraint, and the other way round")
  func inherited() throws {
    let person = try store.insert("Person", ["code": 1])
    let pilot = try store.insert("Pilot", ["code": 2, "license": "b"])
    try store.merge(.mergeByPropertyObjectTrump) { tx in
      try tx.insert("Pilot", ["code": 1, "name": "p", "license": "a"])
      try tx.insert("Person", ["code": 2, "name": "q"])
    }
    #expect(try store.objects("Person") == [person, pilot])
    #expect(try store.value(person, "name") == "p" && store.value(pilot, "name") == "q")
    #expect(try store.value(pilot, "license") == "b")
    try checked(store)
  }

  @Test("a compound constraint with a to-one relationship, changed from its other side")
  func compound() throws {
    let teams = try store.insert("Team", count: 2)
    func member(_ team: ObjectID) throws -> ObjectID {
      try store.insert("Person", ["number": 1], relationships: ["team": [team]])
    }
    let people = [try member(teams[0]), try member(teams[1])]
    try store.merge(.mergeByPropertyStoreTrump) { try $0.link(teams[0], "people", [people[1]]) }
    #expect(try store.members(teams[0], "people") == [people[0]] && store.members(teams[1], "people") == [people[1]])
    try checked(store)
    // Its team is deleted in the same transaction, and is not restored.
    try store.merge(.rollback) { tx in
      try tx.link(teams[0], "people", [people[1]])
      try tx.delete([teams[1]])
    }
    #expect(try store.members(teams[0], "people") == [people[0]] && store.toOne(people[1], "team") == nil)
    try store.merge(.mergeByPropertyObjectTrump) { try $0.link(teams[0], "people", [people[1]]) }
    #expect(try store.members(teams[0], "people") == [people[1]] && store.objects("Person") == [people[1]])
    try checked(store)
  }

  @Test(
    "values that are handed on are given back in a row",
    arguments: [MergePolicy.rollback, .mergeByPropertyStoreTrump])
  func handedOn(_ policy: MergePolicy) throws {
    let ids = try (1...4).map { try store.insert("Person", ["code": .integer($0)]) }
    try store.merge(policy) { tx in
      for (index, id) in ids.dropLast().enumerated() { try tx.set(id, "code", .integer(Int64(index) + 2)) }
      try tx.insert("Person", ["code": 1, "name": "new"])
    }
    for (index, id) in ids.enumerated() { #expect(try store.value(id, "code") == .integer(Int64(index) + 1)) }
    #expect(try store.value(ids[0], "name") == (policy == .rollback ? nil : "new"))
    #expect(try store.objects("Person") == ids)
    try checked(store)
  }

  @Test("stored targets are unlinked, not deleted, if a new object is replaced")
  func cascades() throws {
    let person = try stored(1)
    let note = try #require(try store.members(person, "notes").first)
    let child = try store.insert("Person", relationships: ["notes": [try store.insert("Note")]])
    try store.merge(.rollback) { tx in
      let new = try tx.insert("Person", ["code": 1], relationships: ["notes": [note], "chief": [person]])
      let between = try tx.insert("Person", relationships: ["chief": [new], "staff": [child]])
      try tx.link(between, "staff", [person])
    }
    #expect(try store.objects("Person") == [person, child])
    #expect(try store.toOne(note, "person") == nil && store.toOne(child, "chief") == nil)
    #expect(try store.count(child, "notes") == 1 && store.count(person, "staff") == 0)
    try checked(store)
  }

  @Test("objects that lead to each other do not take each other along", arguments: MergePolicy.allCases)
  func linkedToEachOther(_ policy: MergePolicy) throws {
    if policy == .error { return }
    let chief = try store.insert("Person", ["code": 1])
    let worker = try store.insert("Person", ["code": 2], relationships: ["chief": [chief]])
    try store.merge(policy) { try $0.set(worker, "code", 1) }
    let isObjects = policy == .overwrite || policy == .mergeByPropertyObjectTrump
    #expect(try store.objects("Person") == (isObjects ? [worker] : [chief, worker]))
    #expect(try store.toOne(worker, "chief") == (isObjects ? nil : chief))
    try checked(store)
    let kept = try #require(try store.objects("Person").first)
    let count = try store.objects("Person").count
    try store.merge(policy) { try $0.insert("Person", ["code": 1], relationships: ["chief": [kept], "staff": [kept]]) }
    #expect(try store.objects("Person").count == count && store.members(kept, "staff") == (isObjects ? [] : [worker]))
    try checked(store)
  }

  @Test("a stored object that would have to go is kept by the rule deny")
  func denied() throws {
    let (lock, tag) = (try store.insert("Lock"), try store.insert("Tag"))
    let pilot = try store.insert("Pilot", ["code": 1], relationships: ["locks": [lock], "tags": [tag]])
    let person = try store.insert("Person", ["code": 2])
    expectError(.deleteDenied) { try store.merge(.overwrite) { try $0.set(person, "code", 1) } }
    expectError(.deleteDenied) {
      try store.merge(.overwrite) { tx in
        try tx.set(person, "code", 1)
        expectError(.deleteDenied) { try tx.resolveConstraintConflicts() }
        // The tag has moved already.
        expectError(.transactionAborted) { try tx.set(person, "code", 3) }
        throw StoreError(.deleteDenied, "given up")
      }
    }
    #expect(try store.members(tag, "people") == [pilot] && store.value(person, "code") == 2)
    try checked(store)
  }

  @Test("derived attributes that have to be unique are computed before and after")
  func derived() throws {
    let word = try store.insert("Word", ["text": "Milk", "uses": 1])
    try store.merge(.mergeByPropertyObjectTrump) { try $0.insert("Word", ["text": "MILK", "uses": 2]) }
    #expect(try store.value(word, "text") == "MILK" && store.value(word, "uses") == 2)
    #expect(try store.objects("Word") == [word])
    let other = try store.insert("Word", ["text": "bread"])
    try store.merge(.mergeByPropertyStoreTrump) { try $0.set(other, "text", "milk") }
    #expect(try store.value(other, "text") == "bread" && store.value(other, "folded") == "bread")
    try checked(store)
  }

  @Test("a batch inserts new objects and updates existing ones, and returns the ids that exist afterwards")
  func upsert() throws {
    let there = try store.insert("Word", ["text": "b", "uses": 1])
    let texts = ["a", "b", "c", "A", "B"]
    let result = try store.merge(.mergeByPropertyObjectTrump) { tx in
      try tx.batchInsert(
        "Word", texts.enumerated().map { ["text": .string($1), "uses": .integer(Int64($0) + 2)] },
        resultType: .objectIDs)
    }
    let words = try store.objects("Word")
    #expect(
      words.count == 3 && result.count == 5
        && result.objectIDs.map { words.contains($0) } == [true, true, true, true, true])
    #expect(result.objectIDs[1] == there && result.objectIDs[4] == there && result.objectIDs[3] == result.objectIDs[0])
    #expect(try store.value(there, "text") == "B" && store.value(there, "uses") == 6)
    #expect(try store.value(result.objectIDs[0], "uses") == 5)
    try checked(store)
  }

  @Test("immediate resolution reports the replacements, and so does a context's save")
  func replacements() throws {
    let stored = try store.insert("Pilot", ["code": 1])
    let second = try store.insert("Pilot", ["code": 2, "license": "b"])
    let (new, replaced) = try store.merge(.overwrite) { tx in
      let new = [try tx.insert("Pilot", ["code": 1]), try tx.insert("Pilot", ["code": 1, "license": "b"])]
      return (new, try tx.resolveConstraintConflicts())
    }
    #expect(replaced == [new[0]: stored, new[1]: stored, second: stored])
    #expect(try store.objects("Person") == [stored] && store.value(stored, "license") == "b")
    try checked(store)

    var context = EditingContext(store)
    let temporary = try context.insert("Pilot", ["code": 1, "name": "from a context"])
    #expect(expectIssues { try context.save() } == ["uniquenessConflict Pilot.code"])
    #expect(try context.save(mergePolicy: .mergeByPropertyObjectTrump).id(of: temporary) == stored)
    #expect(try store.value(stored, "name") == "from a context" && store.objects("Person") == [stored])
    try checked(store)
  }

  @Test("the policy is a property of the transaction, and of that one alone")
  func property() throws {
    try store.insert("Person", ["code": 1])
    try store.write { tx in
      #expect(tx.mergePolicy == .error)
      tx.mergePolicy = .rollback
      try tx.insert("Person", ["code": 1])
    }
    #expect(try store.objects("Person").count == 1)
    #expect(expectIssues { try store.insert("Person", ["code": 1]) } == ["uniquenessConflict Person.code"])
  }

  @Test("asynchronous writes take a policy too")
  func asynchronous() async throws {
    let person = try await store.write { tx in try tx.insert("Person", ["code": 1]) }
    try await store.write(mergePolicy: .mergeByPropertyObjectTrump) { tx in
      _ = try tx.insert("Person", ["code": 1, "name": "x"])
    }
    #expect(try await store.read { tx in try tx.value(person, "name") } == "x")
  }

  @Test("hooks run for the object that remains, and the history contains it alone")
  func hooks() throws {
    let person = try store.insert("Person", ["code": 1])
    try store.setTracksHistory(true)
    var hooks = ObjectLifecycle()
    hooks.willSave = { tx, id in
      if try tx.value(id, "memo") != .string("saved") { try tx.set(id, "memo", "saved") }
    }
    hooks.validateForDelete = { _, _ in throw LifecycleRejection("must stay") }
    try store.register(hooks, for: "Person")
    let token = try store.currentToken()
    try store.merge(.mergeByPropertyObjectTrump) { try $0.insert("Person", ["code": 1, "name": "x"]) }
    #expect(try store.value(person, "memo") == "saved" && store.value(person, "name") == "x")
    let transaction = try #require(try store.history(after: token).first)
    #expect(transaction.insertedCount == 0 && transaction.updatedCount == 1 && transaction.deletedCount == 0)
    let other = try store.insert("Person", ["code": 2])
    #expect(
      expectIssues { try store.merge(.overwrite) { try $0.set(other, "code", 1) } } == ["refusedByHook Person."])
    try checked(store)
  }

  @Test("a hook that makes a conflict after each one that is settled comes to an end")
  func endless() throws {
    let word = try store.insert("Word", ["text": "w", "uses": 0])
    var hooks = ObjectLifecycle()
    hooks.willSave = { tx, id in
      guard id == word, case .integer(let uses)? = try tx.value(id, "uses") else { return }
      try tx.insert("Word", ["text": "w", "uses": .integer(uses + 1)])
    }
    try store.register(hooks, for: "Word")
    expectError(.hookFailed) { try store.merge(.overwrite) { try $0.set(word, "uses", 1) } }
    #expect(try store.value(word, "uses") == 0)
    try checked(store)
  }
}
