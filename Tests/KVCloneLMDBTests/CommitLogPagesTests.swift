import Foundation
import Testing

@testable import KVCloneLMDB

/// A record has exactly the pages that its commit wrote: checked by comparing the whole file before and after.
@Suite struct CommitLogPagesTests {
  @Test(arguments: 1...8) func aRecordHasJustThePagesThatTheCommitWrote(seed: Int) throws {
    let store = try TemporaryStore()
    let environment = try store.create(["a", "b"], TemporaryStore.logging())
    let workload = try LogWorkload(environment, seed: UInt64(seed))
    // A reader prevents old pages from being reused; without one, they are.
    var pin = seed % 3 == 0 ? try PinnedReader(environment) : nil
    var before = try store.bytes(store.data)
    var log: LogText?
    var recordCount = 0
    for step in 0..<60 {
      if step == 40 { pin = nil }
      guard try workload.step() else { continue }
      let commit = try environment.info().commitNumber
      let after = try store.bytes(store.data)
      let next = try store.logText(after: log)
      #expect(next.head?.isInUse == true && next.lastCommit == commit, "seed \(seed), step \(step)")
      let complaint = complaint(before, after, commit, next, room: (log?.end ?? 8192))
      #expect(complaint == nil, "seed \(seed), step \(step)")
      if next.records.last != nil { recordCount += 1 }
      (before, log) = (after, next)
    }
    withExtendedLifetime(pin) {}
    // Not vacuous: most commits are small.
    #expect(recordCount > 25, "seed \(seed)")
    try expectContent(environment, workload.content, "seed \(seed)")
  }

  /// LMDB leaves a value on its overflow pages if the same transaction shortens it: the node then has the number of a
  /// page behind a length of almost nothing. Values of the same length change only this number.
  @Test(arguments: [0, 1, 7, 8, 100, 5_000]) func replacedValuesOnOverflowPagesAreRecorded(length: Int) throws {
    let store = try TemporaryStore()
    let environment = try store.create(["a"], TemporaryStore.logging())
    let table = try environment.table(named: "a")
    var before = try store.bytes(store.data)
    var log: LogText?
    for step in 0..<8 {
      var writer = try environment.beginWrite()
      for key in step < 4 ? ["k"] : ["k", "l", "m"] {
        try writer.put(table, key.utf8Span.span.bytes, [UInt8](repeating: UInt8(step), count: 5_000).span.bytes)
        if length < 5_000 {
          try writer.put(table, key.utf8Span.span.bytes, [UInt8](repeating: UInt8(step), count: length).span.bytes)
        }
      }
      try writer.commit()
      let after = try store.bytes(store.data)
      let next = try store.logText(after: log)
      let complaint = complaint(
        before, after, try environment.info().commitNumber, next, room: log?.end ?? CommitLogFormat.recordsOffset)
      #expect(complaint == nil, "step \(step)")
      (before, log) = (after, next)
    }
  }

  private func complaint(
    _ before: [UInt8], _ after: [UInt8], _ commit: UInt64, _ log: LogText, room end: Int
  ) -> String? {
    let new = DataText.reachable(after, commit)
    let old = DataText.reachable(after, commit - 1)
    let changed = new.keys.filter { !DataText.areEqual(before, after, $0 * 4096..<$0 * 4096 + 4096) }
    let needed = Set(new.keys).subtracting(old.keys)
    // The precondition of the comparison of trees.
    if !needed.isSuperset(of: changed) { return "a page of the state before was overwritten" }
    guard let record = log.records.last else {
      let length = needed.reduce(200) { $0 + 16 + (new[$1] == true ? 4096 : Self.usedLength(after, $1)) }
      let isTooLong = needed.count > 256 || end + (length + 4095) / 4096 * 4096 > 8192 + 1_056_768
      return log.head?.base == commit && isTooLong ? nil : "no record, though \(needed.count) pages would fit"
    }
    if record.commit != commit { return "not the last commit's record" }
    if record.meta != Array(after[Int(commit & 1) * 4096..<Int(commit & 1) * 4096 + 152]) { return "another meta page" }
    if record.pages.count != Set(record.pages.map(\.number)).count { return "a page twice" }
    let recorded = Set(record.pages.map(\.number))
    if !recorded.isSuperset(of: changed) { return "without \(Set(changed).subtracting(recorded).sorted())" }
    if recorded != needed { return "\(recorded.symmetricDifference(needed).sorted()) more or less than needed" }
    for page in record.pages {
      let start = page.number * 4096
      let whole = Array(after[start..<start + page.lower]) + Array(after[start + page.upper..<start + 4096])
      if page.bytes != whole { return "page \(page.number) has other bytes" }
      let isGap =
        page.lower == page.upper
        || new[page.number] == false && page.lower >= Self.half(after, start + 12)
          && page.upper <= Self.half(after, start + 14)
      if !isGap { return "page \(page.number) lacks what is used" }
    }
    return nil
  }

  /// The number of bytes that a record has of a page with a gap, each part rounded to a multiple of 8.
  private static func usedLength(_ bytes: [UInt8], _ page: Int) -> Int {
    let (lower, upper) = ((half(bytes, page * 4096 + 12) + 7) / 8 * 8, half(bytes, page * 4096 + 14) / 8 * 8)
    return lower >= upper ? 4096 : lower + 4096 - upper
  }

  private static func half(_ bytes: [UInt8], _ offset: Int) -> Int { Int(bytes[offset]) | Int(bytes[offset + 1]) << 8 }

  /// Corrupted trees: the result is unknown, or some pages, and never a crash or an endless walk.
  @Test(arguments: 1...4) func damagedPagesAreNoTrap(seed: Int) throws {
    let fixture = try PageFixture(seed: UInt64(seed), rounds: 3, entries: 300)
    let sound = fixture.sound
    var generator = SeededGenerator(seed: UInt64(seed))
    let record = CommitLogRecord()
    var pages = ChangedPages(record)
    for trial in 0..<60 {
      var bytes = sound
      for _ in 0..<1 + Int(generator.next() % 40) {
        // In the bytes that matter: meta pages, heads, lists of nodes, and nodes.
        let page = Int(generator.next() % UInt64(bytes.count / 4096))
        let range: UInt64 = page < 2 ? 152 : generator.next() % 2 == 0 ? 60 : 4096
        let offset = page * 4096 + Int(generator.next() % range)
        bytes[offset] = UInt8(truncatingIfNeeded: generator.next())
      }
      if trial % 5 == 0 { bytes.removeLast(Int(generator.next() % UInt64(bytes.count - 8192))) }
      try fixture.store.write(bytes, fixture.store.data)
      let file = open(fixture.store.data, O_RDONLY | O_CLOEXEC)
      defer { close(file) }
      let count = UInt64(bytes.count / 4096)
      let metas = [0, 1].compactMap { PageMeta(bytes: Array(bytes[$0 * 4096..<$0 * 4096 + 152]), page: UInt64($0)) }
      guard metas.count == 2 else { continue }
      bytes.withUnsafeBytes { bytes in
        let map = trial % 2 == 0 ? bytes.baseAddress : nil
        let source = PageSource(file, map: map, pageCount: count, scratch: PageScratch())
        let bases = PageNumberSet(2..<max(2, count))
        let isKnown = pages.collect(metas[0], since: metas[1], in: source, bases: bases)
        // What an earlier comparison left has no influence.
        let fresh = CommitLogRecord()
        var others = ChangedPages(fresh)
        #expect(others.collect(metas[0], since: metas[1], in: source, bases: bases) == isKnown)
        #expect(fresh.numbers == record.numbers && fresh.count == record.count, "seed \(seed), trial \(trial)")
      }
      #expect(record.pageCount <= CommitLogRecord.maximumPages, "seed \(seed), trial \(trial)")
    }
  }
}
