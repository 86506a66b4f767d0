import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneRecords

/// The bitmap of a clone set, compared with a plain set of numbers.
@Suite struct SerialSetTests {
  @Test("random inserts and removes agree with a plain set", arguments: 0..<8 as Range<UInt64>)
  func random(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let set = SerialSet()
    var model: Set<UInt64> = []
    for _ in 0..<3000 {
      // Mostly dense, sometimes blocks apart, rarely beyond all serials of real stores.
      let serial: UInt64 =
        switch Int.random(in: 0..<20, using: &generator) {
        case 0: UInt64.random(in: 0..<(1 << 48), using: &generator)
        case 1...4: UInt64.random(in: 0..<5_000_000, using: &generator)
        default: UInt64.random(in: 100_000..<101_000, using: &generator)
        }
      if Bool.random(using: &generator) || model.isEmpty {
        #expect(set.insert(serial) == model.insert(serial).inserted, "seed \(seed)")
      } else {
        #expect(set.remove(serial) == (model.remove(serial) != nil), "seed \(seed)")
      }
    }
    #expect(set.count == model.count)
    var members: [UInt64] = []
    set.forEach { serial in
      members.append(serial)
      return true
    }
    #expect(members == model.sorted(), "seed \(seed)")
    for serial in members { #expect(set.contains(serial)) }
  }

  @Test("a rank counts the members before; non-members have none")
  func ranks() {
    let members = Array(stride(from: 1 as UInt64, to: 300_000, by: 7))
    var objects = ObjectSet()
    for serial in members.reversed() { _ = objects.insert(ObjectID(rootCode: 3, serial: serial)) }
    let ids = CloneIDs(objects, first: [3: ObjectID(rootCode: 3, serial: 1_000_000)])
    for copy in 0..<3 {
      ids.select(copy: copy)
      for (index, serial) in members.enumerated() {
        let clone = ids.clone(of: ObjectID(rootCode: 3, serial: serial))
        #expect(clone?.serial == UInt64(1_000_000 + copy * members.count + index))
        #expect(clone?.rootCode == 3)
      }
    }
    for serial in [0, 2, 8 << 20, 1 << 47] as [UInt64] {
      #expect(ids.clone(of: ObjectID(rootCode: 3, serial: serial)) == nil)
    }
    for rootCode in [1, 2, 4] as [UInt16] {
      #expect(ids.clone(of: ObjectID(rootCode: rootCode, serial: 1)) == nil)
      #expect(!ids.isClone(ObjectID(rootCode: rootCode, serial: 2_000_000)))
    }
    #expect(ids.isClone(ObjectID(rootCode: 3, serial: 1_000_000)))
    #expect(!ids.isClone(ObjectID(rootCode: 3, serial: 999_999)))
  }
}
