import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Logging
import Synchronization
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// Log messages and errors of a store contain no stored values.
@Suite("Logs and errors without values")
struct LogTests {
  /// Contained in all values, keys, names and texts that a caller passes. Short enough for any place that truncates.
  private static let marker = "Zq7"

  private static func model(indexed: Bool = false, version: Int = 1) -> ManagedObjectModel {
    ManagedObjectModel("Log", version: "Log \(version)") {
      EntityDescription(
        "Note", unique: [["code"]], indexes: indexed ? [FetchIndexDescription("byName", [.init("name")])] : [],
        userInfo: ["hint": marker]
      ) {
        AttributeDescription("name", .string, default: .string(marker))
        AttributeDescription("code", .string)
        AttributeDescription("data", .binary)
        AttributeDescription("link", .uri)
        AttributeDescription("limited", .string, max: 8)
        AttributeDescription("place", .composite, elements: [AttributeDescription("street", .string)])
        AttributeDescription("folded", .string, derivation: "canonical:(name)")
        if version > 1 { AttributeDescription("stars", .integer16, optional: false, default: 3) }
        RelationshipDescription("folder", toOne: "Folder", inverse: "notes")
      }
      EntityDescription("Folder") {
        AttributeDescription("name", .string)
        AttributeDescription("count", .integer64, derivation: "notes.@count")
        RelationshipDescription("notes", toMany: "Note", inverse: "folder", deleteRule: .deny)
      }
    }
  }

  private let log = LogLines()
  private let test: TestStore
  private let errors = LogLines()

  private func options(readOnly: Bool = false) -> StoreOptions {
    var options = StoreOptions()
    options.logger = log.logger
    options.author = Self.marker
    options.isReadOnly = readOnly
    if !readOnly { options.tracksHistory = true }
    return options
  }

  init() throws {
    var options = StoreOptions()
    options.logger = log.logger
    options.author = Self.marker
    options.tracksHistory = true
    test = try TestStore(Self.model(), options: options)
    try Self.fill(test.store)
  }

  private static func fill(_ store: ObjectStore) throws {
    let marker = self.marker
    try store.write(label: marker) { tx in
      tx.operation = marker
      let folder = try tx.insert("Folder", ["name": .string(marker)])
      for number in 0..<20 {
        try tx.insert(
          "Note",
          [
            "name": .string("\(marker) \(number)"), "code": number < 2 ? .string("\(marker)\(number)") : nil,
            "data": .binary(Data(repeating: 0x5A, count: 5_000) + Data(marker.utf8)), "link": .uri("x:\(marker)"),
            "place": .composite(["street": .string(marker)]),
          ], relationships: ["folder": [folder]])
      }
    }
  }

  /// Expects an error, and records its text.
  private func refused(_ body: () throws -> Void, _ location: SourceLocation = #_sourceLocation) {
    do {
      try body()
      Issue.record("nothing was thrown", sourceLocation: location)
    } catch {
      let cause = (error as? StoreError)?.underlyingError
      errors.add("\(error) \(String(reflecting: error)) \(cause.map { "\($0)" } ?? "")")
    }
  }

  /// Expects that every place that logs has logged, and that no line or error has the marker.
  private func expectNothing(telling parts: [String], _ location: SourceLocation = #_sourceLocation) {
    let lines = log.lines
    for part in parts { #expect(lines.contains { $0.contains(part) }, "\(part): \(lines)", sourceLocation: location) }
    let telling = (lines + errors.lines).filter { $0.contains(Self.marker) }
    #expect(telling.isEmpty, "\(telling)", sourceLocation: location)
  }

  @Test("a line with a value would be found")
  func control() {
    // A separate logger: an opening may have logged, depending on the machine and the LMDB release.
    let log = LogLines()
    log.logger.trace("of \(Self.marker)")
    log.logger.info("nothing", metadata: ["deep": ["list": [.string(Self.marker)]]])
    log.logger.info("nothing")
    #expect(log.lines.map { $0.contains(Self.marker) } == [true, true, false])
  }

  @Test("reading, writing, cloning, snapshots, history, loads, backups, and all that is refused")
  func work() throws {
    let store = test.store
    let marker = Self.marker
    let notes = try store.objects("Note")
    let folder = try store.objects("Folder")
    try store.createSnapshot(named: marker, userInfo: ["by": marker])
    var cloning = CloneOptions()
    cloning.idempotencyKey = marker
    try store.clone([notes[5]], options: cloning)
    cloning.maxObjects = 0
    refused { try store.clone([notes[6]], options: cloning) }
    refused { try store.clone([notes[0]]) }
    let upload = try store.stageBlob { writer in try writer.append(Data(marker.utf8)) }
    try store.write { tx in try tx.setData(notes[3], "data", upload) }
    refused { try store.insert("Note", ["code": .string("\(marker)0")]) }
    refused { try store.insert("Note", ["limited": .string(marker + marker + marker)]) }
    refused { try store.insert("Note", ["name": .integer(7)]) }
    refused { try store.set(notes[0], "place", .composite(["street": 1])) }
    refused { try store.delete(folder) }
    refused { _ = try store.load(text: #"{"id":"Note/1","attributes":{"limited":"\#(marker)\#(marker)\#(marker)"}}"#) }
    refused { _ = try store.load(text: #"{"id":"Note/1","attributes":{"code":"\#(marker)0"}}"#) }
    refused { _ = try store.load(text: #"{"id":"Note/1","attributes":{"data":{"base64":"\#(marker)!"}}}"#) }
    refused { _ = try store.load(text: #"{"id":"Note/1","attributes":{"data":{"file":"\#(marker)"}}}"#) }
    refused { _ = try store.load(text: #"{"id":"Note/1","attributes":{"name":"\#(marker)\u{1}"}}"#) }
    try store.delete([notes[19]])
    #expect(try store.history().count > 3)
    #expect(try store.check(CheckOptions(readData: true)).isClean)
    try store.backup(to: test.root + "/backup")
    try store.backup(to: test.root + "/increment", options: BackupOptions(since: marker))
    try ObjectStore.restore(from: [test.root + "/backup"], to: test.root + "/restored")
    try store.rollback(to: store.snapshot(named: marker))
    try store.deleteSnapshots(named: [marker])
    expectNothing(telling: [])
  }

  @Test("a migration, automatic at opening and explicit")
  func migration() throws {
    var migrating = options()
    migrating.automaticMigration = MigrationOptions()
    refused { try test.reopen(model: Self.model(version: 2), options: options()) }
    try test.reopen(model: Self.model(version: 2), options: migrating)
    test.store.close()
    let third = Self.model(indexed: true, version: 2).next("Log 3") { draft in
      draft.attribute("Note", "name") { $0.type = .integer64 }
    }
    // A value that cannot be converted to a number is reported, and not shown.
    refused { try test.migrate(to: third, options: options()) }
    let fourth = Self.model(version: 2).next("Log 4") { draft in
      draft["Note"].uniquenessConstraints.append(["link"])
    }
    refused { try test.migrate(to: fourth, options: options()) }
    try test.reopen(options: options())
    expectNothing(telling: [])
  }

  @Test("a damaged record, and the indexes and derived attributes that cannot be made for it", .needsDataFile(.salvage))
  func damage() throws {
    let schema = test.store.schema
    let table = try schema.entity("Note").table
    let id = try #require(try test.store.objects("Note").first)
    let key = ShortKey.object(id).array
    try test.store.overwrite(table, key, Array(String(repeating: Self.marker, count: 30).utf8))
    refused { _ = try test.store.value(id, "name") }
    refused { try test.store.clone([id]) }
    try test.reopen(model: Self.model(indexed: true), options: options())
    let report = try test.store.check()
    #expect(!report.isClean)
    for damage in report.issues { errors.add("\(damage)") }
    refused { try test.store.backup(to: test.root + "/backup") }
    try forgetDerived()
    try test.reopen(options: options(readOnly: true))
    try test.reopen(options: options())
    test.store.close()
    let result = try ObjectStore.salvage(from: test.path, to: test.root + "/salvaged")
    errors.add("\(result)")
    expectNothing(telling: ["indexes could not be built", "were not computed", "could not be computed"])
  }

  @Test("staged data that cannot be swept, under an invalid name")
  func staging() throws {
    let metadata = test.store.schema.tables.metadata
    let bytes = Array(Self.marker.utf8)
    try test.store.overwrite(metadata, Array(StagingKey.prefix.utf8) + bytes, bytes)
    #expect(try !test.store.check().isClean)
    try test.reopen(options: options())
    expectNothing(telling: ["could not be deleted"])
  }

  private func forgetDerived() throws {
    var session = try test.store.writeSession(label: "plant")
    let key = MetadataKey.bytes(MetadataKey.derivations)
    try session.storage.delete(test.store.schema.tables.metadata, key.span.bytes)
    session.changes.isEmpty = false
    try WriteTransaction(session).commit(test.store)
  }
}

extension ObjectStore {
  fileprivate func load(text: String) throws -> LoadResult {
    var rest = Array(text.utf8)
    return try load { buffer in
      buffer.append(contentsOf: rest)
      defer { rest = [] }
      return !rest.isEmpty
    }
  }
}

/// A logger that stores all messages with their metadata.
final class LogLines: Sendable {
  private let told = Mutex<[String]>([])

  var lines: [String] { told.withLock { $0 } }

  var logger: Logger {
    var logger = Logger(label: "log") { _ in Handler(lines: self) }
    logger.logLevel = .trace
    return logger
  }

  func add(_ line: String) { told.withLock { $0.append(line) } }

  private struct Handler: LogHandler {
    let lines: LogLines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      lines.add("\(event.level) \(event.message) \(metadata) \(event.metadata ?? [:])")
    }
  }
}
