import Foundation
import KVCloneCore
import KVCloneLMDB
import KVCloneMerge
import KVCloneModel
import KVCloneTestSupport
import Testing

/// The containers of merges that may exceed memory, against those of the standard library.
@Suite("Memory of merges") struct ScratchMapTests {
  private let space = ScratchSpace(directory: FileManager.default.temporaryDirectory.path)

  @Test("M8: a map has the last value of each key") func m8Map() throws {
    for seed in PropertySeeds.seeds {
      var random = SeededGenerator(seed: seed)
      let map = ScratchMap<UInt64, UInt64>(in: space)
      var expected: [UInt64: UInt64] = [:]
      // The map moves to a file at 1 MiB.
      for _ in 0..<100_000 {
        let (key, value) = (random.next() % 80_000, random.next())
        #expect(map[key] == expected[key], "seed \(seed)")
        try map.set(key, to: value)
        expected[key] = value
      }
      #expect(map.count == expected.count, "seed \(seed)")
      #expect(expected.allSatisfy { map[$0.key] == $0.value }, "seed \(seed)")
    }
  }

  @Test("M8: a map of properties names their objects") func m8Properties() throws {
    for seed in PropertySeeds.seeds {
      var random = SeededGenerator(seed: seed)
      let map = PropertyMap<Int>(in: space)
      var expected: [PropertyPlace: Int] = [:]
      for number in 0..<1_000 {
        let owner = ObjectID(rootCode: UInt16(random.next() % 3), serial: random.next() % 50)
        let place = PropertyPlace(owner: owner, code: UInt16(random.next() % 4))
        try map.set(place, to: number)
        expected[place] = number
      }
      #expect(expected.allSatisfy { map[$0.key] == $0.value }, "seed \(seed)")
      var owners: [ObjectID] = []
      map.owners.forEach { id in
        owners.append(id)
        return true
      }
      #expect(owners == Set(expected.keys.map(\.owner)).sorted(), "seed \(seed)")
    }
  }

  @Test("M8: values are read as they were written") func m8Values() throws {
    let values: [AttributeValue?] = [
      nil, .integer(.min), .decimal(Decimal(string: "-12.5")!), .decimal(.nan), .double(-0.0), .double(.nan),
      .float(1.5), .string(""), .string("Zoë 🦊"), .boolean(true), .boolean(false),
      .date(Date(timeIntervalSinceReferenceDate: 1.25)), .binary(Data()), .binary(Data([0, 1, 255])),
      .uuid(UUID()), .uri("a:b"), .transformable(Data([7])), .composite([:]),
      .composite(["x": .integer(1), "y": .composite(["z": .string("z")])]),
      .blob(BlobReference(id: 7, byteCount: 1 << 40, isTransformable: true)),
    ]
    let records = ScratchRecords(in: space)
    var addresses: [UInt64] = []
    for value in values {
      addresses.append(records.end)
      try records.append(value)
    }
    try records.append([ObjectID(rootCode: 1, serial: 2)])
    var reader = records.reader()
    for (value, address) in zip(values, addresses) {
      var other = records.reader(at: address)
      #expect(other.value() == value)
      #expect(reader.value() == value)
    }
    #expect(reader.ids() == [ObjectID(rootCode: 1, serial: 2)] && reader.isAtEnd)
  }
}
