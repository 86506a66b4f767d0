import CKVCloneYardstick
import Foundation
import KVCloneLMDB

/// Compares the LMDB layer with the same loops in C: scans of a million records, and the begin and end of a read
/// transaction. Rounds are interleaved, so that disturbances of the machine affect both, and the thread's processor
/// time is measured, so that other programs do not count. Fails if a ratio of medians is above its limit, except in
/// quick mode, which has too few and too short rounds for a verdict.
func runLMDBBenchmark(_ arguments: [String]) throws {
  let isQuick = arguments.contains("--quick")
  let records = isQuick ? 100_000 : 1_000_000
  let rounds = isQuick ? 15 : 25
  let begins = 100_000
  let base = ProcessInfo.processInfo.environment["KVCLONE_BENCHMARK_DIRECTORY"] ?? NSTemporaryDirectory()
  let root = base + "/kvclone-lmdb-benchmark-" + UUID().uuidString
  try FileSystem.createDirectory(root)
  defer { try? FileManager.default.removeItem(atPath: root) }
  let bench = try LMDBBenchmark(root: root, records: records)
  defer { bench.close() }

  var times: [LMDBBenchmark.Task: [Double]] = [:]
  // The first round warms the caches and is not measured.
  for round in 0...rounds {
    for task in LMDBBenchmark.Task.allCases {
      let started = threadNanoseconds()
      let operations = try bench.run(task, begins: begins)
      let elapsed = Double(threadNanoseconds() - started) / Double(operations)
      if round > 0 { times[task, default: []].append(elapsed) }
    }
  }
  var failed: [String] = []
  print("LMDB layer, \(records) records, medians of \(rounds) interleaved rounds, ns an operation")
  print(row("", ["Swift", "C", "ratio", "limit"]))
  for (name, swift, c, limit) in LMDBBenchmark.comparisons {
    let (a, b) = (median(times[swift] ?? []), median(times[c] ?? []))
    print(row(name, [a, b, a / b, limit].map { String(format: "%.2f", $0) }))
    if a / b > limit { failed.append(name) }
  }
  if !failed.isEmpty {
    print("over the limit: " + failed.joined(separator: ", "))
    if isQuick { return }
    bench.close()
    try? FileManager.default.removeItem(atPath: root)
    exit(1)
  }
}

private func threadNanoseconds() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

private func row(_ name: String, _ cells: [String]) -> String {
  name.padding(toLength: 22, withPad: " ", startingAt: 0)
    + cells.map { String(repeating: " ", count: max(1, 9 - $0.count)) + $0 }.joined()
}

private func median(_ values: [Double]) -> Double {
  let sorted = values.sorted()
  return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
}

/// Two copies of one store, because a process may open a file only once, in Swift or in C.
private final class LMDBBenchmark {
  enum Task: CaseIterable {
    case swiftScan, cScan, swiftCursor, swiftBegin, cBegin
  }

  static let comparisons: [(String, Task, Task, Double)] = [
    ("scan", .swiftScan, .cScan, 1.1), ("cursor", .swiftCursor, .cScan, 1.1),
    ("read begin and end", .swiftBegin, .cBegin, 2),
  ]

  private let records: Int
  private let environment: LMDBEnvironment
  private let table: LMDBTable
  private var yardstick: OpaquePointer?
  private var expectedSum: UInt64 = 0

  init(root: String, records: Int) throws {
    self.records = records
    let path = root + "/swift"
    let filling = try LMDBEnvironment.create(at: path, tables: ["records"])
    let filled = try filling.table(named: "records")
    var writer = try filling.beginWrite(label: "benchmark")
    var value = [UInt8](repeating: 0, count: 100)
    for number in 0..<records {
      let key = withUnsafeBytes(of: UInt64(number).bigEndian) { [UInt8]($0) }
      value[0] = UInt8(truncatingIfNeeded: number &* 31)
      expectedSum += UInt64(value[0])
      try writer.append(filled, key.span.bytes, value.span.bytes)
    }
    try writer.commit()
    let mapSize = try filling.info().mapSize
    filling.close()
    try FileManager.default.copyItem(atPath: path, toPath: root + "/c")
    environment = try LMDBEnvironment.open(at: path)
    table = try environment.openTables(["records"], create: false)[0]
    let code = yardstick_open(
      root + "/c", "records", UInt64(mapSize), UInt32(environment.options.maximumTables), &yardstick)
    if code != 0 { throw BenchmarkError(message: "the C side could not be opened: \(code)") }
  }

  func close() {
    if let yardstick { yardstick_close(yardstick) }
    yardstick = nil
    environment.close()
  }

  /// Runs one task once, and returns the number of operations.
  func run(_ task: Task, begins: Int) throws -> Int {
    var entries: UInt64 = 0
    var sum: UInt64 = 0
    var code: Int32 = 0
    switch task {
    case .swiftScan:
      let reader = try environment.beginRead()
      try reader.scan(table) { (_, value) throws(LMDBError) in
        entries &+= 1
        sum &+= UInt64(unsafe value.unsafeLoad(as: UInt8.self))
        return true
      }
    case .swiftCursor:
      let reader = try environment.beginRead()
      var cursor = try reader.cursor(table)
      while let entry = try cursor.next() {
        entries &+= 1
        sum &+= UInt64(unsafe entry.value.unsafeLoad(as: UInt8.self))
      }
    case .cScan: code = yardstick_scan(yardstick, &entries, &sum)
    case .swiftBegin:
      for _ in 0..<begins {
        let reader = try environment.beginRead()
        sum &+= reader.commitNumber
      }
    case .cBegin: code = yardstick_begin(yardstick, UInt64(begins), &sum)
    }
    if code != 0 { throw BenchmarkError(message: "the C side failed: \(code)") }
    if task == .swiftBegin || task == .cBegin { return begins }
    guard entries == UInt64(records), sum == expectedSum else {
      throw BenchmarkError(message: "\(task) read \(entries) records with the sum \(sum)")
    }
    return records
  }
}

private struct BenchmarkError: Error {
  let message: String
}
