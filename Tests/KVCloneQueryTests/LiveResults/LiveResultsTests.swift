import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneQuery

/// Results of a request and their updates.
@Suite("Live results") struct LiveResultsTests {
  private static let token = HistoryToken(store: UUID(), commit: 1)

  @Test("a difference carried out on the old list gives the new one", arguments: PropertySeeds.seeds)
  func differences(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for round in 0..<300 {
      let all = (1...40).map { ObjectID(rootCode: 1, serial: $0) }
      let old = Array(all.shuffled(using: &random).prefix(random.below(30)))
      var new = old.filter { _ in !random.chance(in: 4) } + all.filter { !old.contains($0) && random.chance(in: 5) }
      if random.chance(in: 3) { new.shuffle(using: &random) }
      if random.chance(in: 2), new.count > 1 { new.insert(new.remove(at: random.below(new.count)), at: 0) }
      let written = Set(all.filter { _ in random.chance(in: 3) })
      let change = FetchedResultsChange(from: old, to: new, token: Self.token) { written.contains($0) }
      var list = old.map { "\($0)" }
      change.apply(to: &list) { "\($0)" }
      #expect(list == new.map { "\($0)" }, "seed \(seed), round \(round)")
      #expect(change.deleted.allSatisfy { old[$0.index] == $0.id && !new.contains($0.id) })
      #expect(Set(change.deleted.map(\.id)) == Set(old).subtracting(new))
      #expect(Set(change.inserted.map(\.id)) == Set(new).subtracting(old))
      #expect(change.inserted.allSatisfy { new[$0.index] == $0.id })
      #expect(change.moved.allSatisfy { old[$0.from] == $0.id && new[$0.to] == $0.id })
      #expect(Set(change.updated.map(\.id)) == written.intersection(old).intersection(new))
      if old.filter({ new.contains($0) }) == new.filter({ old.contains($0) }) { #expect(change.moved.isEmpty) }
    }
  }

  @Test func oneMoveIsOneMove() {
    let ids = (1...100).map { ObjectID(rootCode: 1, serial: $0) }
    var moved = ids
    moved.append(moved.remove(at: 3))
    let change = FetchedResultsChange(from: ids, to: moved, token: Self.token) { _ in false }
    #expect(change.moved == [.init(id: ids[3], from: 3, to: 99)] && change.deleted.isEmpty && change.inserted.isEmpty)
  }

  private static let model = ManagedObjectModel("Live") {
    EntityDescription("Note") {
      AttributeDescription("title", .string)
      AttributeDescription("other", .string)
      RelationshipDescription("tags", toMany: "Tag", inverse: "notes")
    }
    EntityDescription("Tag") {
      AttributeDescription("name", .string)
      AttributeDescription("weight", .integer16)
      RelationshipDescription("notes", toMany: "Note", inverse: "tags")
    }
  }

  @Test func insertsMovesUpdatesAndDeletes() async throws {
    let test = try TestStore(Self.model, options: StoreOptions.tracking())
    let store = test.store
    let request = FetchRequest(
      "Note", predicate: try QueryPredicate(format: "ANY tags.name == 'red'"),
      sortDescriptors: [QuerySortDescriptor(key: "title")])
    let (red, a, c) = try await store.write { tx in
      let red = try tx.insert("Tag", ["name": .string("red")])
      let a = try tx.insert("Note", ["title": .string("a")], relationships: ["tags": [red]])
      let c = try tx.insert("Note", ["title": .string("c")], relationships: ["tags": [red]])
      return (red, a, c)
    }
    var results = store.liveResults(for: request).makeAsyncIterator()
    let first = try #require(try await results.next())
    #expect(first.isInitial && first.ids == [a, c] && first.inserted.map(\.index) == [0, 1])
    // Changes that do not affect the request produce no element.
    try await store.write { tx in try tx.set(red, "weight", .integer(3)) }
    try await store.write { tx in _ = try tx.insert("Tag") }
    let b = try await store.write { tx in try tx.insert("Note", ["title": .string("b")], relationships: ["tags": [red]])
    }
    let second = try #require(try await results.next())
    #expect(second.ids == [a, b, c] && second.inserted == [.init(id: b, index: 1)])
    #expect(second.deleted.isEmpty && second.moved.isEmpty && second.updated.isEmpty && !second.isInitial)
    try await store.write { tx in try tx.set(c, "other", .string("x")) }
    let third = try #require(try await results.next())
    #expect(third.ids == [a, b, c] && third.updated == [.init(id: c, index: 2)] && third.inserted.isEmpty)
    try await store.write { tx in try tx.set(c, "title", .string("0")) }
    let fourth = try #require(try await results.next())
    #expect(fourth.ids == [c, a, b] && fourth.moved == [.init(id: c, from: 2, to: 0)])
    #expect(fourth.updated == [.init(id: c, index: 0)])
    try await store.write { tx in _ = try tx.delete([a]) }
    let fifth = try #require(try await results.next())
    #expect(fifth.ids == [c, b] && fifth.deleted == [.init(id: a, index: 1)] && fifth.updated.isEmpty)
    // Through a relationship: only the name of the note's tag changed, not a note.
    try await store.write { tx in try tx.set(red, "name", .string("blue")) }
    let sixth = try #require(try await results.next())
    #expect(sixth.ids.isEmpty && sixth.deleted.map(\.id) == [c, b])
    #expect(sixth.token == (try store.currentToken()))
  }

  @Test("random changes, with the history and without", arguments: PropertySeeds.seeds, [true, false])
  func random(_ seed: UInt64, _ tracks: Bool) async throws {
    var options = StoreOptions()
    options.tracksHistory = tracks
    let test = try TestStore(Self.model, options: options)
    let store = test.store
    let requests = [
      FetchRequest("Note", sortDescriptors: [QuerySortDescriptor(key: "title")]),
      FetchRequest("Note", predicate: try QueryPredicate(format: "ANY tags.weight > 2"), fetchLimit: 5),
      FetchRequest("Note", sortDescriptors: [QuerySortDescriptor(key: "tags.@count", ascending: false)]),
      FetchRequest("Tag", predicate: try QueryPredicate(format: "SUBQUERY(notes, $n, $n.title < 'c').@count > 0")),
    ]
    var iterators = requests.map { store.liveResults(for: $0).makeAsyncIterator() }
    var lists: [[ObjectID]] = []
    for index in iterators.indices {
      let first = try await iterators[index].next()
      lists.append(first?.ids ?? [])
    }
    var random = SeededGenerator(seed: seed)
    for round in 0..<60 {
      let seed = random.next()
      for _ in 0...random.below(2) { try await store.write { tx in try Self.change(&tx, seed) } }
      if random.chance(in: 10), tracks { try await store.purgeHistory(before: try store.currentToken()) }
      for (index, request) in requests.enumerated() {
        let ids = try await store.read { tx in try tx.fetchIDs(request) }
        guard ids != lists[index] else { continue }
        var list = lists[index]
        // An update of a remaining object may arrive separately before.
        while list != ids {
          guard let change = try await iterators[index].next() else { break }
          change.apply(to: &list) { $0 }
          #expect(list == change.ids, "seed \(seed), round \(round), request \(index)")
        }
        #expect(list == ids, "seed \(seed), round \(round), request \(index)")
        lists[index] = list
      }
    }
  }

  private static func change(_ tx: inout WriteTransaction, _ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var notes: [ObjectID] = []
    var tags: [ObjectID] = []
    try tx.forEachObject(of: "Note") {
      notes.append($0.id); return true
    }
    try tx.forEachObject(of: "Tag") {
      tags.append($0.id); return true
    }
    func text() -> AttributeValue { .string(["a", "b", "c", "d", "e"].randomElement(using: &random) ?? "a") }
    switch random.below(8) {
    case 0, 1:
      try tx.insert("Note", ["title": text()], relationships: ["tags": tags.filter { _ in random.chance(in: 3) }])
    case 2: try tx.insert("Tag", ["weight": .integer(Int64(random.below(6)))])
    case 3: if let note = notes.randomElement(using: &random) { try tx.set(note, "title", text()) }
    case 4: if let note = notes.randomElement(using: &random) { try tx.set(note, "other", text()) }
    case 5:
      if let tag = tags.randomElement(using: &random) { try tx.set(tag, "weight", .integer(Int64(random.below(6)))) }
    case 6:
      if let note = notes.randomElement(using: &random) {
        try tx.setMembers(note, "tags", tags.filter { _ in random.chance(in: 2) })
      }
    default:
      if let one = (notes + tags).randomElement(using: &random) { try tx.delete([one]) }
    }
  }

  @Test func aRequestThatCannotBeAskedIsAnError() async throws {
    let test = try TestStore(Self.model)
    var results = test.store.liveResults(for: FetchRequest("Nope")).makeAsyncIterator()
    do {
      _ = try await results.next()
      Issue.record("nothing was thrown")
    } catch {
      #expect(error.kind == .unknownEntity)
    }
  }
}
