import KVCloneModel
import Testing

@testable import KVCloneRecords

/// Savepoints of sets of serials, compared with copies of plain sets.
@Suite struct SerialJournalTests {
  /// An object set and a serial set, and what they should contain.
  private struct Sets {
    var objects = ObjectSet()
    let serials = SerialSet()
    let journal = SerialJournal()
    var expected = (objects: Set<ObjectID>(), serials: Set<UInt64>())
    var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed) }

    mutating func change() {
      let root = UInt16.random(in: 1...3, using: &generator)
      let serial = UInt64.random(in: 0..<(Bool.random(using: &generator) ? 50 : 100_000), using: &generator)
      let id = ObjectID(rootCode: root, serial: serial)
      switch Int.random(in: 0..<4, using: &generator) {
      case 0:
        objects.remove(id, journal)
        expected.objects.remove(id)
      case 1:
        serials.insert(serial, journal)
        expected.serials.insert(serial)
      case 2:
        serials.remove(serial, journal)
        expected.serials.remove(serial)
      default:
        objects.insert(id, journal)
        expected.objects.insert(id)
      }
    }

    mutating func savepoint(depth: Int, changes: Int) {
      let (before, sets) = (expected, objects)
      let savepoint = journal.begin()
      for _ in 0..<changes {
        change()
        if depth < 4, Int.random(in: 0..<20, using: &generator) == 0 { self.savepoint(depth: depth + 1, changes: 10) }
      }
      if Bool.random(using: &generator) { return journal.release(savepoint) }
      // As in a transaction: the sets are those from before the savepoint.
      objects = sets
      journal.rollBack(to: savepoint)
      expected = before
    }

    var isEqual: Bool {
      var found = (objects: Set<ObjectID>(), serials: Set<UInt64>())
      objects.forEach { found.objects.insert($0).inserted }
      serials.forEach { found.serials.insert($0).inserted }
      return found.objects == expected.objects && found.serials == expected.serials
        && serials.count == expected.serials.count
    }
  }

  @Test(arguments: 0..<20 as Range<UInt64>) func nestedSavepoints(seed: UInt64) {
    var sets = Sets(seed: seed)
    for round in 0..<60 {
      for _ in 0..<5 { sets.change() }
      sets.savepoint(depth: 0, changes: 30)
      #expect(sets.isEqual, "round \(round)")
    }
    #expect(sets.journal.entryCount == 0)
  }

  /// Many changes in no order become bitmaps.
  @Test(arguments: 0..<4 as Range<UInt64>) func memoryOfALargeSavepointIsBounded(seed: UInt64) {
    var sets = Sets(seed: seed)
    for _ in 0..<3 {
      sets.savepoint(depth: 3, changes: 30_000)
      #expect(sets.isEqual)
    }
    let savepoint = sets.journal.begin()
    for _ in 0..<30_000 { sets.change() }
    #expect(sets.journal.entryCount <= 4100)
    sets.journal.release(savepoint)
    #expect(sets.isEqual && sets.journal.entryCount == 0)
  }

  @Test func consecutiveSerialsShareAnEntry() {
    let (set, journal) = (SerialSet(), SerialJournal())
    let outer = journal.begin()
    for serial in 0..<100_000 as Range<UInt64> { set.insert(serial, journal) }
    #expect(journal.entryCount == 1)
    let inner = journal.begin()
    for serial in 100_000..<200_000 as Range<UInt64> { set.insert(serial, journal) }
    #expect(journal.entryCount == 2)
    journal.rollBack(to: inner)
    #expect(set.count == 100_000 && !set.contains(100_000))
    journal.rollBack(to: outer)
    #expect(set.count == 0 && journal.entryCount == 0)
  }

  @Test func changesOutsideOfSavepointsAreNotRecorded() {
    let (set, journal) = (SerialSet(), SerialJournal())
    set.insert(7, journal)
    journal.rollBack(to: journal.begin())
    #expect(set.contains(7) && journal.entryCount == 0)
  }
}
