import KVClone
import KVCloneModel
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

@Suite("Damaged lists")
struct ChunkListDamageTests {
  /// Runs every operation on the list; each must end in a result or in `corrupted`.
  private func exercise(_ fixture: ListFixture, _ head: ListHead, isOrdered: Bool, _ ids: [ObjectID]) throws {
    let list = fixture.list
    func attempt(_ body: (inout StorageTransaction, inout ListHead) throws -> Void) throws {
      var storage = try fixture.write()
      var head = head
      do {
        try body(&storage, &head)
      } catch let error as StoreError {
        #expect(error.kind == .corrupted)
      }
    }
    try attempt { storage, _ in _ = try storage.members(list) }
    let probes = [ids[0], ids[ids.count / 2], ids[ids.count - 1], ObjectID(rootCode: 2, serial: 1)]
    for id in probes {
      if isOrdered {
        try attempt { storage, head in _ = try storage.place(list, of: id, head: head) }
        try attempt { storage, head in _ = try storage.removeOrdered(list, id, head: &head) }
      } else {
        try attempt { storage, _ in _ = try storage.removeUnordered(list, id) }
        try attempt { storage, _ in _ = try storage.insertUnordered(list, id) }
      }
    }
    guard isOrdered else { return }
    let new = ObjectID(rootCode: 2, serial: 2)
    for index in [0, ids.count / 2, ids.count - 1, ids.count] {
      try attempt { storage, head in try storage.insertOrdered(list, new, at: index, head: &head) }
    }
  }

  @Test(arguments: [(false, 300), (true, 300), (true, 1500), (true, 5000)])
  func flippedBytesAreFound(isOrdered: Bool, count: Int) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let ids = sampleIDs(count)
    for round in 0..<24 {
      let fixture = try ListFixture()
      var head = ListHead(count: count, isChunked: true)
      var storage = try fixture.write()
      if isOrdered {
        try storage.writeOrdered(fixture.list, ids, head: &head)
      } else {
        try storage.writeUnordered(fixture.list, ids)
      }
      try storage.commit()
      fixture.engine.tamper(fixture.list.links) { entries in
        let mine = entries.indices.filter { entries[$0].key.starts(with: fixture.list.key(.chunk, 0).array.prefix(10)) }
        let victim = mine[random.below(mine.count)]
        switch round % 4 {
        case 0: entries.remove(at: victim)
        case 1: entries[victim].value.removeLast()
        case 2: entries[victim].value = []
        default: entries[victim].value[random.below(entries[victim].value.count)] ^= 1 << UInt8(random.below(8))
        }
      }
      let reading = try fixture.read()
      #expect(try reading.checkList(fixture.list, head: head, isOrdered: isOrdered) != [], "seed \(seed)")
      try exercise(fixture, head, isOrdered: isOrdered, ids)
    }
  }

  @Test func wrongHeadsAreReported() throws {
    let fixture = try ListFixture()
    var head = ListHead(count: 0, isChunked: true)
    var storage = try fixture.write()
    try storage.writeOrdered(fixture.list, sampleIDs(5000), head: &head)
    try storage.commit()
    let reading = try fixture.read()
    for wrong in [
      ListHead(count: 4999, isChunked: true, hasMemberIndex: true, hasDirectory: true),
      ListHead(count: 5000, isChunked: true), ListHead(count: 5),
      ListHead(count: 5000, isChunked: true, hasMemberIndex: true),
    ] {
      #expect(try reading.checkList(fixture.list, head: wrong, isOrdered: true) != [])
    }
    #expect(try reading.checkList(fixture.list, head: head, isOrdered: true) == [])
  }

  @Test func failuresLeaveTheCommittedStateAlone() throws {
    let fixture = try ListFixture()
    let before = fixture.engine.entries(fixture.list.links)
    for limit in 0..<20 {
      fixture.engine.failChanges(after: limit)
      var storage = try fixture.write()
      var head = ListHead(count: 0, isChunked: true)
      do throws(StoreError) {
        try storage.writeOrdered(fixture.list, sampleIDs(5000), head: &head)
        Issue.record("the disk was full")
      } catch {
        #expect(error.kind == .diskFull)
      }
    }
    fixture.engine.failChanges(after: nil)
    #expect(fixture.engine.entries(fixture.list.links) == before)
  }
}
