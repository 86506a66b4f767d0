import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneQuery

private let wordModel = ManagedObjectModel("Words") {
  EntityDescription("Word", unique: [["key"]]) {
    AttributeDescription("text", .string)
    AttributeDescription("key", .string)
    AttributeDescription("uses", .integer64, default: 0)
    RelationshipDescription("note", toOne: "Note", inverse: "word", deleteRule: .cascade)
  }
  EntityDescription("Note") { RelationshipDescription("word", toOne: "Word", inverse: "note", deleteRule: .cascade) }
}

/// The ids that a batch returns if hooks create conflicts that a merge policy resolves.
@Suite("Batches with hooks and conflicts")
struct BatchConflictTests {
  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(wordModel) }

  /// Registers a hook that sets the key of a word, so that words become equal when they are saved.
  private func registerKeys() throws {
    var hooks = ObjectLifecycle()
    hooks.willSave = { tx, id in
      guard case .string(let text)? = try tx.value(id, "text") else { return }
      let key = AttributeValue.string(text.lowercased())
      if try tx.value(id, "key") != key { try tx.set(id, "key", key) }
    }
    try store.register(hooks, for: "Word")
  }

  static let policies = MergePolicy.allCases.filter { $0 != .error }

  private func insert(_ texts: [String], _ policy: MergePolicy) throws -> BatchResult {
    try store.write(mergePolicy: policy) { tx in
      let result = try tx.batchInsert(
        "Word", texts.enumerated().map { ["text": .string($1), "uses": .integer(Int64($0) + 1)] },
        resultType: .objectIDs)
      for id in result.objectIDs {
        let exists = try tx.exists(id)
        #expect(exists, "\(policy)")
      }
      return result
    }
  }

  @Test("ids are those of objects that exist when willSave makes new objects equal", arguments: policies)
  func newObjects(_ policy: MergePolicy) throws {
    try registerKeys()
    let result = try insert(["a", "B", "A", "b", "c", "a"], policy)
    let words = try store.objects("Word")
    #expect(result.count == 6)
    #expect(result.objectIDs.map { words.firstIndex(of: $0) } == [0, 1, 0, 1, 2, 0], "\(policy)")
    #expect(words.count == 3)
    try checked(store)
  }

  @Test("ids are those of objects that exist when willSave makes one equal to a stored one", arguments: policies)
  func storedObject(_ policy: MergePolicy) throws {
    try registerKeys()
    let stored = try store.insert("Word", ["text": "a"])
    let result = try insert(["A", "b"], policy)
    #expect(result.objectIDs.first == stored)
    #expect(try store.objects("Word") == [stored] + result.objectIDs.dropFirst())
    try checked(store)
  }

  @Test("a hook that changes a stored object may make it the one that stays")
  func storedComer() throws {
    let stored = try store.insert("Word", ["text": "a", "key": "old"])
    var hooks = ObjectLifecycle()
    hooks.willSave = { tx, id in
      if id != stored, try tx.value(stored, "key") != "new" { try tx.set(stored, "key", "new") }
    }
    try store.register(hooks, for: "Word")
    try store.insert("Word", ["text": "o"])
    #expect(try store.value(stored, "key") == "new")
    try store.set(stored, "key", "old")
    let result = try store.write(mergePolicy: .overwrite) { tx in
      try tx.batchInsert("Word", [["text": "n", "key": "new"]], resultType: .objectIDs)
    }
    #expect(result.objectIDs == [stored])
    try checked(store)
  }

  @Test("what willSave deletes is not among the ids, whatever the policy", arguments: MergePolicy.allCases)
  func deleted(_ policy: MergePolicy) throws {
    var hooks = ObjectLifecycle()
    hooks.willSave = { tx, id in if try tx.value(id, "text") == "bad" { try tx.delete([id]) } }
    try store.register(hooks, for: "Word")
    let result = try insert(["a", "bad", "b"], policy)
    #expect(result.count == 3)
    #expect(try result.objectIDs == store.objects("Word"))
    #expect(result.objectIDs.count == 2)
    try checked(store)
  }

  @Test("with the policy error a conflict that willSave makes is the commit's error")
  func refused() throws {
    try registerKeys()
    let issues = expectIssues { _ = try insert(["a", "A"], .error) }
    #expect(Set(issues) == ["uniquenessConflict Word.key"])
    #expect(try store.objects("Word").isEmpty)
  }

  @Test("a hook that fails at the end of a batch gives the transaction up")
  func failing() throws {
    var hooks = ObjectLifecycle()
    hooks.willSave = { _, _ in throw LifecycleRejection("never") }
    try store.register(hooks, for: "Word")
    expectError(.hookFailed) { _ = try insert(["a"], .overwrite) }
    #expect(try store.objects("Word").isEmpty)
  }
}
