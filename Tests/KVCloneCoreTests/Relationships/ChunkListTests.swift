import KVClone
import KVCloneModel
import KVCloneOperations
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

/// A store's `links` table in memory, with lists of two other objects around the list under test.
struct ListFixture {
  let engine = MemoryStorage()
  let list: ListAddress

  init() throws {
    let links = try engine.openTables([.links], create: true)[0]
    list = ListAddress(links: links, owner: ObjectID(rootCode: 3, serial: 7), relationship: 12)
    var storage = try write()
    for (owner, code) in [(6, 12), (7, 11), (7, 13), (8, 12)] as [(UInt64, UInt16)] {
      let other = ListAddress(links: links, owner: ObjectID(rootCode: 3, serial: owner), relationship: code)
      try storage.writeUnordered(other, [ObjectID(rawValue: 1), ObjectID(rawValue: .max)])
    }
    try storage.commit()
  }

  func write() throws -> StorageTransaction {
    StorageTransaction(try engine.beginWrite(label: "test", timeout: .zero))
  }

  func read() throws -> StorageTransaction { StorageTransaction(try engine.beginRead()) }

  /// The number of the list's entries of one kind.
  func entryCount(_ kind: LinkKey.Kind) -> Int {
    engine.entries(list.links).count { entry in
      let key = try? LinkKey(entry.key.span.bytes)
      return key?.owner == list.owner && key?.relationship == list.relationship && key?.kind == kind
    }
  }
}

extension StorageTransaction {
  /// Returns the rules that a list breaks, in words.
  borrowing func checkList(_ list: ListAddress, head: ListHead?, isOrdered: Bool) throws(StoreError) -> [String] {
    try findProblems(list, head: head, isOrdered: isOrdered).map(\.message)
  }
}

/// Ids with gaps, ascending.
func sampleIDs(_ count: Int, step: UInt64 = 3) -> [ObjectID] {
  (0..<UInt64(count)).map { ObjectID(rootCode: 2, serial: 10 + $0 * step) }
}

@Suite("Unordered lists")
struct UnorderedListTests {
  @Test(arguments: [0, 1, 2, 16, 127, 128, 129, 256, 1024, 1025, 4097, 20_000])
  func writesAndReadsFreshLists(count: Int) throws {
    let fixture = try ListFixture()
    let ids = sampleIDs(count)
    var storage = try fixture.write()
    try storage.writeUnordered(fixture.list, ids)
    #expect(try storage.members(fixture.list) == ids)
    #expect(try storage.checkList(fixture.list, head: nil, isOrdered: false) == [])
    for id in ids.prefix(200) {
      #expect(try storage.containsUnordered(fixture.list, id))
      #expect(try !storage.containsUnordered(fixture.list, ObjectID(rawValue: id.rawValue + 1)))
    }
    try storage.commit()
    #expect(fixture.entryCount(.chunk) == (count + 127) / 128)
    var deleting = try fixture.write()
    try deleting.deleteList(fixture.list)
    #expect(try deleting.members(fixture.list) == [])
    try deleting.commit()
    #expect(fixture.engine.entries(fixture.list.links).count == 4)
  }

  @Test func fillsChunksOfIDsThatComeInOrder() throws {
    for ids in [sampleIDs(1000), sampleIDs(1000).reversed()] {
      let fixture = try ListFixture()
      var storage = try fixture.write()
      for id in ids { #expect(try storage.insertUnordered(fixture.list, id)) }
      #expect(try storage.checkList(fixture.list, head: nil, isOrdered: false) == [])
      try storage.commit()
      #expect(fixture.entryCount(.chunk) == 8)
    }
  }

  @Test(arguments: [1, 16, 128, 129, 300, 1000])
  func randomChangesEqualASet(limit: Int) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let fixture = try ListFixture()
    var storage = try fixture.write()
    var model: Set<ObjectID> = []
    for step in 0..<1500 {
      // Waves of growing and shrinking, so that both splits and merges occur.
      let grows = (step / 400).isMultiple(of: 2)
      let id = ObjectID(rootCode: 2, serial: UInt64(random.below(limit)))
      if random.chance(in: 4) != grows {
        #expect(try storage.insertUnordered(fixture.list, id) == model.insert(id).inserted, "seed \(seed)")
      } else {
        let victim = random.chance(in: 5) ? id : model.randomElement(using: &random) ?? id
        #expect(try storage.removeUnordered(fixture.list, victim) == (model.remove(victim) != nil), "seed \(seed)")
      }
      let problems = try storage.checkList(fixture.list, head: nil, isOrdered: false)
      try #require(problems == [], "seed \(seed), step \(step)")
      #expect(try storage.containsUnordered(fixture.list, id) == model.contains(id), "seed \(seed)")
    }
    #expect(try storage.members(fixture.list) == model.sorted(), "seed \(seed)")
    for id in model { #expect(try storage.removeUnordered(fixture.list, id), "seed \(seed)") }
    try storage.commit()
    #expect(fixture.engine.entries(fixture.list.links).count == 4)
  }

  @Test func refusesASourceThatIsNotAsItsHeadSays() throws {
    let fixture = try ListFixture()
    var storage = try fixture.write()
    let descending: [ObjectID] = sampleIDs(3).reversed()
    let list = fixture.list
    #expect(throws: StoreError.self) { try storage.writeUnordered(list, descending) }
    #expect(throws: StoreError.self) { try storage.writeUnordered(list, count: 2) { () throws(StoreError) in nil } }
  }

  @Test func startsAtAPosition() throws {
    let fixture = try ListFixture()
    let ids = sampleIDs(1000)
    var storage = try fixture.write()
    try storage.writeUnordered(fixture.list, ids)
    var seen: [ObjectID] = []
    try storage.forEachChunk(fixture.list, from: ids[256].rawValue) { (chunk) throws(StoreError) in
      for index in 0..<chunk.count { seen.append(chunk[index]) }
      return seen.count < 256
    }
    #expect(seen == Array(ids[256..<512]))
  }
}
