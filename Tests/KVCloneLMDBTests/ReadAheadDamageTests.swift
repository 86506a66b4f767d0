import Foundation
import Testing

@testable import KVCloneLMDB

/// Page numbers of a corrupted file, and maps that are shorter than the requested range, cause no request.
@Suite struct ReadAheadDamageTests {
  @Test(arguments: [0, 1, 2, 0xFFFF_FFFF, 0x7FFF_FFFF_FFFF, 0xFFFF_FFFF_FFFF])
  func childrenBeyondTheFileAreNotRequested(child: Int) throws {
    try read { bytes, _, node in
      for index in 0..<3 { bytes.put16(child >> (16 * index), at: node + 2 * index) }
    }
  }

  @Test(arguments: [0, 15, 4_089, 4_096, 0xFFFF]) func nodesBeyondThePageAreNotRead(offset: Int) throws {
    try read { bytes, page, node in
      let index = (0..<2040).first {
        Int(bytes[page + 16 + 2 * $0]) | Int(bytes[page + 17 + 2 * $0]) << 8 == node - page
      }
      bytes.put16(offset, at: page + 16 + 2 * (index ?? 0))
    }
  }

  @Test func branchPagesOfAnotherKindEndTheReadAhead() throws {
    try read { bytes, page, _ in bytes.put16(PageView.leafFlag, at: page + 10) }
  }

  /// Reads a table after changing all branch pages except the root, in every way that reads ahead.
  private func read(_ change: (inout [UInt8], _ page: Int, _ node: Int) -> Void) throws {
    let bench = try ReadAheadBench()
    let (environment, table) = (bench.environment, bench.tables[0])
    let reader = try MapTestReader(environment)
    _ = reader.entries(table, limit: 1)
    let root = try #require(reader.transaction.map.tree(table.dbi, isScan: true)).root
    let pageCount = UInt64(try environment.info().lastPage) + 1
    // The map shows writes to the file at once. Only the map is read: LMDB would trust it.
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: bench.store.data)))
    for branch in bench.branches[0] where branch != root {
      let page = Int(branch) * 4096
      let count = (Int(bytes[page + 12]) | Int(bytes[page + 13]) << 8) - 16
      for place in stride(from: page + 16 + 4, to: page + 16 + count, by: 6) {
        change(&bytes, page, page + (Int(bytes[place]) | Int(bytes[place + 1]) << 8))
      }
      try bench.store.patch(at: UInt64(page), Array(bytes[page..<page + 4096]))
    }
    _ = bench.log.take()
    bench.scan(0, 0..<ReadAheadBench.entryCount, isBounded: false, reader)
    bench.scan(0, 0..<ReadAheadBench.entryCount, reader)
    for number in stride(from: 0, to: ReadAheadBench.entryCount, by: 10) {
      _ = reader.get(table, ReadAheadBench.key(number))
      ReadAheadBench.key(number).withUnsafeBytes { reader.transaction.map.requestLeaves(table.dbi, $0, stride: 8) }
    }
    #expect(bench.log.take().allSatisfy { $0 < pageCount })
  }

  @Test func nothingIsRequestedBeyondTheMap() throws {
    let log = RequestLog()
    let memory = UnsafeMutableRawPointer.allocate(byteCount: 4 * 4096, alignment: 4096)
    let hooks = log.hooks
    // Mapped pages do not retain their hooks.
    defer { withExtendedLifetime(hooks) { memory.deallocate() } }
    var pages = MappedPages(start: UnsafeRawPointer(memory), pageLimit: 4, counter: nil, hooks: hooks)
    let numbers: [UInt64] = [3, 4, .max]
    #expect(numbers.map { pages.page($0) != nil } == [true, false, false])
    #expect(numbers.map { pages.isResident($0) } == [false, true, true])
    for range in [2..<5, 4..<5, 1..<UInt64.max, 3..<3, UInt64.max - 1..<UInt64.max] { pages.request(range) }
    pages.requestValue(at: 3, pageCount: 2)
    pages.requestValue(at: .max, pageCount: 2)
    pages.requestValue(at: 1, pageCount: .max)
    pages.requestValue(at: 1, pageCount: 0)
    #expect(log.take() == [])
    pages.request(1..<4)
    #expect(log.takeRuns() == [1..<4])
    pages.requestValue(at: 2, pageCount: 2)
    #expect(log.takeRuns() == [2..<4])
  }

  /// Without hooks: the kernel's real results for addresses outside of files and mappings.
  @Test func memoryThatIsNoFileIsHarmless() throws {
    let memory = UnsafeMutableRawPointer.allocate(byteCount: 4 * 4096, alignment: 4096)
    defer { memory.deallocate() }
    var pages = MappedPages(start: UnsafeRawPointer(memory), pageLimit: 1 << 34, counter: nil, hooks: nil)
    pages.request(0..<4)
    _ = pages.isResident(0)
    pages.request(1 << 33..<(1 << 33) + 32)
    _ = pages.isResident(1 << 33)
  }

  // MARK: Runs

  @Test func runsAreCoalescedAndSplit() {
    var runs: [Range<UInt64>] = []
    var run = PageRun()
    for page in [5, 6, 7, 9, 8, 20] as [UInt64] { run.add(page) { runs.append($0) } }
    run.add(21, count: 70) { runs.append($0) }
    run.finish { runs.append($0) }
    run.finish { runs.append($0) }
    #expect(runs == [5..<8, 9..<10, 8..<9, 20..<52, 52..<84, 84..<91])
  }
}
