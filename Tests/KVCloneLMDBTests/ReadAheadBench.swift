import Foundation
import Synchronization
import Testing

@testable import KVCloneLMDB

/// The requests to the disk, and the simulated content of the page cache.
final class RequestLog: Sendable {
  private let requested = Mutex<[Range<UInt64>]>([])
  private let lookups = Mutex(0)
  private let isCold: Atomic<Bool>

  init(isCold: Bool = true) { self.isCold = Atomic(isCold) }

  var hooks: ReadAheadHooks {
    ReadAheadHooks(
      isResident: { _ in
        self.lookups.withLock { $0 += 1 }
        return !self.isCold.load(ordering: .relaxed)
      },
      request: { range in self.requested.withLock { $0.append(range) } })
  }

  var options: LMDBOptions {
    var options = LMDBOptions()
    options.readAheadHooks = hooks
    return options
  }

  func setCold(_ cold: Bool) { isCold.store(cold, ordering: .relaxed) }

  /// The requests since the last call.
  func takeRuns() -> [Range<UInt64>] {
    requested.withLock { requested in
      defer { requested = [] }
      return requested
    }
  }

  /// The pages of the requests since the last call.
  func take() -> Set<UInt64> { Set(takeRuns().joined()) }

  func takeLookups() -> Int {
    lookups.withLock { lookups in
      defer { lookups = 0 }
      return lookups
    }
  }
}

/// A store with a table of three levels, and one of large values, with overflow pages between the leaves of the first.
final class ReadAheadBench {
  let store: TemporaryStore
  let log: RequestLog
  private(set) var environment: LMDBEnvironment
  private(set) var tables: [LMDBTable] = []
  static let entryCount: UInt64 = 20_000
  /// The pages of the file by kind; overflow pages by their first one.
  private(set) var leaves: [Set<UInt64>] = []
  private(set) var branches: [Set<UInt64>] = []
  private(set) var overflows: Set<UInt64> = []

  init(isCold: Bool = true) throws {
    store = try TemporaryStore()
    log = RequestLog(isCold: isCold)
    environment = try store.create(["small", "large"])
    let made = try ["small", "large"].map { try environment.table(named: $0) }
    for round in 0..<4 as Range<UInt64> {
      var writer = try environment.beginWrite()
      let count = Self.entryCount / 4
      for number in round * count..<(round + 1) * count {
        try writer.put(made[0], Self.key(number).span.bytes, [UInt8](repeating: 1, count: 150).span.bytes)
        guard number % 100 == 0 else { continue }
        try writer.put(made[1], Self.key(number).span.bytes, [UInt8](repeating: 2, count: 20_000).span.bytes)
      }
      try writer.commit()
    }
    environment.close()
    environment = try store.open(log.options)
    tables = try environment.openTables(["small", "large"], create: false)
    for table in tables { try findPages(table) }
    log.setCold(isCold)
    _ = (log.take(), log.takeLookups())
  }

  deinit { environment.close() }

  static func key(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

  private func findPages(_ table: LMDBTable) throws {
    let reader = try MapTestReader(environment)
    log.setCold(false)
    _ = reader.entries(table, limit: 1)
    let tree = try #require(reader.transaction.map.tree(table.dbi, isScan: true))
    var (leaves, branches): (Set<UInt64>, Set<UInt64>) = ([], [])
    var next: [(page: UInt64, level: Int32)] = [(tree.root, 1)]
    while let (number, level) = next.popLast() {
      let page = try #require(reader.transaction.map.page(number))
      if level < tree.depth {
        branches.insert(number)
        next += (0..<page.count).map { (page.child($0), level + 1) }
      } else {
        leaves.insert(number)
        for index in 0..<page.count { if let value = page.checkedOverflow(index) { overflows.insert(value.first) } }
      }
    }
    self.leaves.append(leaves)
    self.branches.append(branches)
  }

  /// The leaves of the entries in a range, at LMDB's addresses.
  func leaves(_ table: Int, _ numbers: Range<UInt64>) throws -> [UInt64] {
    let reader = try MapTestReader(environment)
    var found: [UInt64] = []
    let start = try #require(environment.core.mappedStart())
    try reader.transaction.scan(tables[table], from: Self.key(numbers.lowerBound).span.bytes) { key, _ in
      let number = key.withUnsafeBytes { UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) }
      guard number < numbers.upperBound else { return false }
      let page = key.withUnsafeBytes { UInt64(($0.baseAddress.unsafelyUnwrapped - start) / 4096) }
      if found.last != page { found.append(page) }
      return true
    }
    return found
  }

  /// Scans as a fetch does; returns the number of entries before the end.
  ///
  /// - Parameter isExact: whether the scan begins at the first key, or at a missing key before it.
  @discardableResult
  func scan(
    _ table: Int, _ numbers: Range<UInt64>, isBounded: Bool = true, isExact: Bool = true, _ reader: MapTestReader
  ) -> Int {
    let low = isExact ? Self.key(numbers.lowerBound) : Self.key(max(numbers.lowerBound, 1) - 1) + [255]
    let high = Self.key(numbers.upperBound)
    return low.withUnsafeBytes { low in
      high.withUnsafeBytes { high in
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        var scan = reader.transaction.map.scan(tables[table].dbi, from: low, before: isBounded ? high : none)
        var count = 0
        while scan.next(), !scan.entry.key.lexicographicallyPrecedes(low),
          scan.entry.key.lexicographicallyPrecedes(high)
        {
          count += 1
        }
        return count
      }
    }
  }
}
