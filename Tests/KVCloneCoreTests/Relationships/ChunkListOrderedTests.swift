import KVClone
import KVCloneModel
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

@Suite("Ordered lists")
struct OrderedListTests {
  /// An ordered list, and the array with its expected content.
  struct Pair: ~Copyable {
    var storage: StorageTransaction
    let list: ListAddress
    var head: ListHead
    var model: [ObjectID]

    init(_ fixture: ListFixture, _ ids: [ObjectID]) throws {
      var head = ListHead(count: 0, isChunked: true)
      var storage = try fixture.write()
      try storage.writeOrdered(fixture.list, ids, head: &head)
      self.storage = storage
      list = fixture.list
      self.head = head
      model = ids
    }

    mutating func insert(_ id: ObjectID, at index: Int?) throws {
      try storage.insertOrdered(list, id, at: index, head: &head)
      model.insert(id, at: index ?? model.count)
    }

    mutating func remove(_ id: ObjectID) throws -> Bool {
      model.removeAll { $0 == id }
      return try storage.removeOrdered(list, id, head: &head)
    }

    func problems() throws -> [String] {
      var problems = try storage.checkList(list, head: head, isOrdered: true)
      if head.count != model.count { problems.append("count") }
      return problems
    }
  }

  @Test(arguments: [0, 1, 16, 128, 129, 1024, 1025, 4096, 4097, 20_000])
  func writesAndReadsFreshLists(count: Int) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let fixture = try ListFixture()
    let ids = sampleIDs(count).shuffled(using: &random)
    let pair = try Pair(fixture, ids)
    #expect(try pair.problems() == [], "seed \(seed)")
    #expect(try pair.storage.members(pair.list) == ids)
    #expect(pair.head.hasMemberIndex == (count > 1024))
    #expect(pair.head.hasDirectory == (count > 4096))
    for index in stride(from: 0, to: count, by: max(1, count / 300)) {
      let place = try #require(try pair.storage.place(pair.list, of: ids[index], head: pair.head))
      #expect(place.chunk.ids[place.offset] == ids[index])
      #expect(try pair.storage.containsOrdered(pair.list, ids[index], head: pair.head))
    }
    let absent = ObjectID(rootCode: 2, serial: 11)
    #expect(try !pair.storage.containsOrdered(pair.list, absent, head: pair.head))
    let isAbsent = try pair.storage.place(pair.list, of: absent, head: pair.head) == nil
    #expect(isAbsent)
  }

  @Test(arguments: [1, 16, 127, 128, 129, 256, 1020])
  func randomChangesEqualAnArray(count: Int) throws {
    try change(count, steps: 600, checkEvery: 1)
  }

  @Test(arguments: [1024, 4096, 20_000])
  func randomChangesOfLongListsEqualAnArray(count: Int) throws {
    try change(count, steps: 1500, checkEvery: 250)
  }

  private func change(_ count: Int, steps: Int, checkEvery: Int) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let fixture = try ListFixture()
    var pair = try Pair(fixture, sampleIDs(count).shuffled(using: &random))
    var nextSerial: UInt64 = 1_000_000
    for step in 0..<steps {
      // Runs at one position, which fill and split chunks, between changes anywhere.
      let spot = (step / 100).isMultiple(of: 2) ? pair.model.count / 2 : random.below(pair.model.count + 1)
      switch random.below(pair.model.count > 2 * count + 20 ? 9 : 6) {
      case 0...2:
        nextSerial += 1
        let id = ObjectID(rootCode: 2, serial: nextSerial)
        try pair.insert(id, at: [0, spot, spot, pair.model.count, nil][random.below(5)])
      case 3 where !pair.model.isEmpty:
        let from = random.below(pair.model.count)
        let to = random.below(pair.model.count)
        let id = pair.model[from]
        #expect(try pair.remove(id), "seed \(seed)")
        try pair.insert(id, at: to)
      case _ where !pair.model.isEmpty:
        let id = pair.model[min(spot, pair.model.count - 1)]
        #expect(try pair.remove(id), "seed \(seed)")
        #expect(try !pair.remove(id), "seed \(seed)")
      default: break
      }
      if step.isMultiple(of: checkEvery) { try #require(try pair.problems() == [], "seed \(seed), step \(step)") }
      if let id = pair.model.randomElement(using: &random) {
        let place = try #require(try pair.storage.place(pair.list, of: id, head: pair.head), "seed \(seed)")
        try #require(place.chunk.ids[place.offset] == id, "seed \(seed), step \(step)")
      }
    }
    #expect(try pair.storage.members(pair.list) == pair.model, "seed \(seed)")
    #expect(try pair.problems() == [], "seed \(seed)")
  }

  @Test func dropsIndexesOfAListThatShrinks() throws {
    let fixture = try ListFixture()
    var random = SeededGenerator(seed: 4)
    var pair = try Pair(fixture, sampleIDs(4200))
    while !pair.model.isEmpty {
      let id = pair.model[random.below(pair.model.count)]
      #expect(try pair.remove(id))
      if pair.model.count.isMultiple(of: 100) || pair.model.count < 10 { try #require(try pair.problems() == []) }
      if pair.model.count == 2100 { #expect(pair.head.hasDirectory) }
      if pair.model.count == 2047 { #expect(!pair.head.hasDirectory && pair.head.hasMemberIndex) }
      if pair.model.count == 511 { #expect(!pair.head.hasMemberIndex) }
    }
    #expect(pair.head == ListHead(count: 0, isChunked: true))
    let storage = pair.storage
    try storage.commit()
    #expect(fixture.engine.entries(fixture.list.links).count == 4)
  }

  @Test(arguments: [0.0, 0.5, 1.0])
  func insertsAtOnePlaceNeverRunOutOfLabels(place: Double) throws {
    let fixture = try ListFixture()
    var pair = try Pair(fixture, sampleIDs(1000))
    let index = Int(place * 1000)
    for serial in 0..<6000 {
      try pair.insert(ObjectID(rootCode: 2, serial: 1_000_000 + UInt64(serial)), at: place == 1 ? nil : index)
    }
    #expect(try pair.problems() == [])
    #expect(try pair.storage.members(pair.list) == pair.model)
    let storage = pair.storage
    try storage.commit()
    // At the ends, chunks stay full; in the middle, at least half full.
    #expect(fixture.entryCount(.chunk) <= (place == 0.5 ? 120 : 57))
  }

  /// Labels at the very ends of their range, which no list reaches by growing one by one.
  @Test(arguments: [[1, .max], [0, 1], [.max - 1, .max], [5, 6]] as [[UInt64]])
  func findsLabelsWhereNoneAreLeft(labels: [UInt64]) throws {
    for index in [0, 64, 128, 192, 256] {
      let fixture = try ListFixture()
      let ids = sampleIDs(256)
      var storage = try fixture.write()
      try storage.store(fixture.list, LoadedChunk(position: labels[0], ids: Array(ids[..<128])))
      try storage.store(fixture.list, LoadedChunk(position: labels[1], ids: Array(ids[128...])))
      var head = ListHead(count: 256, isChunked: true)
      let id = ObjectID(rootCode: 2, serial: 1)
      try storage.insertOrdered(fixture.list, id, at: index, head: &head)
      var expected = ids
      expected.insert(id, at: index)
      #expect(try storage.members(fixture.list) == expected)
      #expect(try storage.checkList(fixture.list, head: head, isOrdered: true) == [])
    }
  }

  @Test func refusesPositionsOutside() throws {
    let fixture = try ListFixture()
    var pair = try Pair(fixture, sampleIDs(200))
    let id = ObjectID(rootCode: 2, serial: 1)
    for index in [-1, 201] {
      do {
        try pair.insert(id, at: index)
        Issue.record("position \(index) was taken")
      } catch let error as StoreError {
        #expect(error.kind == .invalidIndex)
      }
    }
    #expect(try pair.problems() == [])
  }
}
