import Foundation
import Testing

@testable import KVCloneLMDB

/// Records that have only the changed words of a page, and the versions of the log.
@Suite struct CommitLogChangesTests {
  private let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  private func put(_ environment: LMDBEnvironment, _ key: String, _ value: String) throws {
    var writer = try environment.beginWrite()
    try writer.put(try environment.table(named: "a"), key, value)
    try writer.commit()
  }

  /// A store with some small commits behind a checkpoint, as if its process had been killed.
  private func written() throws -> (data: [UInt8], log: [UInt8], content: LogWorkload.Content) {
    let environment = try store.create(["a"], TemporaryStore.logging())
    var writer = try environment.beginWrite()
    for number in 0..<400 { try writer.put(try environment.table(named: "a"), "key \(number)", "value \(number)") }
    try writer.commit()
    environment.close()
    let again = try store.open(TemporaryStore.logging())
    _ = try again.openTables(["a"], create: false)
    for number in 0..<12 { try put(again, "key \(number * 31)", "VALUE \(number)") }
    return (
      try store.bytes(store.data), try store.bytes(store.log), try LogWorkload.content(of: again)
    )
  }

  private func expectRecovered(_ data: [UInt8], _ log: [UInt8], _ content: LogWorkload.Content) throws {
    let copy = try TemporaryStore.found(data: data, log: log)
    #expect(try PageFile(at: copy.path).walk().findings == [])
    let environment = try copy.open(TemporaryStore.logging())
    try expectContent(environment, content, "recovered")
  }

  // MARK: Changes

  @Test func smallCommitsLogWhatTheyChanged() throws {
    let (_, log, _) = try written()
    let records = LogText(log).records
    #expect(records.count == 12)
    // A page that the log does not have yet is logged whole.
    #expect(try #require(records.first).pages.allSatisfy { $0.base == nil })
    for record in records.suffix(8) {
      #expect(record.pages.count >= 3 && record.range.count == 4096)
      #expect(record.pages.count { $0.base != nil } >= record.pages.count - 2)
    }
  }

  /// Any page of the file can be any of its versions, or torn, when the power is back: no base is read from it.
  @Test func aBaseIsNeverReadFromTheFile() throws {
    let (data, log, content) = try written()
    let numbers = Set(LogText(log).records.flatMap(\.pages).map(\.number))
    var other = data
    for number in numbers {
      for index in number * 4096..<min(number * 4096 + 4096, other.count) {
        other[index] = UInt8(truncatingIfNeeded: index)
      }
    }
    try expectRecovered(other, log, content)
    // All of it is written back already.
    try expectRecovered(data, log, content)
  }

  @Test func aTornChangeEndsTheLog() throws {
    let (data, log, content) = try written()
    let record = try #require(LogText(log).records.last)
    var torn = log
    torn[record.range.lowerBound + 300] ^= 0x10
    let copy = try TemporaryStore.found(data: data, log: torn)
    let environment = try copy.open()
    var before = content
    before["a"]?[Array("key 341".utf8)] = Array("value 341".utf8)
    #expect(before != content)
    try expectContent(environment, before, "torn")
  }

  /// A base that no record has, under checksums that are right: the log is corrupted, and nothing is written.
  @Test func aMissingBaseIsCorruption() throws {
    let (data, log, _) = try written()
    let text = LogText(log)
    let index = try #require(text.records.lastIndex { $0.pages.contains { $0.base != nil } })
    let record = text.records[index]
    let number = try #require(record.pages.firstIndex { $0.base != nil })
    let offset = record.range.lowerBound + 200 + record.pages[..<number].reduce(0) { $0 + $1.length }
    var other = log
    other.put64(1 << 20, at: offset + 16)
    try LogText.seal(&other, record, previousSum: text.records[index - 1].sum)
    let copy = try TemporaryStore.found(data: data, log: other)
    #expect(throws: LMDBError.commitLog(.corrupted, path: copy.log)) { _ = try copy.open() }
    let isUntouched = try copy.bytes(copy.data) == data && copy.bytes(copy.log) == other
    #expect(isUntouched)
  }

  /// After a checkpoint, the first version of a page is whole again.
  @Test func aCheckpointForgetsTheBases() throws {
    let environment = try store.create(["a"], TemporaryStore.logging())
    for number in 0..<10 { try put(environment, "key", "value \(number)") }
    #expect(try store.logText().records.last?.pages.contains { $0.base != nil } == true)
    // More pages than a record has.
    try put(environment, "large", String(repeating: "x", count: 300 * 4096))
    #expect(try store.logText().records.isEmpty)
    for number in 0..<10 {
      try put(environment, "key", "other \(number)")
      let text = try store.logText()
      #expect(text.records.count == number + 1)
      if number == 0 { #expect(text.records[0].pages.allSatisfy { $0.base == nil }) }
    }
    let content = try LogWorkload.content(of: environment)
    try expectRecovered(try store.bytes(store.data), try store.bytes(store.log), content)
  }

  /// The pages that another process has logged are bases, too.
  @Test func theRecordsOfOtherProcessesHaveBases() throws {
    let environment = try store.create(["a"], TemporaryStore.logging())
    for number in 0..<4 { try put(environment, "key", "value \(number)") }
    let peer = try Peer(store.path, ["log=0", "open", "commits=3", "wait"])
    #expect(peer.lines(7).last == "waiting")
    try put(environment, "key", "last")
    let text = try store.logText()
    #expect(text.records.count == 8)
    #expect(try #require(text.records.last).pages.contains { $0.base != nil })
    let content = try LogWorkload.content(of: environment)
    try expectRecovered(try store.bytes(store.data), try store.bytes(store.log), content)
    peer.resume()
    #expect(peer.finish() == ["ok"])
  }

  // MARK: Versions

  /// A library of version 1 opens a store only if the head has the tie of the file, and takes it for another store's
  /// otherwise.
  @Test func librariesOfVersion1RefuseTheLog() throws {
    let (data, log, _) = try written()
    let (head, tie) = (try #require(LogText(log).head), LogText.word(data, 4088))
    #expect(head.isInUse && head.tie != tie && head.tie == tie ^ CommitLogFormat.versionMark)
  }

  @Test func aLogOfVersion1IsRecovered() throws {
    let (data, log, content) = try written()
    let first = LogText(log).inVersion1(tie: LogText.word(data, 4088))
    try expectRecovered(data, first, content)
    // One that is neither of this file nor of the other version.
    var other = first
    other.put64(Int(truncatingIfNeeded: LogText.word(data, 4088) ^ 1), at: 48)
    LogText.sealHeads(&other)
    let copy = try TemporaryStore.found(data: data, log: other)
    #expect(throws: LMDBError.commitLog(.foreign, path: copy.log)) { _ = try copy.open() }
  }

  /// A process of version 1 that has the store open: its head says that all records are of its version.
  @Test func aLogOfVersion1InUseIsRestarted() throws {
    let environment = try store.create(["a"], TemporaryStore.logging())
    for number in 0..<3 { try put(environment, "key", "value \(number)") }
    let text = try store.logText()
    let tie = LogText.word(try store.bytes(store.data), 4088)
    var first = text.inVersion1(tie: tie)
    // What tells a process that the head is another one.
    first.put64(Int(text.head?.sequence ?? 0) + 1, at: 16)
    LogText.sealHeads(&first)
    let file = try #require(FileHandle(forUpdatingAtPath: store.log))
    try file.write(contentsOf: Data(first))
    try file.close()
    try put(environment, "key", "last")
    let after = try store.logText()
    #expect(after.head?.tie == tie ^ CommitLogFormat.versionMark && after.records.count == 1)
    #expect(after.head?.base == text.lastCommit)
    let content = try LogWorkload.content(of: environment)
    try expectRecovered(try store.bytes(store.data), try store.bytes(store.log), content)
  }
}

extension LogText {
  /// Completes both heads after a change of the first one.
  static func sealHeads(_ log: inout [UInt8]) {
    log.put64(Int(truncatingIfNeeded: sum(log, 16..<360, 0)), at: 8)
    log.replaceSubrange(4096..<4456, with: log[..<360])
  }

  /// Completes a record after a change.
  static func seal(_ log: inout [UInt8], _ record: Record, previousSum: UInt64) throws {
    let length = Int(word(log, record.range.lowerBound + 32))
    let sum = sum(log, record.range.lowerBound + 16..<record.range.lowerBound + length, previousSum)
    log.put64(Int(truncatingIfNeeded: sum), at: record.range.lowerBound + 8)
  }

  /// The bytes of a log with the same records as a library of version 1 wrote them: every page without a base.
  func inVersion1(tie: UInt64) -> [UInt8] {
    guard let head else { return [] }
    func words(_ words: UInt64...) -> [UInt8] {
      words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } }
    }
    var log = Array("KVCLOG01".utf8) + words(0, head.sequence, head.salt, head.base, head.isInUse ? 1 : 0, tie)
    log += head.metas[0] + head.metas[1]
    log += [UInt8](repeating: 0, count: 8192 - log.count)
    Self.sealHeads(&log)
    var previous = head.salt
    for record in records {
      let length = record.pages.reduce(200) { $0 + 16 + $1.bytes.count }
      var bytes =
        Array("KVCREC01".utf8) + words(0, head.salt, record.commit, UInt64(length), UInt64(record.pages.count))
      bytes += record.meta
      for page in record.pages {
        bytes += words(UInt64(page.number), UInt64(page.lower) | UInt64(page.upper) << 32) + page.bytes
      }
      previous = Self.sum(bytes, 16..<length, previous)
      bytes.replaceSubrange(8..<16, with: words(previous))
      log += bytes + [UInt8](repeating: 0, count: (length + 4095) / 4096 * 4096 - length)
    }
    return log
  }
}
