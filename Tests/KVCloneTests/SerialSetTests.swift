import KVCloneTestSupport
import Testing

@testable import KVClone

/// The bitmap behind a clone set, against a plain set of numbers.
@Suite struct SerialSetTests {
  @Test("random inserts and removes agree with a plain set", arguments: 0..<8 as Range<UInt64>)
  func random(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let set = SerialSet()
    var model: Set<UInt64> = []
    for _ in 0..<3000 {
      // Mostly dense, sometimes blocks apart, now and then where no store ever counts to.
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

  @Test("a rank counts the members before, and those who are no members have none")
  func ranks() {
    let set = SerialSet()
    let members = Array(stride(from: 1 as UInt64, to: 300_000, by: 7))
    for serial in members.reversed() { _ = set.insert(serial) }
    let ranks = SerialRanks(set)
    for (index, serial) in members.enumerated() { #expect(ranks.rank(of: serial) == UInt64(index)) }
    for serial in [0, 2, 8 << 20, 1 << 47] as [UInt64] { #expect(ranks.rank(of: serial) == nil) }
  }
}
