import Foundation
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// A load with a slow source blocks no writer, and has the same result as a load of a file.
@Suite("Load: slow sources")
struct LoadSpoolTests {
  private static let model = ManagedObjectModel("Slow") {
    EntityDescription("Item") {
      AttributeDescription("name", .string)
      RelationshipDescription("next", toOne: "Item", inverse: "previous")
      RelationshipDescription("previous", toMany: "Item", inverse: "next")
    }
  }

  private let test: TestStore
  private var store: ObjectStore { test.store }

  init() throws {
    test = try TestStore(Self.model)
  }

  private static func line(_ number: Int, next: Int? = nil) -> String {
    let link = next.map { #","relationships":{"next":"Item/\#($0)"}"# } ?? ""
    return #"{"id":"Item/\#(number)","attributes":{"name":"\#(number)"}\#(link)}"# + "\n"
  }

  private func dump(_ store: ObjectStore) throws -> String {
    var bytes: [UInt8] = []
    _ = try store.dump { piece in piece.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    let text = String(decoding: bytes, as: UTF8.self)
    // The header contains the store's UUID.
    return text.split(separator: "\n").dropFirst().joined(separator: "\n")
  }

  @Test("others write while the source delivers, with batches and without", arguments: [nil, 1, 2, 10])
  func sourceRunsWithoutLock(_ batch: Int?) throws {
    var options = LoadOptions()
    options.batch = batch
    var delivered = 0
    let result = try store.load(options) { buffer in
      // Within the load's transaction, this would fail with `nestedWrite`.
      _ = try store.write { transaction in try transaction.insert("Item", ["name": .string("other")]) }
      delivered += 1
      buffer += Array(Self.line(delivered).utf8)
      return delivered < 5
    }
    #expect(result.objectCount == 5)
    #expect(try store.info().objectCount == 10)
    try checked(store)
  }

  @Test("a batch is committed as soon as its lines are there")
  func batchesAreNotHeldBack() throws {
    var options = LoadOptions()
    options.batch = 2
    var counts: [Int] = []
    var delivered = 0
    _ = try store.load(options) { buffer in
      counts.append(try store.info().objectCount)
      delivered += 1
      buffer += Array((Self.line(2 * delivered - 1) + Self.line(2 * delivered)).utf8)
      return delivered < 4
    }
    #expect(counts == [0, 2, 4, 6])
    #expect(try store.info().objectCount == 8)
  }

  @Test("a named pipe is spooled; others write at the same time, and batches are not held back")
  func namedPipe() throws {
    let pipe = test.root + "/pipe"
    #expect(mkfifo(pipe, 0o600) == 0)
    let store = self.store
    let failure = Mutex<(any Error)?>(nil)
    let writer = Thread {
      do {
        let handle = try #require(FileHandle(forWritingAtPath: pipe))
        for number in 1...3 {
          try handle.write(contentsOf: Data(Self.line(number).utf8))
          // Would wait for the load's write lock, and fail.
          _ = try store.write(timeout: .seconds(60)) { transaction in try transaction.insert("Item") }
          // A line is a batch, and is committed before the next one arrives.
          let deadline = Date(timeIntervalSinceNow: 300)
          while try store.info().objectCount < 2 * number, Date() < deadline { usleep(1_000) }
          #expect(try store.info().objectCount == 2 * number)
        }
        try handle.close()
      } catch {
        failure.withLock { $0 = error }
      }
    }
    writer.start()
    var options = LoadOptions()
    options.batch = 1
    #expect(try store.load(contentsOf: pipe, options: options).objectCount == 3)
    #expect(failure.withLock { $0 } == nil)
    #expect(try store.info().objectCount == 6)
    try checked(store)
  }

  @Test("in its turn, too: other asynchronous writes do not wait for the pipe")
  func namedPipeInTurn() async throws {
    let pipe = test.root + "/pipe"
    #expect(mkfifo(pipe, 0o600) == 0)
    let store = self.store
    var options = LoadOptions()
    options.batch = 2
    let received = SharedCount()
    options.spoolProgress = { received.set($0) }
    let load = Task { [options] in try await LoadRun.loadInTurn(contentsOf: pipe, options, into: store) }
    // Opened for reading and writing, so that neither end waits for the other.
    let handle = try #require(FileHandle(forUpdatingAtPath: pipe))
    for number in 1...3 {
      try handle.write(contentsOf: Data(Self.line(number).utf8))
      _ = try await store.write { transaction in try transaction.insert("Item") }
    }
    let total = UInt64((1...3).map { Self.line($0).utf8.count }.reduce(0, +))
    while received.value < total { try await Task.sleep(for: .milliseconds(1)) }
    try handle.close()
    #expect(try await load.value.objectCount == 3)
    #expect(try store.info().objectCount == 6)
  }

  @Test("a header of another model is refused before the source is read to its end")
  func headerFirst() throws {
    var options = LoadOptions()
    options.isStrict = true
    let hash = try store.info().modelHash
    for (first, isRefused) in [
      (#"{"kvclone":1,"modelHash":"00"}"#, true), (#"{"kvclone":2}"#, true), (#"{"id":"Item/1"}"#, true),
      (#"{"kvclone":1,"modelHash":"\#(hash)"}"#, false),
    ] {
      var calls = 0
      let text = Array((first + "\n").utf8)
      let error = Result {
        try store.load(options) { buffer in
          defer { calls += 1 }
          // The line arrives in two parts.
          if calls < 2 { buffer += calls == 0 ? text.prefix(9) : text.dropFirst(9) }
          return calls < 20
        }
      }
      switch error {
      case .success: #expect(!isRefused, "\(first)")
      case .failure(let error):
        #expect((error as? TransferError)?.kind == .incompatibleHeader && (error as? TransferError)?.line == 1)
        #expect(isRefused && calls == 2, "\(first): after \(calls) calls, \(error)")
      }
    }
  }

  @Test("a store that may not be written does not ask the source")
  func readOnly() throws {
    self.store.close()
    var options = StoreOptions()
    options.isReadOnly = true
    let store = try test.openAgain(options: options)
    defer { store.close() }
    expectError(.readOnly) {
      _ = try store.load { _ in
        Issue.record("the source was asked")
        return false
      }
    }
  }

  @Test("progress of the spooling comes before that of the load, and ends with all bytes")
  func progress() throws {
    let seen = Mutex<[String]>([])
    var options = LoadOptions()
    options.spoolProgress = { bytes in seen.withLock { $0.append("spool \(bytes)") } }
    options.progress = { lines, _ in seen.withLock { $0.append("load \(lines)") } }
    let text = Array((1...2_048).map { Self.line($0) }.joined().utf8)
    var rest = text[...]
    _ = try store.load(options) { buffer in
      buffer += rest.prefix(50_000)
      rest = rest.dropFirst(50_000)
      return !rest.isEmpty
    }
    let lines = seen.withLock { $0 }
    #expect(lines.filter { $0.hasPrefix("spool") }.last == "spool \(text.count)")
    #expect(lines.suffix(2) == ["load 1024", "load 2048"])
  }

  /// Random texts in random parts and batches, valid and invalid, into two stores: one from a source, one from a file.
  @Test("a source and a file with the same text come to the same", arguments: LoadSeeds.seeds)
  func sameAsFile(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for round in 0..<12 {
      let (first, second) = (try TestStore(Self.model), try TestStore(Self.model))
      let text = Self.text(&generator)
      var options = LoadOptions()
      options.batch = generator.chance(in: 2) ? nil : generator.below(6) + 1
      options.isStrict = generator.chance(in: 8)
      let file = first.root + "/in.ndjson"
      try Data(text.utf8).write(to: URL(fileURLWithPath: file))
      var rest = Array(text.utf8)[...]
      var pieces = generator
      let found = Self.outcome {
        try second.store.load(options) { buffer in
          let count = pieces.chance(in: 5) ? 0 : pieces.below(pieces.chance(in: 4) ? 400 : 9)
          buffer += rest.prefix(count)
          rest = rest.dropFirst(count)
          return !rest.isEmpty
        }
      }
      let place: Comment = "seed \(seed), round \(round), batch \(options.batch ?? 0): \(text)"
      let expected = Self.outcome { try first.store.load(contentsOf: file, options: options) }
      #expect(found == expected, place)
      #expect(try dump(first.store) == dump(second.store), place)
      try checked(second.store)
    }
  }

  /// Returns the counts, or the text of the error.
  private static func outcome(_ body: () throws -> LoadResult) -> String {
    do { return "\(try body().counts)" } catch { return (error as? any KVCloneError)?.message ?? "\(error)" }
  }

  private static func text(_ generator: inout SeededGenerator) -> String {
    var text = generator.chance(in: 4) ? #"{"kvclone":1}"# + "\n" : ""
    let count = generator.below(14)
    for number in 1...max(1, count) {
      switch generator.below(12) {
      case 0: text += "\n"
      case 1: text += " \r\n"
      case 2 where generator.chance(in: 3): text += "nonsense\n"
      default:
        // Forward references, too, and sometimes missing targets.
        text += line(number, next: generator.chance(in: 2) ? nil : generator.below(count + 2) + 1)
      }
    }
    if generator.chance(in: 3), text.hasSuffix("\n") { text.removeLast() }
    return text
  }
}

private final class SharedCount: Sendable {
  private let state = Mutex<UInt64>(0)

  var value: UInt64 { state.withLock { $0 } }

  func set(_ value: UInt64) { state.withLock { $0 = value } }
}

/// KVCLONE_SEEDS, or one fixed and one random seed.
private enum LoadSeeds {
  static let seeds: [UInt64] = {
    let given = ProcessInfo.processInfo.environment["KVCLONE_SEEDS"] ?? ""
    let seeds = given.split(separator: ",").compactMap { UInt64($0) }
    return seeds.isEmpty ? [1, .random(in: 0 ... .max)] : seeds
  }()
}
