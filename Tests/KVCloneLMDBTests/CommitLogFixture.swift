import Foundation
import Testing

@testable import KVCloneLMDB

extension TemporaryStore {
  var log: String { path + "/commit.log" }

  func bytes(_ path: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) }

  func write(_ bytes: [UInt8], _ path: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    try setMode(0o600, path)
  }

  func logText(after previous: LogText? = nil) throws -> LogText { LogText(try bytes(log), after: previous) }

  /// The store of a killed process, or after a power loss: just these two files.
  static func found(data: [UInt8], log: [UInt8]?) throws -> TemporaryStore {
    let store = try TemporaryStore()
    try FileSystem.createDirectory(store.path)
    try store.write(data, store.data)
    if let log { try store.write(log, store.log) }
    return store
  }

  /// The findings in the tree of a closed store; opening it for that recovers it.
  func findings() throws -> [PageFinding] { try PageFile(at: path).walk().findings }

  static func logging(_ limit: Int = 0) -> LMDBOptions {
    var options = LMDBOptions()
    options.walSizeLimit = limit
    return options
  }
}

/// The content of `commit.log`, parsed by code that shares nothing with the library's.
struct LogText {
  struct Head: Equatable {
    var sequence: UInt64, salt: UInt64, base: UInt64
    var isInUse: Bool
    var tie: UInt64
    var metas: [[UInt8]]
  }

  struct Page: Equatable {
    var number: Int, lower: Int, upper: Int
    /// The bytes outside of `lower` and `upper`, also of a page with a base.
    var bytes: [UInt8]
    var base: Int?
    /// In the log.
    var length: Int
  }

  struct Record {
    var commit: UInt64, sum: UInt64
    var meta: [UInt8]
    var pages: [Page]
    var range: Range<Int>
  }

  let head: Head?
  private(set) var records: [Record] = []
  /// The offset of the next record.
  private(set) var end = 8192
  /// The last version of each page.
  private var contents: [Int: [UInt8]] = [:]

  /// The last commit that the log leads to.
  var lastCommit: UInt64 { records.last?.commit ?? head?.base ?? 0 }

  /// With the log in its earlier state, only the new records are read.
  init(_ bytes: [UInt8], after previous: LogText? = nil) {
    let heads = [0, 4096].compactMap { Self.head(bytes, at: $0) }
    head = heads.max { $0.sequence < $1.sequence }
    guard let head else { return }
    if let previous, previous.head == head {
      (records, end, contents) = (previous.records, previous.end, previous.contents)
    }
    while let record = record(bytes, at: end, head.salt, lastCommit + 1, records.last?.sum ?? head.salt) {
      records.append(record)
      end = record.range.upperBound
    }
  }

  private static func head(_ bytes: [UInt8], at offset: Int) -> Head? {
    guard bytes.count >= offset + 360, word(bytes, offset) == 0x3130_474F_4C43_564B,
      word(bytes, offset + 8) == sum(bytes, offset + 16..<offset + 360, 0), word(bytes, offset + 40) < 2
    else { return nil }
    return Head(
      sequence: word(bytes, offset + 16), salt: word(bytes, offset + 24), base: word(bytes, offset + 32),
      isInUse: word(bytes, offset + 40) == 1, tie: word(bytes, offset + 48),
      metas: [Array(bytes[offset + 56..<offset + 208]), Array(bytes[offset + 208..<offset + 360])])
  }

  private mutating func record(
    _ bytes: [UInt8], at start: Int, _ salt: UInt64, _ commit: UInt64, _ previous: UInt64
  ) -> Record? {
    func word(_ offset: Int) -> UInt64 { Self.word(bytes, offset) }
    func half(_ offset: Int) -> Int { Int(bytes[offset]) | Int(bytes[offset + 1]) << 8 }
    guard bytes.count >= start + 200, word(start) == 0x3230_4345_5243_564B, word(start + 16) == salt,
      word(start + 24) == commit, let length = Int(exactly: word(start + 32)), length >= 200,
      length % 8 == 0, start + length <= bytes.count,
      word(start + 8) == Self.sum(bytes, start + 16..<start + length, previous)
    else { return nil }
    var pages: [Page] = []
    var offset = start + 200
    for _ in 0..<word(start + 40) {
      let first = offset
      let (number, lower, upper) = (Int(word(offset)), half(offset + 8), half(offset + 10))
      let (kind, runCount) = (half(offset + 12), half(offset + 14))
      offset += 16
      var content = [UInt8](repeating: 0, count: 4096)
      var base: Int?
      if kind == 0 {
        content.replaceSubrange(0..<lower, with: bytes[offset..<offset + lower])
        content.replaceSubrange(upper..<4096, with: bytes[offset + lower..<offset + lower + 4096 - upper])
        offset += lower + 4096 - upper
      } else {
        base = Int(word(offset))
        // A page that is no base any more is none again.
        guard let old = contents.removeValue(forKey: Int(word(offset))) else { return nil }
        content = old
        let runs = (0..<runCount).map { (start: half(offset + 8 + 4 * $0), count: half(offset + 10 + 4 * $0)) }
        offset += 8 + (4 * runCount + 7) / 8 * 8
        for (index, byte) in bytes[first..<first + 8].enumerated() { content[index] = byte }
        for index in lower..<upper { content[index] = 0 }
        for run in runs {
          content.replaceSubrange(run.start..<run.start + run.count, with: bytes[offset..<offset + run.count])
          offset += run.count
        }
      }
      contents[number] = content
      pages.append(
        Page(
          number: number, lower: lower, upper: upper, bytes: Array(content[..<lower] + content[upper...]), base: base,
          length: offset - first))
    }
    guard offset == start + length else { return nil }
    let end = start + (length + 4095) / 4096 * 4096
    return Record(
      commit: commit, sum: word(start + 8), meta: Array(bytes[start + 48..<start + 200]), pages: pages,
      range: start..<end)
  }

  static func word(_ bytes: [UInt8], _ offset: Int) -> UInt64 {
    bytes.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
  }

  /// The checksum, as the format describes it, word by word.
  static func sum(_ bytes: [UInt8], _ range: Range<Int>, _ seed: UInt64) -> UInt64 {
    func mix(_ lane: UInt64, _ word: UInt64) -> UInt64 {
      let product = (lane ^ word) &* 0x9FB2_1C65_1E98_DF25
      return product ^ (product >> 29)
    }
    var lanes = [seed, ~seed, seed &+ 0x9E37_79B9_7F4A_7C15, UInt64(range.count)]
    let words = range.count / 8
    bytes.withUnsafeBytes { bytes in
      for index in 0..<words {
        let word = bytes.loadUnaligned(fromByteOffset: range.lowerBound + 8 * index, as: UInt64.self)
        let lane = index < words / 4 * 4 ? index % 4 : 0
        lanes[lane] = mix(lanes[lane], word)
      }
    }
    return mix(mix(mix(lanes[0], lanes[1]), lanes[2]), lanes[3])
  }
}

/// The content of `data.mdb`, by a walk that shares nothing with the library's and supports only sound files.
enum DataText {
  /// The pages reachable from the commit's roots; true for overflow pages, which have no gap.
  static func reachable(_ data: [UInt8], _ commit: UInt64) -> [Int: Bool] {
    var found: [Int: Bool] = [:]
    data.withUnsafeBytes { data in
      func half(_ offset: Int) -> Int { Int(data.loadUnaligned(fromByteOffset: offset, as: UInt16.self)) }
      func word(_ offset: Int) -> Int {
        Int(truncatingIfNeeded: data.loadUnaligned(fromByteOffset: offset, as: Int64.self))
      }
      func visit(_ page: Int, isList: Bool) {
        found[page] = false
        let base = page * 4096
        for index in 0..<(half(base + 12) - 16) / 2 {
          let node = base + half(base + 16 + 2 * index)
          if half(base + 10) & 1 != 0 {
            visit(half(node) | half(node + 2) << 16 | half(node + 4) << 32, isList: isList)
            continue
          }
          let value = node + 8 + half(node + 6)
          if half(node + 4) & 1 != 0 {
            let first = word(value)
            for page in first..<first + (half(first * 4096 + 12) | half(first * 4096 + 14) << 16) { found[page] = true }
          } else if isList, half(node + 4) & 2 != 0, word(value + 40) != -1 {
            visit(word(value + 40), isList: false)
          }
        }
      }
      let meta = Int(commit & 1) * 4096
      precondition(word(meta + 144) == Int(commit))
      if word(meta + 80) != -1 { visit(word(meta + 80), isList: false) }
      if word(meta + 128) != -1 { visit(word(meta + 128), isList: true) }
    }
    return found
  }

  static func areEqual(_ a: [UInt8], _ b: [UInt8], _ range: Range<Int>) -> Bool {
    guard range.upperBound <= a.count, range.upperBound <= b.count else { return false }
    return a.withUnsafeBytes { a in
      b.withUnsafeBytes { b in
        guard let a = a.baseAddress, let b = b.baseAddress else { return false }
        return memcmp(a + range.lowerBound, b + range.lowerBound, range.count) == 0
      }
    }
  }
}

/// Random transactions of every kind, and the expected content after each.
final class LogWorkload {
  typealias Content = [String: [[UInt8]: [UInt8]]]
  let environment: LMDBEnvironment
  private(set) var content: Content
  private var tables: [String: LMDBTable] = [:]
  private var generator: SeededGenerator

  init(_ environment: LMDBEnvironment, seed: UInt64) throws {
    self.environment = environment
    generator = SeededGenerator(seed: seed)
    content = try Self.content(of: environment)
    for name in content.keys { tables[name] = try environment.table(named: name) }
  }

  static func content(of environment: LMDBEnvironment) throws -> Content {
    var content: Content = [:]
    let names = try environment.tableNames()
    let tables = try environment.openTables(names, create: false)
    let reader = try environment.beginRead()
    for (name, table) in zip(names, tables) {
      var entries: [[UInt8]: [UInt8]] = [:]
      try reader.scan(table) { key, value in
        entries[key.withUnsafeBytes { [UInt8]($0) }] = value.withUnsafeBytes { [UInt8]($0) }
        return true
      }
      content[name] = entries
    }
    return content
  }

  func pick(_ count: Int) -> Int { Int(generator.next() % UInt64(count)) }

  /// Runs one transaction. False if it committed nothing.
  func step() throws -> Bool {
    let before = try environment.info().commitNumber
    let name = try #require(content.keys.sorted().randomElement(using: &generator))
    switch pick(24) {
    case 0: try addTables(pick(4) == 0 ? 30 : 1)
    case 1: try write { _, _ in }
    case 2: try write(commits: false) { writer, next in try put(&writer, &next, name, 20, length: 3000, spills: true) }
    case 3, 4, 5, 6: try write { writer, next in try delete(&writer, &next, name, sparing: 4) }
    case 7: try write { writer, next in try delete(&writer, &next, name, sparing: 1) }
    case 8, 9: try write { writer, next in try put(&writer, &next, name, 40 + pick(60), length: 200) }
    case 10, 11, 12: try write { writer, next in try put(&writer, &next, name, 1 + pick(3), length: 40_000) }
    case 13: try write { writer, next in try put(&writer, &next, name, 1, length: 1 << 21) }
    case 14: try write { writer, next in try put(&writer, &next, name, 30, length: 4000, spills: true) }
    case 15:
      try write { writer, next in
        for name in content.keys.sorted() { try put(&writer, &next, name, 1, length: 100) }
      }
    default: try write { writer, next in try put(&writer, &next, name, 1 + pick(6), length: 300) }
    }
    return try environment.info().commitNumber != before
  }

  private func write(
    commits: Bool = true, _ body: (inout LMDBWriteTransaction, inout Content) throws -> Void
  ) throws {
    var writer = try environment.beginWrite()
    var next = content
    try body(&writer, &next)
    if !commits { return writer.abort() }
    try writer.commit()
    content = next
  }

  /// Puts long keys, so that few of them make a deep tree; some are short.
  private func put(
    _ writer: inout LMDBWriteTransaction, _ next: inout Content, _ name: String, _ count: Int, length: Int,
    spills: Bool = false
  ) throws {
    let table = try #require(tables[name])
    for index in 0..<count {
      let number = pick(160)
      let key =
        [UInt8(number), UInt8(truncatingIfNeeded: name.utf8.count)] + [UInt8](repeating: 7, count: number % 3 * 190)
      let value = [UInt8](repeating: UInt8(pick(256)), count: pick(length))
      try writer.put(table, key.span.bytes, value.span.bytes)
      next[name, default: [:]][key] = value
      if spills, index % 10 == 5 { try writer.spill() }
    }
  }

  /// Deletes a run of the table's keys: all except a part of them.
  private func delete(
    _ writer: inout LMDBWriteTransaction, _ next: inout Content, _ name: String, sparing part: Int
  ) throws {
    let table = try #require(tables[name])
    let keys = (next[name] ?? [:]).keys.sorted { $0.lexicographicallyPrecedes($1) }
    let start = pick(keys.count + 1)
    for key in keys[start..<min(keys.count, start + keys.count / part)] {
      _ = try writer.delete(table, key.span.bytes)
      next[name]?[key] = nil
    }
  }

  private func addTables(_ count: Int) throws {
    let names = (0..<count).map { "table \(content.count + $0) of a name that is rather long" }
    for (name, table) in zip(names, try environment.openTables(names, create: true)) {
      tables[name] = table
      content[name] = [:]
    }
  }
}

/// Expects exactly this content in the environment, in sound pages.
func expectContent(
  _ environment: LMDBEnvironment, _ content: LogWorkload.Content, _ comment: String,
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let isEqual = try LogWorkload.content(of: environment) == content
  #expect(isEqual, "\(comment)", sourceLocation: sourceLocation)
  let findings = try PageFile(pinning: environment).walk().findings
  #expect(findings == [], "\(comment)", sourceLocation: sourceLocation)
}
