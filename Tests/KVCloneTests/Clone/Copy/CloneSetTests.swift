import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone

/// Both forms of the clone set, compared with a set of ids.
@Suite("The objects of a clone")
struct CloneSetTests {
  @Test("random objects: few, many, and from one to the other", arguments: [0, 1, 50, 700, CloneSet.smallLimit])
  func random(_ limit: Int) {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    for count in [1, 7, 51, 128, 129, 999, 1_000, 1_001, 1_500] {
      var set = CloneSet(smallLimit: limit)
      var (members, visited): (Set<ObjectID>, Set<ObjectID>) = ([], [])
      while members.count < count {
        let root = UInt16(1 + random.below(4))
        // Mostly close ids, some distant ones.
        let serial = random.below(10) == 0 ? random.next() & 0x3FFF_FFFF : UInt64(random.below(2 * count))
        let id = ObjectID(rootCode: root, serial: serial)
        #expect(set.contains(id) == members.contains(id), "seed \(seed)")
        #expect(set.insert(id) == members.insert(id).inserted, "seed \(seed)")
        if random.below(3) == 0 { #expect(set.visit(id) == visited.insert(id).inserted, "seed \(seed)") }
      }
      #expect(set.isSmall == (count <= limit) && set.count == count, "seed \(seed), \(count)")
      for id in members { #expect(set.visit(id) == visited.insert(id).inserted, "seed \(seed)") }
      set.finish()
      check(set, members.sorted(), seed)
    }
  }

  private func check(_ set: CloneSet, _ members: [ObjectID], _ seed: UInt64) {
    var found: [ObjectID] = []
    set.forEach { id in
      found.append(id)
      return true
    }
    #expect(found == members, "seed \(seed)")
    let codes = Set(members.map(\.rootCode)).sorted()
    #expect(set.roots.map(\.rootCode) == codes, "seed \(seed)")
    var first: [UInt16: ObjectID] = [:]
    for code in codes { first[code] = ObjectID(rootCode: code, serial: 1 << 40 + UInt64(code)) }
    let ids = CloneIDs(set, first: first)
    for copy in [0, 2] {
      ids.select(copy: copy)
      for code in codes {
        let mine = members.filter { $0.rootCode == code }
        #expect(set.set(rootCode: code)?.count == mine.count, "seed \(seed)")
        for (rank, id) in mine.enumerated() {
          let wanted = (1 << 40) + UInt64(code) + UInt64(copy * mine.count + rank)
          #expect(ids.clone(of: id)?.serial == wanted, "seed \(seed)")
          let second = (1 << 40) + UInt64(code) + UInt64(mine.count + rank)
          #expect(ids.clone(of: id, copy: 1)?.serial == second, "seed \(seed)")
          #expect(set.set(rootCode: code)?.next(from: id.serial) == id.serial, "seed \(seed)")
          let next = rank + 1 < mine.count ? mine[rank + 1].serial : nil
          #expect(set.set(rootCode: code)?.next(from: id.serial + 1) == next, "seed \(seed)")
        }
      }
    }
    for id in [ObjectID(rawValue: 0), ObjectID(rawValue: .max), ObjectID(rootCode: 9, serial: 1)] {
      #expect(!set.contains(id) && ids.clone(of: id) == nil && !ids.isClone(id))
    }
  }

  @Test("counters of the metadata are stored as any other value, under the same keys")
  func counters() throws {
    for code in [0, 1, 9, 0xABCD, .max] as [UInt16] {
      #expect(MetadataKey.serialKey(rootCode: code).array == MetadataKey.bytes(MetadataKey.serial(rootCode: code)))
    }
    #expect(MetadataKey.commitKey.array == MetadataKey.bytes(MetadataKey.commitCounter))
    for name in ["", "a", "serial-0001", "123456789012345678901234", "schlüssel"] {
      #expect(MetadataKey.short(name)?.array == MetadataKey.bytes(name))
    }
    #expect(MetadataKey.short("1234567890123456789012345") == nil)
    for value in [0, 1, 0x0102_0304_0506_0708, UInt64(Int64.max)] {
      var stored: [UInt8] = []
      CounterValue(value).withStored(seed: 77) { stored = $0.withUnsafeBytes { Array($0) } }
      #expect(stored == CounterValue(value).encoded(seed: 77))
    }
  }
}
