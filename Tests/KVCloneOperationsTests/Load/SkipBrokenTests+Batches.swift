import Foundation
import KVClone
import KVCloneOperations
import KVCloneTestSupport
import Testing

extension SkipBrokenTests {
  // MARK: Files

  @Test("a line whose file is missing or has another size is skipped; blobs of skipped lines are released")
  func files() throws {
    try Data(repeating: 7, count: 5_000).write(to: URL(fileURLWithPath: test.root + "/blob-1"))
    let lines = [
      #"{"id":"List/1","attributes":{"key":"a","data":{"file":"blob-1"},"other":{"file":"blob-2"}}}"#,
      #"{"id":"List/2","attributes":{"key":"b","data":{"file":"blob-1","size":4}}}"#,
      // Skipped at the end, when its blob already exists.
      #"{"id":"List/3","attributes":{"key":"c","rank":10,"data":{"file":"blob-1"}}}"#,
      #"{"id":"List/4","attributes":{"key":"d","data":{"file":"blob-1"}}}"#,
      #"{"id":"List/5","attributes":{"key":"e","data":{"file":"blob-1"}}}"#,
    ]
    try lines.joined(separator: "\n").write(toFile: test.root + "/in.ndjson", atomically: true, encoding: .utf8)
    let result = try store.load(contentsOf: test.root + "/in.ndjson", options: Self.skipping)
    try checked(store)
    #expect(result.skipped.map(\.error.kindName) == ["invalidFile", "invalidFile", "valueTooLarge"])
    #expect(Set(result.ids.keys) == ["List/4", "List/5"])
    #expect(try store.blobCounts().complete == 1)
    for label in ["List/4", "List/5"] {
      let name = try #require(result.ids[label])
      let data = try store.read { tx in try tx.data(try tx.objectID(named: name), "data") }
      #expect(data == Data(repeating: 7, count: 5_000))
    }
  }

  /// Files of `/proc` have other contents than their size indicates, so their lines fail after the object was inserted.
  @Test("lines whose files change while they are read are skipped, each without a repetition of its own")
  func changingFiles() throws {
    let broken = (1...20).map { #"{"id":"List/\#($0)","attributes":{"key":"\#($0)","data":{"file":"version"}}}"# }
    let bytes = Data(repeating: 1, count: 3_000).base64EncodedString()
    let right = #"{"id":"List/99","attributes":{"key":"r","data":{"base64":"\#(bytes)"}}}"#
    var options = Self.skipping
    options.baseDirectory = "/proc"
    let result = try load([right] + broken + [Self.list(30)], options)
    #expect(result.skippedLineCount == 20)
    #expect(result.skipped.allSatisfy { $0.error.kind == .invalidFile && $0.isWholeObject })
    #expect(Set(result.ids.keys) == ["List/99", "List/30"])
    #expect(try store.blobCounts().complete == 1)
  }

  // MARK: Batches, and errors of the whole load

  @Test("batches: each is repeated by itself, and a link to a later batch is left out")
  func batches() throws {
    var options = Self.skipping
    options.batch = 2
    let lines = [
      Self.list(1), #"{"id":"List/2"}"#,
      Self.list(3, #""relationships":{"watchers":["Task/1","Task/2"]}"#), Self.task(1, "List/1"),
      // A forward reference, which is not skipped.
      Self.task(2, "List/1"), Self.list(2),
      Self.task(3, "List/1"), Self.task(4, "List/3"),
      "{", Self.task(5, "List/2"),
    ]
    let result = try load(lines, options)
    #expect(Set(result.ids.keys) == ["List/1", "List/3", "Task/1", "Task/2", "Task/4"])
    #expect(
      result.skipped.map { "\($0.error.line ?? 0) \($0.error.kindName)" } == [
        "2 requiredValueMissing", "3 danglingID", "6 duplicateID", "7 tooManyMembers", "9 unreadableLine",
        "10 requiredRelationshipMissing",
      ])
    #expect(result.counts == ["List": 2, "Task": 3])
    #expect(try store.info().objectCount == 5)
  }

  @Test("batches: one that is repeated forgets its own ids only")
  func repeatedBatches() throws {
    let count = 1_000
    var lines = [#"{"id":"List/7000","attributes":{"key":"same"}}"#]
    // Every batch has a line with the values of the first one.
    for number in 1...count {
      lines += [Self.list(number), #"{"id":"List/\#(7000 + number)","attributes":{"key":"same"}}"#]
    }
    lines += [Self.task(1, "List/7000"), Self.task(2, "List/\(count)"), Self.task(3, "List/7001")]
    var options = Self.skipping
    options.batch = 3
    options.skippedLimit = 10
    let result = try load(lines, options)
    #expect(result.skippedLineCount == count + 1 && result.objectCount == count + 3)
    #expect(result.ids.count == result.objectCount)
    #expect(result.skipped.count == 10)
    for (index, skipped) in result.skipped.enumerated() {
      let message = skipped.error.message
      #expect(message.contains("List/7000 ") && message.contains("List/\(7001 + index) "), "\(message)")
    }
    for (label, list) in [("Task/1", "List/7000"), ("Task/2", "List/\(count)")] {
      let task = try #require(result.ids[label])
      #expect(try store.members(task, "list") == [try #require(result.ids[list])])
    }
  }

  @Test("batches: links to objects that were deleted between two of them are left out")
  func deletedBetweenBatches() throws {
    try fill()
    let text = [
      #"{"id":"List/9","attributes":{"key":"a"},"relationships":{"watchers":["@Task/1"]}}"#, Self.list(8),
      #"{"id":"List/7","attributes":{"key":"b"},"relationships":{"watchers":["@Task/1"]}}"#,
      Self.task(1, "List/8"), Self.task(2, "List/9"),
      #"{"id":"Task/3","relationships":{"list":"List/9","watched":["List/8"]}}"#,
      #"{"id":"Head/1","relationships":{"list":"List/8"}}"#,
    ]
    var options = Self.skipping
    options.batch = 1
    var next = 0
    let result = try store.load(options) { buffer in
      if next == 2 {
        try store.write { tx in
          // List/8 of the text, and the objects that it refers to.
          for name in ["List/3", "Task/1"] { try tx.delete(try tx.objectID(named: name)) }
        }
      }
      buffer += Array((text[next] + "\n").utf8)
      next += 1
      return next < text.count
    }
    try checked(store)
    #expect(
      result.skipped.map { "\($0.error.line ?? 0) \($0.error.kindName) \($0.isWholeObject)" } == [
        "3 objectNotFound false", "4 requiredRelationshipMissing true", "6 danglingID false",
        "7 requiredRelationshipMissing true",
      ], "\(result.skipped.map(\.error.message))")
    #expect(Set(result.ids.keys) == ["List/9", "List/8", "List/7", "Task/2", "Task/3"])
  }

  @Test("a wrong header, UTF-16 and errors of the source fail the load")
  func wholeText() throws {
    var strict = Self.skipping
    strict.isStrict = true
    let header = #"{"kvclone":1,"modelHash":"00"}"#
    for (text, options) in [
      (header + "\n" + Self.list(1), strict), (Self.list(1), strict),
      (#"{"kvclone":2}"# + "\n" + Self.list(1), Self.skipping), ("\u{0}{" + "\n" + Self.list(1), Self.skipping),
    ] {
      #expect(throws: TransferError.self) { try store.load(options, from: Self.source(text)) }
    }
    struct SourceError: Error {}
    var calls = 0
    #expect(throws: SourceError.self) {
      try store.load(Self.skipping) { buffer in
        calls += 1
        if calls > 1 { throw SourceError() }
        buffer += Array(Self.list(1).utf8)
        return true
      }
    }
    var options = StoreOptions()
    options.maximumObjectCount = 2
    try test.reopen(options: options)
    #expect(throws: (any Error).self) { try load((1...3).map { Self.list($0) } + ["{"]) }
    #expect(try store.info().objectCount == 0)
    try checked(store)
  }

  @Test("with a required header, a first line that cannot be read is not skipped", arguments: ["{", "[]", "", " \r"])
  func unreadableHeader(_ first: String) throws {
    var strict = Self.skipping
    strict.isStrict = true
    let error = #expect(throws: TransferError.self) { try load([first, Self.list(1)], strict) }
    #expect(error?.line == 1)
    #expect(try store.info().objectCount == 0)
    strict.skipsBroken = false
    #expect(throws: TransferError.self) { try load([first, Self.list(1)], strict) }
  }

  @Test("what committed batches skipped is reported before a later one fails")
  func committedSkips() throws {
    struct SourceError: Error {}
    let text = [#"{"id":"List/1"}"#, Self.list(2), "{"]
    let observed = SharedSkips()
    var options = Self.skipping
    options.batch = 1
    options.commitObserver = { commit in
      if case .succeeded(_, let skips?) = commit { observed.add(skips) }
    }
    var next = 0
    #expect(throws: SourceError.self) {
      try store.load(options) { buffer in
        if next == 3 { throw SourceError() }
        buffer += Array((text[next] + "\n").utf8)
        next += 1
        return true
      }
    }
    #expect(observed.skips.map(\.lineCount) == [1, 1, 2])
    #expect(observed.skips.last?.skipped.map(\.error.line) == [1, 3])
    #expect(observed.skips.last?.linkCount == 0)
    #expect(try store.info().objectCount == 1)
    try checked(store)
  }

  @Test("a text without broken lines loads the same store with and without the option", arguments: [nil, 1, 7])
  func clean(_ batch: Int?) throws {
    var lines: [String] = []
    for number in 1...60 {
      lines.append(Self.list(number))
      lines.append(Self.task(number, "List/\(number)"))
      lines.append(
        #"{"id":"Head/\#(number)","relationships":{"list":"List/\#(number)"}}"#)
    }
    let second = try TestStore(Self.model)
    var options = Self.skipping
    options.batch = batch
    let skipping = try load(lines, options)
    options.skipsBroken = false
    let plain = try second.store.load(options, from: Self.source(lines.joined(separator: "\n")))
    #expect(skipping == plain && skipping.objectCount == 180 && skipping.skipped.isEmpty)
    #expect(try dump(store) == dump(second.store))
    #expect(try store.info().commit == second.store.info().commit)
  }
}

/// The numbers of lines that a load has reported.
final class SharedLines: @unchecked Sendable {
  private let lock = NSLock()
  private var all: [Int] = []

  var lines: [Int] { lock.withLock { all } }

  func add(_ lines: Int) { lock.withLock { all.append(lines) } }
}

/// The lines that a load has reported as skipped.
private final class SharedSkips: @unchecked Sendable {
  private let lock = NSLock()
  private var all: [LoadSkips] = []

  var skips: [LoadSkips] { lock.withLock { all } }

  func add(_ skips: LoadSkips) { lock.withLock { all.append(skips) } }
}
