import Foundation
import KVClone
import KVCloneTestSupport
import Synchronization
import Testing

/// R35: outside objects of random graphs, and a destination that changes while a clone waits for it.
@Suite("Clone into another store: matches")
struct CloneIntoMatchTests {
  /// The links between names, which are equal in two stores with the same links.
  private struct Links: Equatable {
    var tags: [String: Set<String>] = [:]
    var shelves: [String: String] = [:]
  }

  @Test("random graphs: links lead to the object with the same label, or nowhere, and inverses agree", arguments: 1...6)
  func random(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let source = try CloneStore(CloneIntoTests.model.changing("Tag") { $0.relationships[0].maxCount = 0 })
    let other = try CloneStore(source.store.model.rearranged)
    let labels = (0..<12).map { "label \($0)" }
    let tags = try labels.map { try source.insert("Tag", ["label": .string($0)]) }
    let shelves = try labels.prefix(4).map { try source.insert("Shelf", ["label": .string($0)]) }
    let there = labels.shuffled(using: &random).prefix(7).sorted()
    for label in there.shuffled(using: &random) { try other.insert("Tag", ["label": .string(label)]) }
    let shelvesThere = try labels.prefix(2).map { try other.insert("Shelf", ["label": .string($0)]) }
    let note = try source.insert("Note")
    let items = try source.insertMany(40, "Item")
    try source.set(note, "items", items.shuffled(using: &random))
    for item in items {
      try source.set(item, "tags", tags.filter { _ in random.chance(in: 3) })
      try source.set(item, "shelf", random.chance(in: 4) ? [] : [shelves[random.below(4)]])
    }
    for shelf in shelves { try source.set(shelf, "items", source.members(shelf, "items").shuffled(using: &random)) }
    let options = CloneOptions.with { $0.outsideObjects = .matchOrLeaveEmpty }
    let result = try source.clone([note], into: other, options)
    #expect(try other.names(result.root, "items") == source.names(note, "items"), "seed \(seed)")
    var wanted = try links(of: note, in: source)
    wanted.tags = wanted.tags.mapValues { $0.intersection(there) }
    wanted.shelves = wanted.shelves.filter { labels.prefix(2).contains($0.value) }
    #expect(try links(of: result.root, in: other) == wanted, "seed \(seed)")
    for (shelf, its) in zip(shelves, shelvesThere) {
      #expect(try other.names(its, "items") == source.names(shelf, "items"), "seed \(seed)")
    }
    // A second clone matches the same objects, and is placed after the first in their lists.
    try source.clone([note], into: other, options)
    for (shelf, its) in zip(shelves, shelvesThere) {
      let names = try source.names(shelf, "items")
      #expect(try other.names(its, "items") == names + names, "seed \(seed)")
    }
  }

  private func links(of note: ObjectID, in store: CloneStore) throws -> Links {
    func text(_ id: ObjectID, _ attribute: String) throws -> String {
      if case .string(let text)? = try store.value(id, attribute) { text } else { "nil" }
    }
    var links = Links()
    for item in try store.members(note, "items") {
      let name = try text(item, "name")
      links.tags[name] = Set(try store.members(item, "tags").map { try text($0, "label") })
      if let shelf = try store.toOne(item, "shelf") { links.shelves[name] = try text(shelf, "label") }
    }
    return links
  }

  @Test("concurrent commits while a clone waits for the lock are checked again", arguments: [1, 2])
  func overtaken(times: Int) throws {
    let (source, other) = (try CloneStore(CloneIntoTests.model), try CloneStore(CloneIntoTests.model))
    let tag = try source.insert("Tag", ["label": "t"])
    let item = try source.insert("Item", [:], ["tags": [tag]])
    let count = Mutex(0)
    let store = other.store
    var options = CloneOptions()
    options.outsideObjects = .matchOrLeaveEmpty
    options.progress = { progress in
      guard progress.phase == .wait else { return }
      let number = count.withLock { count in
        count += 1
        return count
      }
      guard number <= times else { return }
      // The last commit inserts the object that the clone must find, and uses serials that the plan has assigned.
      let label = number == times ? "t" : "other"
      _ = try? store.write { tx in
        try tx.insert("Tag", ["label": .string(label)])
        try tx.insert("Item", ["name": "in between"])
      }
    }
    let result = try source.store.clone([item], into: store, options: options)
    #expect(try other.members(result.root, "tags").count == 1)
    #expect(try other.count("Item") == times + 1)
    try other.expectClean()
    var strict = options
    strict.outsideObjects = .match
    strict.progress = nil
    #expect(try source.clone([item], into: other, strict).affectedObjectCount == 1)
  }

  @Test("an edge that the hook skips leads nowhere in the other store either")
  func skipped() throws {
    let (source, other) = (try CloneStore(CloneIntoTests.model), try CloneStore(CloneIntoTests.model))
    let tags = try ["a", "b"].map { try source.insert("Tag", ["label": .string($0)]) }
    let item = try source.insert("Item", [:], ["tags": tags])
    let there = try other.insert("Tag", ["label": "b"])
    var options = CloneOptions()
    let first = tags[0]
    options.willClone = { edge, _ in edge.source == first ? .skip : edge.rule }
    let result = try source.clone([item], into: other, options)
    #expect(try other.members(result.root, "tags") == [there])
    options.willClone = { edge, _ in edge.source == first ? .follow : edge.rule }
    let followed = try source.clone([item], into: other, options)
    #expect(try other.names(followed.root, "tags").count == 2 && followed.objectCount == 2)
  }
}
