import Foundation
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// Clones in savepoints: a failed or rolled-back one leaves no trace, and its transaction stays usable.
@Suite("Clones in savepoints")
struct CloneSavepointTests {
  private struct Refusal: Error {}

  private let test: ContractStore
  private let source: ContractLibrary
  private var store: ObjectStore { test.store }

  init() throws {
    test = try ContractStore(contractModel)
    source = try test.store.write { tx in try ContractLibrary(&tx) }
  }

  private func rollingBack(
    _ tx: inout WriteTransaction, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (inout WriteTransaction) throws -> Void
  ) throws {
    do {
      try tx.savepoint { tx in
        try body(&tx)
        throw Refusal()
      }
      Issue.record("the error was swallowed", sourceLocation: sourceLocation)
    } catch is Refusal {}
  }

  /// Runs `body` in a savepoint that fails, alone in a transaction and between other changes.
  private func expectNoTrace(
    _ place: String = "", sourceLocation: SourceLocation = #_sourceLocation,
    _ body: @escaping (inout WriteTransaction) throws -> Void
  ) throws {
    let before = try StoreImage(store)
    func failing(_ tx: inout WriteTransaction) {
      do {
        try tx.savepoint { tx in
          try body(&tx)
          throw Refusal()
        }
        Issue.record("the error was swallowed", sourceLocation: sourceLocation)
      } catch {}
    }
    try store.write { tx in failing(&tx) }
    let differences = try StoreImage(store).differences(to: before)
    #expect(differences.isEmpty, "\(differences.prefix(3)) \(place)", sourceLocation: sourceLocation)
    let other = try store.write { tx in
      let other = try tx.insert("Doc", ["title": "between"])
      failing(&tx)
      try tx.set(other, "title", "after")
      return other
    }
    #expect(try store.value(other, "title") == "after", sourceLocation: sourceLocation)
    try test.expectClean(place, sourceLocation)
    try store.delete([other])
    try test.expectClean(place, sourceLocation)
    #expect(try store.objects("Doc") == [source.doc], sourceLocation: sourceLocation)
  }

  @Test(
    "R1, R25, R33: a clone that is rolled back leaves no objects, no references to blobs, no provenance",
    .tags(.r1, .r25, .r33), arguments: [1, 3], [CloneOptions.Blobs.share, .copy])
  func rolledBack(_ count: Int, _ blobs: CloneOptions.Blobs) throws {
    let blobCount = try store.blobCount()
    try expectNoTrace { tx in
      let options = CloneOptions.contract(count: count) {
        $0.recordsProvenance = true
        $0.blobs = blobs
      }
      let result = try tx.clone([source.doc], options: options)
      let cover = try tx.data(result.root, "cover")
      #expect(cover?.count == 2000)
      let origin = try tx.provenance(of: result.root)
      #expect(origin?.source == source.doc)
    }
    #expect(try store.blobCount() == blobCount)
    // The reference counts of the blobs are correct: the last reference deletes the bytes.
    try store.delete(try store.objects("Doc"))
    #expect(try store.blobCount() == 0)
    try test.expectClean()
  }

  @Test("R1: a clone that fails in its plan, in a hook or half way through spoils its savepoint only", .tags(.r1))
  func failed() throws {
    let failing: [(String, (inout CloneOptions) -> Void)] = [
      ("limit", { $0.maxObjects = 2 }), ("unknown", { $0.excludedRelationshipNames = ["nothing"] }),
      ("willClone", { $0.willClone = { _, _ in throw Refusal() } }),
      ("didClone", { $0.didClone = { _, _, _ in throw Refusal() } }),
      (
        "didClone after changes",
        {
          $0.didClone = { tx, source, clone in
            try tx.delete([source])
            throw Refusal()
          }
        }
      ),
    ]
    for (name, change) in failing {
      var options = CloneOptions()
      change(&options)
      try expectNoTrace(name) { [options] tx in
        do {
          _ = try tx.clone([source.doc], options: options)
          Issue.record("nothing was thrown, \(name)")
        } catch {}
      }
    }
  }

  @Test("a clone that failed makes its savepoint throw, also where its error was swallowed", .tags(.r1))
  func swallowed() throws {
    let id = try store.write { tx in
      let id = try tx.insert("Doc", ["title": "mine"])
      expectError(.transactionAborted) {
        try tx.savepoint { tx in
          try tx.set(id, "title", "lost")
          _ = try? tx.clone([source.doc], options: .with { $0.maxObjects = 2 })
        }
      }
      // The next clone succeeds.
      let clone = try tx.savepoint { tx in try tx.clone(source.doc) }
      try tx.set(clone, "title", "clone")
      return id
    }
    #expect(try store.value(id, "title") == "mine" && store.objects("Doc").count == 3)
    try test.expectClean()
  }

  @Test("R31: the key of a clone that was rolled back is free", .tags(.r31))
  func key() throws {
    let options = CloneOptions.with {
      $0.idempotencyKey = "once"
      $0.recordsProvenance = true
    }
    let results = try store.write { tx in
      try rollingBack(&tx) { tx in
        let result = try tx.clone([source.doc], options: options)
        #expect(!result.isRepeated)
      }
      let kept = try tx.savepoint { tx in try tx.clone([source.doc], options: options) }
      try rollingBack(&tx) { tx in
        let again = try tx.clone([source.doc], options: options)
        #expect(again.isRepeated && again.root == kept.root)
      }
      return [kept, try tx.clone([source.doc], options: options)]
    }
    #expect(!results[0].isRepeated && results[1].isRepeated && results[0].root == results[1].root)
    #expect(try store.objects("Doc").count == 2)
    #expect(try store.clone([source.doc], options: options).isRepeated)
    try test.expectClean()
  }

  @Test("clones that are kept between others that are rolled back", .tags(.r2, .r33))
  func between() throws {
    let roots = try store.write { tx in
      var roots: [ObjectID] = []
      for number in 0..<10 {
        do {
          try tx.savepoint { tx in
            let root = try tx.clone([source.doc], options: .with { $0.recordsProvenance = true }).root
            try tx.set(root, "title", .string("clone \(number)"))
            if number % 2 == 1 { throw Refusal() }
            roots.append(root)
          }
        } catch is Refusal {}
      }
      return roots
    }
    #expect(roots.count == 5)
    #expect(try store.objects("Doc").sorted() == ([source.doc] + roots).sorted())
    for (place, root) in roots.enumerated() {
      #expect(try store.value(root, "title") == .string("clone \(2 * place)"))
      #expect(try store.members(root, "pages").count == 3)
      #expect(try store.read { try $0.provenance(of: root) }?.source == source.doc)
    }
    try test.expectClean()
  }

  @Test("a savepoint inside `didClone`, kept and rolled back", .tags(.r30))
  func insideHook() throws {
    let result = try store.clone(
      [source.doc],
      options: .with {
        $0.didClone = { tx, source, clone in
          guard try tx.entityName(of: clone) == "Doc" else { return }
          try tx.savepoint { tx in try tx.set(clone, "title", "kept") }
          do {
            try tx.savepoint { tx in
              try tx.delete([source])
              throw Refusal()
            }
          } catch is Refusal {}
        }
      })
    #expect(try store.value(result.root, "title") == "kept" && store.exists(source.doc))
    #expect(try store.members(result.root, "pages").count == 3)
    try test.expectClean()
  }

  @Test("a clone of an object that a savepoint inserted, and of one that it changed", .tags(.r1))
  func uncommitted() throws {
    let clone = try store.write { tx in
      try rollingBack(&tx) { tx in
        let other = try ContractLibrary(&tx)
        _ = try tx.clone([other.doc])
        try tx.set(source.doc, "title", "lost")
        let clone = try tx.clone(source.doc)
        let title = try tx.value(clone, "title")
        #expect(title == "lost")
      }
      return try tx.clone(source.doc)
    }
    #expect(try store.value(clone, "title") != "lost" && store.objects("Doc").count == 2)
    try test.expectClean()
  }
}
