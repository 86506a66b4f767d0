import Foundation
import KVClone
import KVCloneTestSupport
import Synchronization
import Testing

/// R35: the rules of clones from one store into another.
@Suite("Clone into another store")
struct CloneIntoTests {
  static let model = ManagedObjectModel("Library") {
    EntityDescription("Note") {
      AttributeDescription("name", .string)
      AttributeDescription("id", .uuid, userInfo: ["rebuild": "uuid"])
      AttributeDescription("created", .date, userInfo: ["rebuild": "now"])
      AttributeDescription("image", .binary)
      RelationshipDescription("items", toMany: "Item", inverse: "note", ordered: true)
      RelationshipDescription("cover", toOne: "Photo", userInfo: ["clone": "reference"])
    }
    EntityDescription("Item") {
      AttributeDescription("name", .string)
      AttributeDescription("noteID", .uuid, userInfo: ["followParent": "id", "withoutParent": "blank"])
      AttributeDescription("image", .binary)
      RelationshipDescription("note", toOne: "Note", inverse: "items")
      RelationshipDescription("tags", toMany: "Tag", inverse: "items")
      RelationshipDescription("shelf", toOne: "Shelf", inverse: "items")
      RelationshipDescription("badge", toOne: "Badge", inverse: "item", userInfo: ["clone": "reference"])
    }
    EntityDescription("Tag", unique: [["code", "name"], ["label"]]) {
      AttributeDescription("label", .string)
      AttributeDescription("code", .integer32)
      AttributeDescription("name", .string)
      RelationshipDescription("items", toMany: "Item", inverse: "tags", max: 12)
    }
    EntityDescription("Shelf", unique: [["label"]]) {
      AttributeDescription("label", .string)
      RelationshipDescription("items", toMany: "Item", inverse: "shelf", ordered: true)
    }
    EntityDescription("Badge", unique: [["label"]]) {
      AttributeDescription("label", .string)
      RelationshipDescription("item", toOne: "Item", inverse: "badge")
    }
    EntityDescription("Photo", unique: [["label"]]) { AttributeDescription("label", .string) }
  }

  let source: CloneStore
  let other: CloneStore

  init() throws {
    source = try CloneStore(Self.model)
    other = try CloneStore(Self.model.rearranged)
  }

  /// Inserts a note with `count` items.
  func note(_ count: Int) throws -> (note: ObjectID, items: [ObjectID]) {
    let note = try source.insert("Note", ["name": "n", "id": .uuid(UUID())])
    let items = try source.insertMany(count, "Item")
    try source.set(note, "items", items)
    return (note, items)
  }

  @Test("R35: a note arrives with everything that belongs to it, in a store of another layout", .tags(.r35))
  func arrives() throws {
    let (note, _) = try note(20)
    try other.insert("Note", ["name": "of before"])
    let result = try source.clone([note], into: other)
    #expect(result.counts == ["Note": 1, "Item": 20] && result.affectedObjectCount == 0)
    #expect(try other.names(result.root, "items") == (0..<20).map(String.init))
    #expect(try other.value(result.root, "onlyThere") == "new")
    let id = try other.value(result.root, "id")
    let old = try source.value(note, "id")
    #expect(id != nil && id != old)
    for item in try other.members(result.root, "items") {
      #expect(try other.value(item, "noteID") == id)
      #expect(try other.toOne(item, "note") == result.root)
    }
    #expect(try other.count("Note") == 2)
  }

  @Test("R32: count makes copies with UUIDs and followed values of their own", .tags(.r32))
  func copies() throws {
    let (note, _) = try note(3)
    let result = try source.clone([note], into: other, .with { $0.count = 3 })
    #expect(result.objectCount == 12 && result.roots.count == 3 && Set(result.roots).count == 3)
    let ids = try result.roots.map { try other.value($0, "id") }
    #expect(Set(ids).count == 3)
    for (root, id) in zip(result.roots, ids) {
      #expect(try other.names(root, "items") == ["0", "1", "2"])
      for item in try other.members(root, "items") { #expect(try other.value(item, "noteID") == id) }
    }
    try source.expectRefusal(
      .limitExceeded, [note], into: other, .with { ($0.count, $0.maxObjects) = (2, 7) }, isPlanned: true)
    try source.expectRefusal(
      .uniquenessConflict, [source.insert("Tag", ["label": "t"])], into: other, .with { $0.count = 2 })
  }

  // MARK: Outside objects

  @Test("R35: outside objects are found by the first constraint with all values, and gain the clones", .tags(.r35))
  func matched() throws {
    let tag = try source.insert("Tag", ["label": "red", "code": 1, "name": nil])
    let twice = try source.insert("Tag", ["label": "blue", "code": 2, "name": "b"])
    let item = try source.insert("Item", ["name": "i"], ["tags": [tag, twice]])
    let red = try other.insert("Tag", ["label": "red"])
    let decoy = try other.insert("Tag", ["label": "blue"])
    let blue = try other.insert("Tag", ["label": "another", "code": 2, "name": "b"])
    let old = try other.insert("Item", ["name": "old"], ["tags": [red]])
    let result = try source.clone([item], into: other)
    #expect(try other.members(result.root, "tags") == [red, blue])
    #expect(try other.members(red, "items") == [old, result.root])
    #expect(try other.members(blue, "items") == [result.root])
    #expect(try other.members(decoy, "items") == [])
    #expect(result.affectedObjectIDs == [red, blue] && result.objectCount == 1)
  }

  @Test("R35: two outside objects that are one in the destination make one link", .tags(.r35))
  func twoAreOne() throws {
    let one = try source.insert("Tag", ["label": "red"])
    let two = try source.insert("Tag", ["code": 2, "name": "b"])
    let item = try source.insert("Item", [:], ["tags": [one, two]])
    let tag = try other.insert("Tag", ["label": "red", "code": 2, "name": "b"])
    let result = try source.clone([item], into: other)
    #expect(try other.members(result.root, "tags") == [tag])
    #expect(try other.members(tag, "items") == [result.root])
  }

  @Test("R35: an outside object without a match is an error, or left empty, as the caller says", .tags(.r35))
  func unmatched() throws {
    let (red, blue) = (try source.insert("Tag", ["label": "red"]), try source.insert("Tag", ["label": "blue"]))
    let item = try source.insert("Item", [:], ["tags": [red, blue]])
    let there = try other.insert("Tag", ["label": "red"])
    try source.expectRefusal(
      .outsideObjectUnmatched, [item], into: other, entity: "Tag", property: "tags", object: "Tag/2")
    try source.expectRefusal(.outsideObjectUnmatched, [item], into: other, .with { $0.outsideObjects = .refuse })
    let matched = try source.clone([item], into: other, .with { $0.outsideObjects = .matchOrLeaveEmpty })
    #expect(try other.members(matched.root, "tags") == [there])
    let empty = try source.clone([item], into: other, .with { $0.outsideObjects = .leaveEmpty })
    #expect(try other.members(empty.root, "tags") == [] && empty.affectedObjectCount == 0)
    #expect(try other.members(there, "items") == [matched.root])
    let alone = try source.insert("Item")
    #expect(try source.clone([alone], into: other, .with { $0.outsideObjects = .refuse }).objectCount == 1)
  }

  @Test(
    "R12: an ordered list of a matched object gains clones at its end, in the order of the source's list", .tags(.r12))
  func orderedInverse() throws {
    let shelf = try source.insert("Shelf", ["label": "s"])
    let (note, items) = try note(30)
    var random = SeededGenerator(seed: 3)
    let apart = try source.insert("Item", ["name": "apart"])
    let order = (items + [apart]).shuffled(using: &random)
    try source.set(shelf, "items", order)
    let there = try other.insert("Shelf", ["label": "s"])
    let old = try other.insert("Item", ["name": "old"], ["shelf": [there]])
    let result = try source.clone([note], into: other, .with { $0.count = 2 })
    let names = try source.names(shelf, "items").filter { $0 != "apart" }
    #expect(try other.names(there, "items") == ["old"] + names + names)
    #expect(try other.members(there, "items").first == old && result.affectedObjectIDs == [there])
  }

  @Test("R35: links with one side only are matched too, and known to the hidden list", .tags(.r35))
  func oneSided() throws {
    let photo = try source.insert("Photo", ["label": "p"])
    let note = try source.insert("Note", [:], ["cover": [photo]])
    try source.expectRefusal(.outsideObjectUnmatched, [note], into: other, property: "cover")
    let there = try other.insert("Photo", ["label": "p"])
    let result = try source.clone([note], into: other)
    #expect(try other.toOne(result.root, "cover") == there && result.affectedObjectCount == 0)
    // The hidden list clears the link when its target is deleted.
    _ = try other.store.write { try $0.delete([there]) }
    #expect(try other.toOne(result.root, "cover") == nil)
    try other.expectClean()
    let both = try source.clone([note, photo], into: other)
    #expect(try other.toOne(both.roots[0], "cover") == both.roots[1])
    _ = try other.store.write { try $0.delete([both.roots[1]]) }
    try other.expectClean()
  }

  @Test("R13: a matched object's to-one inverse has to be free, and its maximum count kept", .tags(.r13))
  func limits() throws {
    let badge = try source.insert("Badge", ["label": "b"])
    let item = try source.insert("Item", ["name": "i"], ["badge": [badge]])
    let there = try other.insert("Badge", ["label": "b"])
    try source.expectRefusal(
      .inverseTaken, [item], into: other, .with { $0.count = 2 }, entity: "Badge", property: "item", object: "Badge/1")
    let result = try source.clone([item], into: other)
    #expect(try other.toOne(there, "item") == result.root && result.affectedObjectIDs == [there])
    try source.expectRefusal(.inverseTaken, [item], into: other, object: "Badge/1")
    let tag = try source.insert("Tag", ["label": "t"])
    let (note, items) = try note(5)
    try source.set(tag, "items", items)
    try other.insert("Tag", ["label": "t"])
    try source.clone([note], into: other, .with { $0.count = 2 })
    try source.expectRefusal(.maxCountExceeded, [note], into: other, entity: "Tag", property: "items", object: "Tag/1")
  }

  @Test("R14: a required relationship that would be left empty is an error", .tags(.r14))
  func required() throws {
    let model = Self.model.changing("Item") { entity in
      entity.relationships[2].isOptional = false
    }
    let source = try CloneStore(model)
    let other = try CloneStore(model)
    let shelf = try source.insert("Shelf", ["label": "s"])
    let item = try source.insert("Item", [:], ["shelf": [shelf]])
    for policy in [CloneOptions.OutsideObjects.leaveEmpty, .matchOrLeaveEmpty] {
      try source.expectRefusal(
        .requiredRelationshipExcluded, [item], into: other, .with { $0.outsideObjects = policy }, entity: "Item",
        property: "shelf", object: "Item/1")
    }
    try other.insert("Shelf", ["label": "s"])
    #expect(try source.clone([item], into: other).objectCount == 1)
  }

  @Test("R24: constraints are checked in the destination, and among the clones", .tags(.r24))
  func unique() throws {
    let tags = try ["a", "b"].map { try source.insert("Tag", ["label": .string($0)]) }
    try other.insert("Tag", ["label": "b"])
    try source.expectRefusal(
      .uniquenessConflict, tags, into: other, entity: "Tag", property: "label", object: "Tag/2")
    #expect(try source.clone([tags[0]], into: other).objectCount == 1)
    let strict = try CloneStore(Self.model.changing("Item") { $0.uniquenessConstraints = [["name"]] })
    let items = try source.insertMany(3, "Item")
    try source.store.write { try $0.set(items[2], "name", "1") }
    try source.expectRefusal(.uniquenessConflict, items, into: strict, property: "name", object: "Item/3")
    #expect(try source.clone(Array(items[...1]), into: strict).objectCount == 2)
  }

  @Test("R1: the requirements of the destination's own model are checked before anything is written", .tags(.r1))
  func validation() throws {
    let strict = try CloneStore(Self.model.changing("Item") { $0.attributes[0].maxValue = 3 })
    let (note, items) = try note(2)
    try source.store.write { try $0.set(items[1], "name", "too long") }
    let lines = try strict.lines()
    #expect(throws: CloneError.self) { try source.store.clone([note], into: strict.store) }
    #expect(try strict.lines() == lines)
    try strict.expectClean()
  }

  @Test("R29, R1: limits and cancellation leave both stores unchanged", .tags(.r29, .r1))
  func ends() async throws {
    let (note, _) = try note(4)
    try source.expectRefusal(.limitExceeded, [note], into: other, .with { $0.maxBytes = 100 })
    try source.expectRefusal(.limitExceeded, [note], into: other, .with { $0.maxDepth = 0 })
    let lines = try other.lines()
    let (mine, its) = (source.store, other.store)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await mine.clone([note], into: its)
    }
    let result = await task.result
    #expect(throws: CloneError.self) { try result.get() }
    #expect(try other.lines() == lines)
    #expect(try await mine.clone([note], into: its).objectCount == 5)
    try other.expectClean()
  }

  // MARK: The call

  @Test("R31: a key is kept in the destination; R33: clones remember the source's store", .tags(.r31))
  func keyAndProvenance() throws {
    let (note, items) = try note(2)
    let options = CloneOptions.with { ($0.idempotencyKey, $0.recordsProvenance, $0.count) = ("once", true, 2) }
    let first = try source.store.clone([note], into: other.store, options: options)
    let commit = try other.commit
    let again = try source.store.clone([note], into: other.store, options: options)
    #expect(again.isRepeated && again.roots == first.roots && !first.isRepeated)
    #expect(try other.commit == commit)
    var changed = options
    changed.outsideObjects = .leaveEmpty
    try source.expectRefusal(.idempotencyKeyReused, [note], into: other, changed, isPlanned: false)
    let mine = try source.commit
    for root in first.roots {
      let origin = try other.store.read { try $0.provenance(of: root) }
      #expect(origin?.source == note && origin?.sourceStore == source.store.uuid && origin?.sourceCommit == mine)
      #expect(origin?.cloneCommit == commit)
      let clones = try other.members(root, "items")
      let origins = try clones.map { clone in try other.store.read { try $0.provenance(of: clone)?.source } }
      #expect(origins == items)
    }
    try other.expectClean()
  }

  @Test("R30: the hook after the clones changes the destination, in the same transaction", .tags(.r30))
  func hook() throws {
    let (note, _) = try note(2)
    var options = CloneOptions()
    options.count = 2
    options.didClone = { tx, source, clone in
      let entity = try tx.name(of: clone).hasPrefix("Note") ? "note" : "item"
      try tx.set(clone, "name", .string("\(entity) from \(source.serial)"))
    }
    let result = try source.store.clone([note], into: other.store, options: options)
    for root in result.roots {
      #expect(try other.value(root, "name") == .string("note from \(note.serial)"))
      #expect(try other.names(root, "items") == ["item from 1", "item from 2"])
    }
    struct Stop: Error {}
    options.didClone = { _, _, _ in throw Stop() }
    let lines = try other.lines()
    #expect(throws: Stop.self) { try source.store.clone([note], into: other.store, options: options) }
    #expect(try other.lines() == lines)
    try other.expectClean()
  }

  @Test("R30: the progress ends with the commit of all copies", .tags(.r30))
  func progress() throws {
    let (note, _) = try note(3)
    let heard = Heard()
    _ = try source.store.clone([note], into: other.store, options: .with { ($0.count, $0.progress) = (2, heard.hear) })
    #expect(heard.all.first?.phase == .mark)
    #expect(heard.all.last == CloneProgressFacts(phase: .commit, completed: 8, total: 8))
  }
}

/// A progress phase with its numbers.
struct CloneProgressFacts: Equatable {
  let phase: OperationProgress.Phase
  let completed: Int
  let total: Int?
}

private final class Heard: Sendable {
  private let list = Mutex<[CloneProgressFacts]>([])
  var all: [CloneProgressFacts] { list.withLock { $0 } }

  @Sendable func hear(_ progress: OperationProgress) {
    list.withLock {
      $0.append(.init(phase: progress.phase, completed: progress.completed, total: progress.total))
    }
  }
}
