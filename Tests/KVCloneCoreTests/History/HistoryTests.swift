import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// The changes that commits record, and their readers.
@Suite("History of changes") struct HistoryTests {
  static let model = ManagedObjectModel("History") {
    EntityDescription("Named", abstract: true) { preserved("name", .string) }
    EntityDescription("Note", parent: "Named") {
      preserved("photo", .binary)
      AttributeDescription("text", .string)
      AttributeDescription("place", .composite, elements: [AttributeDescription("x", .double)])
      RelationshipDescription("items", toMany: "Item", inverse: "note", ordered: true, deleteRule: .cascade)
      RelationshipDescription("tags", toMany: "Tag", inverse: "notes")
      RelationshipDescription("idol", toOne: "Note")
    }
    EntityDescription("Item", parent: "Named") {
      RelationshipDescription("note", toOne: "Note", inverse: "items")
      RelationshipDescription("next", toOne: "Item", inverse: "previous", deleteRule: .noAction)
      RelationshipDescription("previous", toOne: "Item", inverse: "next")
    }
    EntityDescription("Tag") { RelationshipDescription("notes", toMany: "Note", inverse: "tags") }
  }

  private static func preserved(_ name: String, _ type: AttributeType) -> AttributeDescription {
    var attribute = AttributeDescription(name, type)
    attribute.preservesValueInHistoryOnDeletion = true
    return attribute
  }

  private let test: TestStore
  private var store: ObjectStore { test.store }

  init() throws { test = try TestStore(Self.model, options: StoreOptions.tracking(author: "me")) }

  /// The changes of the last transaction, a line each: sorted, in readable form.
  private func last(_ store: ObjectStore? = nil) throws -> [String] {
    let store = store ?? self.store
    let transaction = try #require(try store.history().last)
    let commit = try store.info().commit
    #expect(transaction.commit == commit)
    return try store.read { tx in
      try transaction.changes().map { change in
        switch change {
        case .inserted(let id): "+ \(try tx.name(of: id))"
        case .updated(let id, let properties): "M \(try tx.name(of: id)) \(properties.sorted().joined(separator: " "))"
        case .deleted(let id, let entity, let tombstone):
          "- \(entity)/\(id.serial)" + tombstone.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        }
      }.sorted()
    }
  }

  @Test func everyKindOfChangeIsReportedOnBothSides() throws {
    let note = try store.insert("Note", ["name": .string("a")])
    #expect(try last() == ["+ Note/1"])
    let tag = try store.insert("Tag", relationships: ["notes": [note]])
    #expect(try last() == ["+ Tag/1", "M Note/1 tags"])
    try store.set(note, "text", .string("x"))
    #expect(try last() == ["M Note/1 text"])
    try store.set(note, "place", .composite(["x": .double(1)]))
    #expect(try last() == ["M Note/1 place.x"])
    let items = try store.insert("Item", count: 2)
    #expect(try last() == ["+ Item/2", "+ Item/3"])
    try store.link(note, "items", items)
    #expect(try last() == ["M Item/2 note", "M Item/3 note", "M Note/1 items"])
    try store.link(note, "items", [items[1]], at: 0)
    #expect(try last() == ["M Note/1 items"])
    try store.unlink(note, "tags", [tag])
    #expect(try last() == ["M Note/1 tags", "M Tag/1 notes"])
    try store.setToOne(items[0], "next", items[1])
    try store.setToOne(note, "idol", note)
    #expect(try last() == ["M Note/1 idol"])
    try store.write { tx in
      try tx.setData(note, "photo") { writer in try writer.append(Data(repeating: 1, count: 5000)) }
    }
    #expect(try last() == ["M Note/1 photo"])
    // No action: the partner loses its link without being validated, and is recorded as changed.
    try store.delete([items[0]])
    #expect(try last() == ["- Item/2", "M Item/3 previous", "M Note/1 items"])
    // Cascades; preserved values are recorded, except for the large one.
    try store.setMembers(tag, "notes", [note])
    try store.delete([note])
    #expect(try last() == ["- Item/3", "- Note/1 name=a", "M Tag/1 notes"])
    try checked(store)
  }

  @Test func aTransactionReportsItsRemainingChanges() throws {
    let old = try store.insert("Note", ["name": .string("old")])
    let date = Date()
    try store.write { tx in
      tx.author = "somebody"
      tx.operation = "tidy"
      let gone = try tx.insert("Note")
      let kept = try tx.insert("Note", ["text": .string("a")])
      try tx.set(kept, "text", .string("b"))
      try tx.set(old, "text", .string("c"))
      try tx.delete([gone])
      let item = try tx.insert("Item", relationships: ["note": [old]])
      try tx.delete([old])
      try tx.insert("Tag")
      let isThere = try tx.exists(item)
      #expect(!isThere)
    }
    #expect(try last() == ["+ Note/3", "+ Tag/1", "- Note/1 name=old"])
    let transaction = try #require(try store.history().last)
    #expect(transaction.author == "somebody" && transaction.operation == "tidy")
    #expect(transaction.insertedCount == 2 && transaction.updatedCount == 0 && transaction.deletedCount == 1)
    #expect(abs(transaction.date.timeIntervalSince(date)) < 3600)
    let first = try #require(try store.history().first)
    #expect(first.author == "me" && first.operation.isEmpty)
    try checked(store)
  }

  @Test func transactionsThatChangeNoObjectsAreNotReported() throws {
    let note = try store.insert("Note")
    let count = try store.history().count
    _ = try store.stageBlob { writer in try writer.append(Data(count: 100)) }
    try store.write { tx in try tx.set(note, "text", nil) }
    struct Refusal: Error {}
    #expect(throws: Refusal.self) {
      try store.write { tx in
        try tx.insert("Note")
        throw Refusal()
      }
    }
    #expect(try store.history().count == count)
  }

  @Test func clonesAndLoadsAreRanges() throws {
    let (note, tag) = try store.write { tx in
      let tag = try tx.insert("Tag")
      let note = try tx.insert("Note", relationships: ["tags": [tag]])
      for _ in 0..<20 { try tx.insert("Item", relationships: ["note": [note]]) }
      return (note, tag)
    }
    var options = CloneOptions()
    options.count = 3
    let clone = try store.clone([note], options: options)
    let transaction = try #require(try store.history().last)
    #expect(transaction.operation == "clone" && transaction.author == "me")
    #expect(transaction.insertedCount == 63 && transaction.deletedCount == 0)
    #expect(Set(try transaction.insertedIDs()).isSuperset(of: clone.roots))
    let updated = try transaction.updatedProperties()
    #expect(updated == [tag: ["notes"]])
    let inserted = try store.read { tx in
      try tx._withSession { (session) throws(StoreError) in
        var ranges = 0
        try HistoryReader.forEachPart(of: transaction.commit, in: session) { (part) throws(StoreError) in
          if case .inserted(let entries) = part { ranges += entries.count }
          return true
        }
        return ranges
      }
    }
    #expect(inserted == 1, "notes and items are of one root entity, and their clones have consecutive serials")

    let lines = #"{"id":"Tag/1","relationships":{"notes":["@Note/\#(note.serial)"]}}"# + "\n" + #"{"id":"Tag/2"}"#
    var isFirst = true
    _ = try store.load { buffer in
      if isFirst { buffer += Array(lines.utf8) }
      defer { isFirst = false }
      return isFirst
    }
    let load = try #require(try store.history().last)
    #expect(load.operation == "load" && load.insertedCount == 2)
    #expect(try load.updatedProperties() == [note: ["tags"]])

    // A clone into another store is recorded in its history, and not in this one's.
    let other = try TestStore(Self.model, options: StoreOptions.tracking(author: "other"))
    let count = try store.history().count
    let into = try store.clone([note], into: other.store, options: CloneOptions(excluding: ["tags"]))
    let there = try #require(try other.store.history().last)
    #expect(there.operation == "clone" && there.author == "other")
    #expect(there.insertedCount == into.objectCount)
    #expect(try store.history().count == count)
    try checked(store)
    try checked(other.store)
  }

  @Test func manyDeletionsAreWrittenAsTheyCome() throws {
    let ids = try store.insert("Item", count: 10_000)
    let tag = try store.insert("Tag")
    try store.write { tx in
      try tx.delete(Array(ids.prefix(9000)))
      for id in ids.suffix(1000) { try tx.set(id, "name", .string("x")) }
      try tx.delete([tag])
    }
    let transaction = try #require(try store.history().last)
    #expect(Set(try transaction.deletedIDs()) == Set(ids.prefix(9000) + [tag]))
    #expect(
      try transaction.updatedProperties() == Dictionary(uniqueKeysWithValues: ids.suffix(1000).map { ($0, ["name"]) }))
    var seen = 0
    try transaction.forEachChange { _ in
      seen += 1
      return seen < 5
    }
    #expect(seen == 5)
    try checked(store)
  }

  @Test func tokensSurviveARestartAndAreRefusedWhereTheyDoNotBelong() throws {
    let start = try store.currentToken()
    try store.insert("Note")
    let middle = try store.currentToken()
    try store.insert("Tag")
    let data = try JSONEncoder().encode(middle)
    try test.reopen()
    #expect(try store.tracksHistory())
    let token = try JSONDecoder().decode(HistoryToken.self, from: data)
    #expect(token == middle && HistoryToken("\(token)") == token && HistoryToken("x:1") == nil)
    #expect(try store.history(after: start).map(\.insertedCount) == [1, 1])
    #expect(try store.history(after: start, limit: 1).map(\.token) == [middle])
    let after = try store.history(after: token)
    #expect(try after.map(\.token) == [store.currentToken()])
    #expect(try store.history(after: try store.currentToken()).isEmpty)
    try store.insert("Tag")
    #expect(try store.read { tx in try tx.history(after: token).count } == 2)
    expectError(.invalidHistoryToken) { _ = try store.history(after: HistoryToken(store: UUID(), commit: 1)) }
    expectError(.invalidHistoryToken) { _ = try store.history(after: HistoryToken(store: store.uuid, commit: 999)) }
  }

  @Test func purgingForgetsUpToAToken() throws {
    for _ in 0..<10 { try store.insert("Note") }
    let before = try store.history()
    let note = try store.insert("Note", ["text": .string("a")])
    let token = before[4].token
    #expect(try store.purgeHistory(before: token) == 5)
    #expect(
      try store.history().map(\.token) == before[5...].map(\.token) + [try #require(try store.history().last).token])
    #expect(try store.history(after: token).count == 6)
    expectError(.historyExpired) { _ = try store.history(after: before[3].token) }
    expectError(.historyExpired) { _ = try before[3].changes() }
    #expect(try before[6].changes().count == 1)
    #expect(try store.purgeHistory(before: before[2].token) == 0)
    #expect(try store.purgeHistory(before: Date(timeIntervalSinceNow: -86_400)) == 0)
    #expect(try store.purgeHistory(before: Date(timeIntervalSinceNow: 86_400)) == 6)
    #expect(try store.history().isEmpty)
    // A transaction of many entries is purged in several transactions.
    try store.write { tx in for _ in 0..<2500 { try tx.insert("Tag") } }
    for _ in 0..<1200 { try store.set(note, "text", .string("\(UInt64.random(in: 0 ... .max))")) }
    let commit = try store.info().commit
    #expect(try store.purgeHistory(before: try store.currentToken()) == 1201)
    #expect(try store.info().commit > commit + 1)
    #expect(try store.history().isEmpty)
    try checked(store)
  }

  @Test func offIsForgotten() throws {
    try store.insert("Note")
    let token = try store.currentToken()
    try store.setTracksHistory(false)
    expectError(.historyDisabled) { _ = try store.history(after: token) }
    expectError(.historyDisabled) { _ = try store.purgeHistory(before: token) }
    let note = try store.insert("Note")
    try store.setTracksHistory(true)
    try store.setTracksHistory(true)
    expectError(.historyExpired) { _ = try store.history(after: token) }
    #expect(try store.history().isEmpty)
    try store.delete([note])
    #expect(try last() == ["- Note/2"])
    // The options decide; without an option, the store's setting stays.
    try test.reopen()
    #expect(try store.tracksHistory())
    var options = StoreOptions()
    options.tracksHistory = false
    try test.reopen(options: options)
    #expect(try !store.tracksHistory())
    let plain = try TestStore(Self.model)
    #expect(try !plain.store.tracksHistory())
    expectError(.historyDisabled) { _ = try plain.store.history() }
    try checked(store)
  }

  @Test func checkComparesHeadersWithParts() throws {
    let note = try store.insert("Note")
    try store.set(note, "text", .string("a"))
    let commit = try store.info().commit
    let table = store.schema.tables.changes
    func damages() throws -> [String] { try store.check().issues.map { "\($0.kind) \($0.message)" } }
    func plant(_ change: (inout Session) throws -> Void) throws {
      var session = try store.writeSession(label: "plant")
      try change(&session)
      try WriteTransaction(session).commit(store)
    }
    #expect(try damages().isEmpty)
    let header = ShortKey.change(commit: commit, part: 0)
    let part = ShortKey.change(commit: commit, part: 1)
    let wrong = ChangeHeader(partCount: 1, time: 0, insertedCount: 0, updatedCount: 2, deletedCount: 0)
      .encoded(seed: ValueEnvelope.seed(tableCode: .changes, key: header))
    try plant { session in try session.storage.put(table, header.bytes, wrong.span.bytes) }
    #expect(try damages().count == 1 && damages()[0].contains("updated objects"))
    try plant { session in _ = try session.storage.delete(table, part.bytes) }
    #expect(try damages().count == 1 && damages()[0].contains("0 parts"))
    expectError(.corrupted) { _ = try store.history().last?.changes() }
    try plant { session in
      let value = ChangePart.updated([.init(id: note, properties: [1])])
        .encoded(seed: ValueEnvelope.seed(tableCode: .changes, key: part))
      try session.storage.put(table, part.bytes, value.span.bytes)
      _ = try session.storage.delete(table, header.bytes)
    }
    #expect(try damages().count == 1 && damages()[0].contains("header is missing"))
    expectError(.corrupted) { _ = try store.history() }
    // Purged entries may be incomplete.
    try store.purgeHistory(before: try store.currentToken())
    try checked(store)
  }
}

extension CloneOptions {
  fileprivate init(excluding names: [String]) {
    self.init()
    excludedRelationshipNames = names
  }
}
