import Testing

@testable import KVCloneLMDB

@Suite struct PageNumberSetTests {
  @Test(arguments: 1...8 as ClosedRange<UInt64>) func itHasTheNumbersOfASet(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var numbers = PageNumberSet()
    var expected: Set<UInt64> = []
    // Neighbours, and numbers that differ only in their high bits.
    let range: UInt64 = seed.isMultiple(of: 2) ? 3_000 : 1 << 40
    for step in 0..<5_000 {
      let number = generator.next() % range
      if step % 1_500 == 1_499 {
        numbers.removeAll()
        expected.removeAll()
      } else if number % 3 != 0 {
        numbers.insert(number)
        if number != 0 { expected.insert(number) }
      }
      #expect(numbers.contains(number) == expected.contains(number), "seed \(seed), step \(step)")
    }
    #expect((0..<3_000).allSatisfy { numbers.contains($0) == expected.contains($0) }, "seed \(seed)")
    #expect(expected.allSatisfy(numbers.contains), "seed \(seed)")
  }
}
