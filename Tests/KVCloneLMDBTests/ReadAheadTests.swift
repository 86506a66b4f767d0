import Foundation
import Testing

@testable import KVCloneLMDB

/// Reads in key order request the pages that follow, and no others.
@Suite struct ReadAheadTests {
  @Test(arguments: [0..<20_000, 3_000..<3_001, 3_000..<3_030, 517..<4_321, 19_000..<30_000] as [Range<UInt64>])
  func boundedScanRequestsTheLeavesOfItsRange(numbers: Range<UInt64>) throws {
    let bench = try ReadAheadBench()
    let leaves = try bench.leaves(0, numbers)
    let reader = try MapTestReader(bench.environment)
    #expect(bench.scan(0, numbers, reader) == min(numbers.count, Int(ReadAheadBench.entryCount - numbers.lowerBound)))
    let requested = bench.log.take()
    // The scan reads the first leaf, and detects at the second one that it continues.
    #expect(requested.intersection(bench.leaves[0]) == Set(leaves.dropFirst(2)))
    #expect(requested.isSubset(of: bench.leaves[0].union(bench.branches[0])))
  }

  @Test func fullScanRequestsEveryLeafOnce() throws {
    let bench = try ReadAheadBench()
    let reader = try MapTestReader(bench.environment)
    bench.scan(0, 0..<ReadAheadBench.entryCount, isBounded: false, reader)
    let runs = bench.log.takeRuns()
    #expect(runs.allSatisfy { $0.count <= 32 })
    let requested = runs.flatMap { Array($0) }.filter(bench.leaves[0].contains)
    #expect(requested.count == bench.leaves[0].count - 2 && Set(requested).count == requested.count)
    #expect(bench.leaves[0].count > 500 && bench.branches[0].count > 2)
  }

  /// A scan that stops early has requested only few pages more than it read.
  @Test(arguments: [10, 100, 1_000, 10_000]) func windowGrowsWithTheScan(limit: Int) throws {
    let bench = try ReadAheadBench()
    let reader = try MapTestReader(bench.environment)
    _ = reader.entries(bench.tables[0], limit: limit)
    let leavesRead = try bench.leaves(0, 0..<UInt64(limit)).count
    #expect(bench.log.take().intersection(bench.leaves[0]).count <= 3 * leavesRead + 8)
  }

  /// Batches of one table, each with a scan of its own, continue at the end of the previous one.
  @Test func scansThatContinueAnotherKeepItsWindow() throws {
    let bench = try ReadAheadBench()
    let reader = try MapTestReader(bench.environment)
    for start in stride(from: 0, to: ReadAheadBench.entryCount, by: 10) {
      bench.scan(0, start..<start + 10, isBounded: false, reader)
    }
    let requested = bench.log.takeRuns().flatMap { Array($0) }.filter(bench.leaves[0].contains)
    #expect(Set(requested).count >= bench.leaves[0].count - 6)
    #expect(requested.count < bench.leaves[0].count + bench.leaves[0].count / 10)
  }

  /// The lists of objects in order: each scan has an end, and the next one begins there.
  @Test(arguments: [10, 40, 100] as [UInt64], [true, false])
  func boundedScansThatContinueAnotherRequestWhatFollows(count: UInt64, isExact: Bool) throws {
    let bench = try ReadAheadBench()
    let reader = try MapTestReader(bench.environment)
    for start in stride(from: 0, to: ReadAheadBench.entryCount, by: Int(count)) {
      bench.scan(0, start..<start + count, isExact: isExact, reader)
    }
    let requested = bench.log.takeRuns().flatMap { Array($0) }.filter(bench.leaves[0].contains)
    #expect(Set(requested).count >= bench.leaves[0].count - 16)
    #expect(requested.count < bench.leaves[0].count + bench.leaves[0].count / 10)
  }

  @Test func boundedScansInNoOrderRequestTheirLeaves() throws {
    let bench = try ReadAheadBench()
    let reader = try MapTestReader(bench.environment)
    var generator = SeededGenerator(seed: 6)
    for _ in 0..<300 {
      let start = generator.next() % ReadAheadBench.entryCount
      let leaves = try bench.leaves(0, start..<start + 200)
      bench.scan(0, start..<start + 200, reader)
      // A few scans happen to begin near the end of the one before.
      #expect(bench.log.take().intersection(bench.leaves[0]).subtracting(leaves).count <= 8)
    }
  }

  @Test func nothingIsRequestedFromMemory() throws {
    let bench = try ReadAheadBench(isCold: false)
    let reader = try MapTestReader(bench.environment)
    bench.scan(0, 0..<ReadAheadBench.entryCount, isBounded: false, reader)
    #expect(bench.log.take() == [])
    let lookups = bench.log.takeLookups()
    #expect(lookups > 0 && lookups < bench.leaves[0].count / 8)
  }

  /// The page cache may evict pages while a scan runs.
  @Test func requestsBeginWhereMemoryEnds() throws {
    let bench = try ReadAheadBench(isCold: false)
    let reader = try MapTestReader(bench.environment)
    bench.scan(0, 0..<5_000, isBounded: false, reader)
    #expect(bench.log.take() == [])
    bench.log.setCold(true)
    bench.scan(0, 5_000..<ReadAheadBench.entryCount, isBounded: false, reader)
    let rest = try bench.leaves(0, 5_000..<ReadAheadBench.entryCount).count
    #expect(bench.log.take().intersection(bench.leaves[0]).count >= rest - 260)
  }

  // MARK: Lookups

  @Test func lookupsInOrderRequestWhatFollows() throws {
    let bench = try ReadAheadBench()
    let reader = try MapTestReader(bench.environment)
    for number in stride(from: 0, to: ReadAheadBench.entryCount, by: 3) {
      #expect(reader.get(bench.tables[0], ReadAheadBench.key(number)).code == 0)
    }
    let requested = bench.log.take()
    #expect(requested.intersection(bench.leaves[0]).count >= bench.leaves[0].count - 6)
    #expect(requested.isSubset(of: bench.leaves[0].union(bench.branches[0])))
  }

  /// Reads from memory are hardly noted; those from the disk that follow are noticed soon.
  @Test func lookupsFromMemoryAreRarelyNotedUntilItEnds() throws {
    let bench = try ReadAheadBench(isCold: false)
    let reader = try MapTestReader(bench.environment)
    func readAll() {
      for number in stride(from: 0, to: ReadAheadBench.entryCount, by: 3) {
        _ = reader.get(bench.tables[0], ReadAheadBench.key(number))
      }
    }
    for _ in 0..<4 { readAll() }
    #expect(bench.log.take() == [])
    _ = bench.log.takeLookups()
    for _ in 0..<4 { readAll() }
    #expect(bench.log.takeLookups() < 40)
    bench.log.setCold(true)
    readAll()
    #expect(bench.log.take().intersection(bench.leaves[0]).count >= bench.leaves[0].count - 260)
    readAll()
    #expect(bench.log.take().intersection(bench.leaves[0]).count >= bench.leaves[0].count - 6)
  }

  @Test func lookupsInNoOrderRequestLittle() throws {
    let bench = try ReadAheadBench()
    let reader = try MapTestReader(bench.environment)
    var generator = SeededGenerator(seed: 5)
    for _ in 0..<2_000 {
      _ = reader.get(bench.tables[0], ReadAheadBench.key(generator.next() % ReadAheadBench.entryCount))
    }
    #expect(bench.log.take().count < 200)
  }

  @Test func announcedKeysRequestTheirLeaves() throws {
    let bench = try ReadAheadBench()
    let reader = try MapTestReader(bench.environment)
    _ = reader.entries(bench.tables[0], limit: 1)
    let numbers: [UInt64] = [19_000, 12, 7_000, 7_001, 3_500, 12_345]
    let keys = numbers.flatMap(ReadAheadBench.key)
    keys.withUnsafeBytes { reader.transaction.map.requestLeaves(bench.tables[0].dbi, $0, stride: 8) }
    let leaves = try numbers.map { try #require(try bench.leaves(0, $0..<$0 + 1).first) }
    #expect(bench.log.take() == Set(leaves))
    bench.log.setCold(false)
    for _ in 0..<100 {
      keys.withUnsafeBytes { reader.transaction.map.requestLeaves(bench.tables[0].dbi, $0, stride: 8) }
    }
    #expect(bench.log.take() == [])
    #expect(bench.log.takeLookups() < 12)
  }

  // MARK: Large values

  /// A scan of the small values requests no overflow page of the large ones between them.
  @Test func valuesOfAnotherTableAreNotRequested() throws {
    let bench = try ReadAheadBench()
    let reader = try MapTestReader(bench.environment)
    bench.scan(0, 0..<ReadAheadBench.entryCount, isBounded: false, reader)
    let values = Set(bench.overflows.flatMap { Array($0..<$0 + 5) })
    #expect(!values.isEmpty && bench.log.take().isDisjoint(with: values))
  }

  @Test func lookupRequestsAllPagesOfItsValue() throws {
    let bench = try ReadAheadBench()
    let reader = try MapTestReader(bench.environment)
    _ = reader.entries(bench.tables[0], limit: 1)
    for _ in 0..<3 { _ = reader.get(bench.tables[1], ReadAheadBench.key(0)) }
    _ = bench.log.take()
    #expect(reader.get(bench.tables[1], ReadAheadBench.key(700)).value.count == 20_000)
    let first = try #require(bench.log.takeRuns().first)
    #expect(first.count == 5 && bench.overflows.contains(first.lowerBound))
    bench.log.setCold(false)
    _ = reader.get(bench.tables[1], ReadAheadBench.key(900))
    #expect(bench.log.take() == [])
  }

  @Test func valuesThatAreReadInOrderAreRequestedAhead() throws {
    let bench = try ReadAheadBench()
    let reader = try MapTestReader(bench.environment)
    for number in stride(from: 0, to: 1_000, by: 100) as StrideTo<UInt64> {
      #expect(reader.get(bench.tables[1], ReadAheadBench.key(number)).value.count == 20_000)
    }
    let requested = bench.log.takeRuns().filter { bench.overflows.contains($0.lowerBound) }
    #expect(requested.count > 20 && Set(requested).count == requested.count)
  }

  // MARK: Write transactions

  @Test func writeTransactionRequestsLeavesOfTheLastCommit() throws {
    let bench = try ReadAheadBench()
    let leaves = try bench.leaves(0, 2_000..<9_000)
    var writer = try bench.environment.beginWrite()
    let readAhead = writer.readAhead
    Self.scan(writer, readAhead, bench, 2_000..<9_000)
    var requested = bench.log.take()
    #expect(requested.intersection(bench.leaves[0]).isSubset(of: leaves))
    #expect(requested.intersection(bench.leaves[0]).count >= leaves.count - 3)
    // The committed tree stays unchanged while the transaction changes its own.
    for number in stride(from: 0, to: ReadAheadBench.entryCount, by: 50) {
      try writer.put(
        bench.tables[0], ReadAheadBench.key(number).span.bytes, [UInt8](repeating: 3, count: 80).span.bytes)
    }
    try writer.spill()
    _ = bench.log.take()
    Self.scan(writer, readAhead, bench, 9_000..<ReadAheadBench.entryCount)
    requested = bench.log.take()
    #expect(requested.isSubset(of: bench.leaves[0].union(bench.branches[0])) && requested.count > 100)
    writer.abort()
  }

  private static func scan(
    _ writer: borrowing LMDBWriteTransaction, _ readAhead: LMDBWriterReadAhead, _ bench: ReadAheadBench,
    _ numbers: Range<UInt64>
  ) {
    let pointers = writer.pointers
    let table = bench.tables[0].dbi
    ReadAheadBench.key(numbers.upperBound).withUnsafeBytes { end in
      var entry = StorageEntryPointers()
      var code: Int32 = 0
      let start = ReadAheadBench.key(numbers.lowerBound)
      let cursor = start.withUnsafeBytes { pointers.openCursor(table, from: $0, &entry, &code) }
      guard let cursor else { return }
      defer { LMDBPointerReader.close(cursor) }
      while code == 0, entry.key.lexicographicallyPrecedes(end) {
        _ = readAhead.noteScan(table, entry.key, before: end)
        code = LMDBPointerReader.step(cursor, &entry)
      }
    }
    extendLifetime(writer)
  }

  @Test func lookupsOfAWriteTransactionRequestWhatFollows() throws {
    let bench = try ReadAheadBench()
    let writer = try bench.environment.beginWrite()
    let readAhead = writer.readAhead
    for number in 0..<ReadAheadBench.entryCount { Self.read(writer, readAhead, bench, 0, number) }
    let requested = bench.log.take()
    #expect(requested.intersection(bench.leaves[0]).count >= bench.leaves[0].count - 6)
    #expect(requested.isSubset(of: bench.leaves[0].union(bench.branches[0])))
    Self.read(writer, readAhead, bench, 1, 500)
    #expect(bench.log.takeRuns().contains { bench.overflows.contains($0.lowerBound) && $0.count == 5 })
    writer.abort()
  }

  private static func read(
    _ writer: borrowing LMDBWriteTransaction, _ readAhead: LMDBWriterReadAhead, _ bench: ReadAheadBench, _ table: Int,
    _ number: UInt64
  ) {
    let pointers = writer.pointers
    ReadAheadBench.key(number).withUnsafeBytes { key in
      let found = pointers.value(bench.tables[table].dbi, key)
      readAhead.noteRead(bench.tables[table].dbi, key, found.base, byteCount: found.count)
    }
  }
}
