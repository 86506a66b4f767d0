import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// A failed migration leaves the store unchanged, and can be repeated.
@Suite("Migrations that fail", .serialized)
struct MigrationFaultTests {
  /// A migration with every kind of work: rewriting, moving, deleting, linking, indexes.
  static let next = Library.model.next("faults") { draft in
    draft.entities.append(EntityDescription("Root", abstract: true) {})
    draft["Tag"].superentityName = "Root"
    draft.remove(entity: "Comic")
    draft.attribute("Book", "pages") { $0.type = .integer64 }
    draft.relationship("Book", "tags") { $0.isOrdered = true }
    draft.relationship("Book", "cover") { $0.inverseName = "coverOf" }
    draft["Picture"].relationships.append(.init("coverOf", toMany: "Book", inverse: "cover"))
    draft["Tag"].indexes = [FetchIndexDescription("label", [.init("label")])]
    draft.attribute("Thing", "title") { $0.isOptional = false }
  }

  private static func load(_ store: ObjectStore, size: Int) throws {
    let made = GraphGenerator.generate(ModelView(store.model), seed: 4, size: size)
    var text = Array(try made.ndjson(model: ModelView(store.model)).utf8)[...]
    _ = try store.load { buffer in
      defer { text = [] }
      buffer.append(contentsOf: text)
      return !text.isEmpty
    }
  }

  private static func lines(_ store: ObjectStore) throws -> [Substring] {
    var bytes: [UInt8] = []
    _ = try store.dump { span in span.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix(#"{"kvclone""#) }
  }

  private static func migrate(_ engine: any StorageEngine, _ options: MigrationOptions = MigrationOptions()) throws {
    _ = try StoreMigrator.migrate(engine, path: "faulty", to: next, options, StoreOptions())
  }

  @Test("each call of storage fails", arguments: [true, false])
  func everyCall(takesSnapshot: Bool) throws {
    let inner = MemoryStorage()
    try Self.load(try ObjectStore.create(in: inner, model: Library.model), size: 3)
    let before = try Self.lines(try StoreOpening.assemble(inner, path: "m", model: nil, options: StoreOptions()))
    let faulty = FaultyEngine(inner)
    let options = MigrationOptions(takesSnapshot: takesSnapshot)
    var number = 1
    while true {
      faulty.arm(number)
      var thrown: (any Error)?
      do { try Self.migrate(faulty, options) } catch { thrown = error }
      let fired = faulty.fired
      faulty.arm(nil)
      let store = try StoreOpening.assemble(inner, path: "m", model: nil, options: StoreOptions())
      guard let fired else {
        #expect(thrown == nil, "\(thrown.map { "\($0)" } ?? "")")
        #expect(store.model.modelHash == Self.next.modelHash)
        try checked(store)
        return
      }
      let place = "call \(number): \(fired.rawValue)"
      guard thrown is StoreError else {
        Issue.record("\(place): \(thrown.map { "\($0)" } ?? "nothing") was thrown")
        return
      }
      #expect(store.model.modelHash == Library.model.modelHash, "\(place)")
      #expect(try store.snapshots().isEmpty, "\(place)")
      #expect(try Self.lines(store) == before, "\(place)")
      if number % 40 == 1 { try checked(store) }
      number += 1 + number / 40
    }
  }

  @Test("cancelled from another thread")
  func cancelled() throws {
    let migrated = try MigratedStore(Library.model, seed: 2, size: 5)
    let before = try migrated.lines()
    migrated.store.close()
    var calls = 0
    for limit in 0..<60 {
      let cancellation = Cancellation()
      let count = Counter()
      do {
        try migrated.test.migrate(
          to: Self.next,
          progress: { _ in if count.next() == limit { cancellation.cancel() } }, cancellation: cancellation)
        break
      } catch {
        #expect(error.kind == .cancelled, "\(limit): \(error)")
      }
      calls += 1
      try migrated.test.reopen()
      #expect(try migrated.lines() == before, "\(limit)")
      try migrated.check("\(limit)")
      migrated.store.close()
    }
    #expect(calls > 5)
    try migrated.test.reopen()
    #expect(migrated.model.modelHash == Self.next.modelHash)
    try migrated.check("done")
  }

  private final class Counter: @unchecked Sendable {
    private var count = -1
    func next() -> Int {
      count += 1
      return count
    }
  }
}
