import Foundation
import Testing

@testable import KVCloneLMDB

/// Walks over a file's pages, as in checks and backups, request the pages that follow.
@Suite struct FileReadAheadTests {
  @Test(arguments: [false, true]) func walkRequestsEachPageOnce(readsValues: Bool) throws {
    let bench = try ReadAheadBench()
    let file = try PageFile(pinning: bench.environment)
    #expect(try file.walk(readsValues: readsValues).findings == [])
    try expectTrees(bench, valuePages: readsValues ? 5 : 1)
  }

  /// After the walk of a file that exceeds memory, its pages have to be read again.
  @Test func scanRequestsTheLeavesThatFollow() throws {
    let bench = try ReadAheadBench()
    let file = try PageFile(pinning: bench.environment)
    let reader = try PageReader(file, try file.walk())
    let table = try #require(reader.map.tables.firstIndex { $0.name == "small" })
    _ = bench.log.take()
    var count = 0
    try reader.scan(table, from: UnsafeRawBufferPointer(start: nil, count: 0)) { _ in
      count += 1
      return true
    }
    #expect(count == Int(ReadAheadBench.entryCount))
    let requested = bench.log.takeRuns().flatMap { Array($0) }
    #expect(Set(requested).count == requested.count && Set(requested).isSubset(of: bench.leaves[0]))
    #expect(requested.count >= bench.leaves[0].count - 8)
    count = 0
    try reader.scan(table, from: UnsafeRawBufferPointer(start: nil, count: 0)) { _ in
      count += 1
      return count < 100
    }
    #expect(bench.log.take() == [])
  }

  @Test func copyRequestsEachPageOnce() throws {
    let bench = try ReadAheadBench()
    let file = try PageFile(pinning: bench.environment)
    let target = bench.store.root + "/copy"
    _ = FileManager.default.createFile(atPath: target, contents: nil)
    let handle = try #require(FileHandle(forUpdatingAtPath: target))
    defer { try? handle.close() }
    _ = try PageCopy(file, try #require(file.meta), to: handle.fileDescriptor).run()
    try expectTrees(bench, valuePages: 5)
  }

  /// All pages below the roots. A tree of a single leaf has none.
  private func expectTrees(_ bench: ReadAheadBench, valuePages: UInt64) throws {
    let runs = bench.log.takeRuns()
    let requested = runs.flatMap { Array($0) }
    let values = bench.overflows.flatMap { Array($0..<$0 + valuePages) }
    let all = bench.leaves[0].union(bench.leaves[1]).union(bench.branches[0]).union(bench.branches[1]).union(values)
    #expect(Set(requested).count == requested.count)
    #expect(Set(requested).isSubset(of: all.union(try otherPages(bench))))
    #expect(all.subtracting(requested).count == 2)
    #expect(runs.allSatisfy { $0.count <= 32 })
  }

  /// The list of tables and the free list.
  private func otherPages(_ bench: ReadAheadBench) throws -> Set<UInt64> {
    let meta = try #require(try PageFile(pinning: bench.environment).meta)
    let named = bench.leaves[0].union(bench.leaves[1]).union(bench.branches[0]).union(bench.branches[1])
    return Set(0...meta.lastPage).subtracting(named).subtracting(bench.overflows.flatMap { Array($0..<$0 + 5) })
  }
}
