import Foundation
import Testing

@testable import KVCloneLMDB

/// Recovery after a power loss, by a simple model: each page of `data.mdb` has some version that was written since the
/// last checkpoint, and the log has its last synced content and some of the later writes.
@Suite struct CommitLogRecoveryTests {
  /// The store just after a commit.
  private struct Moment {
    let commit: UInt64
    let data: [UInt8]
    let log: [UInt8]
    let text: LogText
    let content: LogWorkload.Content
  }

  private static func moments(seed: Int, steps: Int) throws -> [Moment] {
    let store = try TemporaryStore()
    let environment = try store.create(["a", "b"], TemporaryStore.logging())
    let workload = try LogWorkload(environment, seed: UInt64(seed))
    var moments: [Moment] = []
    func note() throws {
      let log = try FileSystem.exists(store.log) ? try store.bytes(store.log) : []
      moments.append(
        Moment(
          commit: try environment.info().commitNumber, data: try store.bytes(store.data), log: log,
          text: LogText(log, after: moments.last?.text), content: workload.content))
    }
    try note()
    while moments.count < steps {
      if try workload.step() { try note() }
    }
    return moments
  }

  /// Opens the remaining files, and expects this state, and a store that can be written.
  private static func recover(
    _ data: [UInt8], _ log: [UInt8], _ content: LogWorkload.Content, seed: Int, _ comment: String
  ) throws {
    let store = try TemporaryStore.found(data: data, log: log)
    let isLogging = seed % 2 == 0
    var environment = try store.open(isLogging ? TemporaryStore.logging() : LMDBOptions())
    #expect(try store.logText().head?.isInUse == false, "\(comment)")
    try expectContent(environment, content, comment)
    let workload = try LogWorkload(environment, seed: UInt64(seed))
    for _ in 0..<3 { _ = try workload.step() }
    try expectContent(environment, workload.content, comment)
    environment.close()
    #expect(try store.logText().head?.isInUse == false, "\(comment)")
    #expect(try store.findings() == [], "\(comment)")
    environment = try store.open()
    try expectContent(environment, workload.content, comment)
    environment.close()
  }

  /// Mixes versions of each page from `first` on, with a file length of one of them.
  private static func mixed(_ versions: [Moment], _ generator: inout SeededGenerator) throws -> [UInt8] {
    let first = try #require(versions.first)
    let lengths = versions.map(\.data.count)
    let longest = lengths.reduce(0, max)
    var data = first.data + [UInt8](repeating: 0, count: longest - first.data.count)
    // Sometimes all pages except a few are old, or new.
    let bias = generator.next() % 4
    for page in 0..<longest / 4096 {
      var version = Int(generator.next() % UInt64(versions.count))
      if bias == 1, generator.next() % 8 != 0 { version = 0 }
      if bias == 2, generator.next() % 8 != 0 { version = versions.count - 1 }
      let range = page * 4096..<page * 4096 + 4096
      guard range.upperBound <= versions[version].data.count else { continue }
      data.replaceSubrange(range, with: versions[version].data[range])
    }
    // The tie between the log and the file was synced before the head.
    if let last = versions.last { data.replaceSubrange(4088..<4096, with: last.data[4088..<4096]) }
    // The file's length is not synced either.
    let length = try #require(lengths.randomElement(using: &generator))
    return bias == 3 ? Array(data[..<max(length, first.data.count)]) : data
  }

  // MARK: Power loss

  @Test(arguments: 1...6) func afterALossOfPowerTheLogSaysWhatThereIs(seed: Int) throws {
    let moments = try Self.moments(seed: seed, steps: 40)
    var generator = SeededGenerator(seed: UInt64(seed))
    var kinds = (torn: 0, whole: 0, heads: 0)
    for trial in 0..<12 {
      let index = 1 + Int(generator.next() % UInt64(moments.count - 2))
      let (now, next) = (moments[index], moments[index + 1])
      let comment = "seed \(seed), trial \(trial), commit \(now.commit)"
      let base = try #require(now.text.head?.base)
      let versions = moments.filter { base <= $0.commit && $0.commit <= next.commit }
      if next.text.head != now.text.head {
        // A checkpoint: the file was synced, and then the head was being written, from the front or from the back.
        kinds.heads += 1
        let cut = Int(generator.next() % 361)
        let part = trial % 2 == 0 ? 0..<cut : cut..<360
        var log = now.log
        log.replaceSubrange(part, with: next.log[part])
        let isDone = LogText(log).head == next.text.head
        try Self.recover(next.data, log, isDone ? next.content : now.content, seed: trial, comment + ", torn head")
        // Before that, as if the next commit had never been made.
        try Self.recover(try Self.mixed(versions, &generator), now.log, now.content, seed: trial, comment)
        continue
      }
      let record = try #require(next.text.records.last)
      var log = now.log + [UInt8](repeating: 0, count: max(0, next.log.count - now.log.count))
      for sector in stride(from: record.range.lowerBound, to: record.range.upperBound, by: 512)
      where trial % 4 == 0 || generator.next() % 16 != 0 {
        log.replaceSubrange(sector..<sector + 512, with: next.log[sector..<sector + 512])
      }
      let isWhole = LogText(log, after: now.text).lastCommit == next.commit
      if isWhole { kinds.whole += 1 } else { kinds.torn += 1 }
      let content = isWhole ? next.content : now.content
      try Self.recover(try Self.mixed(versions, &generator), log, content, seed: trial, comment)
    }
    #expect(kinds.torn + kinds.heads > 0 && kinds.whole > 0, "seed \(seed)")
  }

  /// Commits in `data.mdb` that the log has no record of are undone.
  @Test func theLogLeadsBackToEachOfItsCommits() throws {
    let moments = try Self.moments(seed: 77, steps: 25)
    let last = try #require(moments.last { $0.text.records.count >= 2 })
    for (index, record) in last.text.records.enumerated().suffix(3) {
      var log = last.log
      log[record.range.upperBound - 4096] ^= 1
      let store = try TemporaryStore.found(data: last.data, log: log)
      let state = try #require(moments.first { $0.commit == record.commit - 1 })
      if index + 1 == last.text.records.count {
        let environment = try store.open()
        try expectContent(environment, state.content, "commit \(record.commit)")
      } else {
        // Two commits without records: the log has lost a commit that was reported.
        #expect(throws: LMDBError.commitLog(.foreign, path: store.log)) { _ = try store.open() }
        #expect(try store.bytes(store.data) == last.data && store.bytes(store.log) == log)
      }
    }
  }

  /// A page that was being written at a power loss can have any content, also both meta pages.
  @Test func metaPagesThatAreNoneAreWrittenBack() throws {
    let moments = try Self.moments(seed: 41, steps: 30)
    let index = try #require(moments.lastIndex { $0.text.records.count >= 3 })
    let (last, before) = (moments[index], moments[index - 1])
    func torn(_ pages: [Int]) -> [UInt8] {
      var data = last.data
      // The part of a meta page that LMDB writes; the tie behind it was synced long before.
      for page in pages {
        for offset in 32..<152 { data[page * 4096 + offset] = UInt8(truncatingIfNeeded: offset &* 37) }
      }
      return data
    }
    let newer = Int(last.commit & 1)
    for pages in [[0, 1], [newer], [1 - newer]] {
      try Self.recover(torn(pages), last.log, last.content, seed: 1, "pages \(pages)")
    }
    // The last commit is in the file, and its record was not reported.
    var log = last.log
    log[try #require(last.text.records.last).range.upperBound - 4096] ^= 1
    try Self.recover(torn([0, 1]), log, before.content, seed: 2, "both, without the last record")
    try Self.recover(torn([1 - newer]), log, before.content, seed: 2, "the older one, without the last record")
    // Without the tie, nothing proves that the log belongs to the file.
    var other = torn([0, 1])
    other[4095] ^= 1
    try expectRefused(other, last.log, "another tie")
  }

  @Test func aRecoveryThatDiesIsDoneAgain() throws {
    let moments = try Self.moments(seed: 5, steps: 30)
    let last = try #require(moments.last { $0.text.records.count >= 3 })
    let base = try #require(moments.first { $0.commit == last.text.head?.base })
    // Some records are written back, and their meta pages are not.
    var data = base.data + [UInt8](repeating: 0, count: max(0, last.data.count - base.data.count))
    for page in last.text.records[0].pages + last.text.records[1].pages where page.lower == page.upper {
      data.replaceSubrange(page.number * 4096..<page.number * 4096 + 4096, with: page.bytes)
    }
    try Self.recover(data, last.log, last.content, seed: 1, "half")
  }

  // MARK: Logs that do not belong

  private func expectRefused(_ data: [UInt8], _ log: [UInt8], _ comment: String) throws {
    let store = try TemporaryStore.found(data: data, log: log)
    for options in [LMDBOptions(), TemporaryStore.logging()] {
      #expect(throws: LMDBError.commitLog(.foreign, path: store.log), "\(comment)") { _ = try store.open(options) }
    }
    #expect(throws: LMDBError.commitLog(.foreign, path: store.log), "\(comment)") { _ = try PageFile(at: store.path) }
    let isUntouched = try store.bytes(store.data) == data && store.bytes(store.log) == log
    #expect(isUntouched, "\(comment)")
  }

  @Test func theLogOfAnotherStoreIsRefused() throws {
    let (ours, others) = (try Self.moments(seed: 11, steps: 20), try Self.moments(seed: 12, steps: 20))
    let (our, other) = (try #require(ours.last), try #require(others.last))
    try expectRefused(our.data, other.log, "ours with the other log")
    try expectRefused(other.data, our.log, "the other with our log")
  }

  /// The meta pages of two stores with the same history of shapes are equal.
  @Test func theLogOfATwinIsRefused() throws {
    let twins = try ["1", "2"].map { value in
      let store = try TemporaryStore()
      let environment = try store.create(["a"], TemporaryStore.logging())
      let table = try environment.table(named: "a")
      for key in ["x", "y", "z"] {
        var writer = try environment.beginWrite()
        try writer.put(table, key, value)
        try writer.commit()
      }
      return (data: try store.bytes(store.data), log: try store.bytes(store.log))
    }
    try expectRefused(twins[0].data, twins[1].log, "twin")
  }

  @Test func anOlderFileNextToALogInUseIsRefused() throws {
    let moments = try Self.moments(seed: 21, steps: 60)
    let last = try #require(
      moments.last { ($0.text.head?.base ?? 0) > moments[3].commit && !$0.text.records.isEmpty })
    let base = try #require(last.text.head?.base)
    let older = moments.filter { $0.commit < base }
    try #require(older.count >= 3)
    for moment in older {
      try expectRefused(moment.data, last.log, "\(base - moment.commit) commits before the log's first")
    }
    // A copy made since then has everything that the log lacks.
    for moment in moments where base <= moment.commit && moment.commit <= last.commit {
      try Self.recover(moment.data, last.log, last.content, seed: 2, "commit \(moment.commit) of \(base) and more")
    }
  }

  @Test func aNewerFileNextToALogInUseIsRefused() throws {
    let moments = try Self.moments(seed: 31, steps: 30)
    for (index, moment) in moments.enumerated() where moment.text.head != nil {
      for later in moments[(index + 1)...] where later.commit > moment.text.lastCommit + 1 {
        try expectRefused(later.data, moment.log, "commit \(later.commit) beside \(moment.commit)")
        break
      }
    }
  }

  @Test func aLogThatIsNotInUseIsIgnored() throws {
    let store = try TemporaryStore()
    let environment = try store.create(["a"], TemporaryStore.logging())
    let workload = try LogWorkload(environment, seed: 1)
    for _ in 0..<10 { _ = try workload.step() }
    environment.close()
    let log = try store.bytes(store.log)
    #expect(LogText(log).head?.isInUse == false)
    let moments = try Self.moments(seed: 3, steps: 5)
    for moment in moments {
      let other = try TemporaryStore.found(data: moment.data, log: log)
      let environment = try other.open()
      try expectContent(environment, moment.content, "commit \(moment.commit)")
      #expect(try other.bytes(other.data) == moment.data && other.bytes(other.log) == log)
    }
  }

  // MARK: Files of other lengths

  @Test func emptyAndShortAndSillyLogsAreIgnored() throws {
    let moments = try Self.moments(seed: 4, steps: 12)
    let last = try #require(moments.last)
    let noise = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) }
    let logs: [[UInt8]] = [[], [0], Array(last.log[..<359]), [UInt8](repeating: 0, count: 8192), noise]
    for log in logs {
      let store = try TemporaryStore.found(data: last.data, log: log)
      let environment = try store.open(TemporaryStore.logging())
      try expectContent(environment, last.content, "\(log.count) bytes")
      #expect(try store.bytes(store.log) == log)
      let workload = try LogWorkload(environment, seed: 9)
      while try !workload.step() {}
      #expect(try store.logText().lastCommit == environment.info().commitNumber)
      environment.close()
      #expect(try store.findings() == [])
    }
  }

  @Test func aLogThatEndsEarlyLeadsToItsLastWholeRecord() throws {
    let moments = try Self.moments(seed: 6, steps: 25)
    for (now, next) in zip(moments, moments.dropFirst()) where now.text.head == next.text.head && now.text.head != nil {
      let start = now.text.end
      let record = try #require(next.text.records.last)
      let length = record.pages.reduce(200) { $0 + $1.length }
      // The missing rest of the last page is not part of the record.
      for (end, content) in [(start, now.content), (start + 199, now.content), (start + length - 1, now.content)]
        + [(start + length, next.content)]
      {
        try Self.recover(next.data, Array(next.log[..<end]), content, seed: 1, "\(end) bytes, commit \(next.commit)")
      }
      return
    }
    Issue.record("no record")
  }

  @Test func anEmptyOrShortDataFileIsRefusedNextToALog() throws {
    let moments = try Self.moments(seed: 8, steps: 10)
    let last = try #require(moments.last)
    let empty = try TemporaryStore.found(data: [], log: last.log)
    #expect(throws: LMDBError.emptyFile(path: empty.data)) { _ = try empty.open() }
    #expect(try empty.bytes(empty.data) == [])
    try expectRefused(Array(last.data[..<100]), last.log, "100 bytes")
    try expectRefused([UInt8](repeating: 0, count: last.data.count), last.log, "zeros")
  }
}
