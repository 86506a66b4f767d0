import Testing

@testable import KVCloneLMDB

@Suite struct PageNumberSetTests {
  @Test(arguments: 1...8 as ClosedRange<UInt64>) func itHasTheNumbersOfASet(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var numbers = PageNumberSet()
    var expected: Set<UInt64> = []
    // Neighbours, or numbers that differ only in their high bits.
    let shift: UInt64 = seed.isMultiple(of: 2) ? 0 : 34
    for step in 0..<5_000 {
      let number = generator.next() % 3_000 << shift
      switch step % 1_500 {
      case 700:
        numbers.replace(with: [number, 0, 1 << shift])
        expected = Set([number, 1 << shift]).subtracting([0])
      case 1_499:
        numbers.removeAll()
        expected.removeAll()
      default:
        if generator.next() % 3 != 0 {
          numbers.insert(number)
          if number != 0 { expected.insert(number) }
        }
      }
      #expect(numbers.contains(number) == expected.contains(number), "seed \(seed), step \(step)")
    }
    #expect(!expected.isEmpty, "seed \(seed)")
    for number in (0..<3_000 as Range<UInt64>).map({ $0 << shift }) {
      #expect(numbers.contains(number) == expected.contains(number), "seed \(seed), number \(number)")
    }
  }
}
