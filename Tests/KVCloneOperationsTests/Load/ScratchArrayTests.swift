import Foundation
import KVClone
import KVCloneLMDB
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneOperations

@Suite("Scratch space")
final class ScratchArrayTests {
  let directory: String
  let space: ScratchSpace

  init() throws {
    directory = try temporaryDirectory()
    space = ScratchSpace(directory: self.directory)
  }

  deinit { try? FileManager.default.removeItem(atPath: directory) }

  @Test("an array keeps its elements as it outgrows memory, and leaves no file behind")
  func grows() throws {
    let array = ScratchArray<UInt64>(in: space)
    // The array moves to a file at 1 MiB.
    let count = 300_000
    for number in 0..<count { try array.append(UInt64(number) &* 0x9E37_79B9_7F4A_7C15) }
    #expect(array.count == count)
    #expect(array.indices.allSatisfy { array[$0] == UInt64($0) &* 0x9E37_79B9_7F4A_7C15 })
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
    array[7] = 7
    #expect(array[6] == 6 &* 0x9E37_79B9_7F4A_7C15 && array[7] == 7)
    array.removeAll()
    #expect(array.isEmpty)
    try array.append(9)
    #expect(array[0] == 9)
  }

  @Test("deallocated regions are reused for new content")
  func reuses() throws {
    let first = try space.allocate(3 << 20)
    #expect(first.byteCount == 4 << 20)
    let start = unsafe first.start
    space.deallocate(first)
    let second = try space.allocate(4 << 20)
    #expect(unsafe second.start == start)
    let third = try space.allocate(4 << 20)
    #expect(unsafe third.start != start)
    let array = try ScratchArray<UInt32>(repeating: 5, count: 2 << 20, in: space)
    #expect(array.count == 2 << 20 && array[0] == 5 && array[(2 << 20) - 1] == 5)
  }

  @Test("words are sorted", arguments: [0, 1, 2, 1000])
  func sorts(count: Int) throws {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    for mask in [~0, 0xFF00_0000_FF00_0000, 0xF, 0] as [UInt64] {
      let expected = (0..<count).map { _ in random.next() & mask }
      let array = ScratchArray<UInt64>(in: space)
      for word in expected { try array.append(word) }
      try array.sort()
      #expect(array.indices.map { array[$0] } == expected.sorted(), "seed \(seed)")
      let other = ScratchArray<UInt64>(in: space)
      for word in expected.sorted() { try other.append(word) }
      #expect(array.isEqual(to: other))
      guard count > 0 else { continue }
      other[count / 2] ^= 1
      #expect(!array.isEqual(to: other))
    }
  }

  @Test("words are sorted even if they exceed memory")
  func sortsMany() throws {
    let array = ScratchArray<UInt64>(in: space)
    for number in 0..<140_000 { try array.append(UInt64(number) &* 0x9E37_79B9 & 0xFF_FFFF) }
    let expected = array.indices.map { array[$0] }.sorted()
    try array.sort()
    #expect(array.indices.map { array[$0] } == expected)
  }

  @Test("without a folder for its file, large room is an error, and small is not")
  func noFolder() throws {
    let space = ScratchSpace(directory: self.directory + "/missing")
    let array = ScratchArray<UInt8>(in: space)
    for _ in 0..<1000 { try array.append(1) }
    expectError(.io) { try array.reserve(2 << 20) }
    #expect(array.count == 1000 && array[999] == 1)
  }

  @Test("a load's ids are numbered as a dictionary would")
  func labels() throws {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    let labels = LoadLabels(in: space)
    var expected: [String: UInt32] = [:]
    for step in 1...20_000 {
      // Dense ids, distant ids, and ids of stored objects, with equal serials in each.
      let serial = random.chance(in: 4) ? random.next() >> 16 : UInt64(random.below(4000))
      let entity = UInt16(random.below(3))
      let isStored = random.chance(in: 5)
      let id = ObjectID(rootCode: entity + 1, serial: serial)
      let number =
        try isStored
        ? labels.number(stored: id, line: step) : labels.number(entity: entity, serial: serial, line: step)
      let key = isStored ? "@\(id)" : "\(entity)/\(serial)"
      try #require(number == expected[key] ?? UInt32(expected.count), "seed \(seed), step \(step)")
      if expected.updateValue(number, forKey: key) == nil {
        #expect(labels.isStored(number) == isStored && labels.isDefined(number) == isStored)
        #expect(labels.lines[Int(number)] == UInt32(step))
      }
    }
    #expect(labels.count == expected.count)
    let number = try labels.number(entity: 2, serial: 1, line: 30_000)
    try labels.define(number, as: ObjectID(rootCode: 9, serial: 70_000), line: 30_001)
    #expect(labels.isDefined(number) && labels.ids[Int(number)] == ObjectID(rootCode: 9, serial: 70_000))
    #expect(labels.lines[Int(number)] == 30_001)
  }
}
