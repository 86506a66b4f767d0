import Foundation
@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations
import KVCloneTestSupport
import Testing

/// Rule R33: clones record their sources on request.
@Suite("Clone rules: provenance")
struct CloneRulesProvenanceTests {
  /// Three root entities, so that the ids of clones come before and after those of earlier ones.
  private static let model = ManagedObjectModel("Tree") {
    EntityDescription("A") {
      AttributeDescription("name", .string)
      RelationshipDescription("bs", toMany: "B", inverse: "a", deleteRule: .cascade)
    }
    EntityDescription("B") {
      AttributeDescription("name", .string)
      RelationshipDescription("a", toOne: "A", inverse: "bs")
      RelationshipDescription("cs", toMany: "C", inverse: "b", ordered: true, deleteRule: .cascade)
    }
    EntityDescription("C") {
      AttributeDescription("name", .string)
      RelationshipDescription("b", toOne: "B", inverse: "cs")
    }
  }

  private static let recording = CloneOptions.with { $0.recordsProvenance = true }

  private let fixture: CloneStore
  private let root: ObjectID

  init() throws {
    fixture = try CloneStore(Self.model)
    root = try fixture.insert("A", ["name": "a"])
    for _ in 0..<3 {
      let b = try fixture.insert("B", ["name": "b"], ["a": [root]])
      for _ in 0..<2 { try fixture.insert("C", ["name": "c"], ["b": [b]]) }
    }
  }

  private func provenance(_ id: ObjectID) throws -> CloneProvenance? {
    try fixture.store.read { try $0.provenance(of: id) }
  }

  private func tree(_ root: ObjectID) throws -> [ObjectID] {
    let bs = try fixture.members(root, "bs")
    return [root] + bs + (try bs.flatMap { try fixture.members($0, "cs") })
  }

  @Test("R33 every object of a clone has provenance, and only if requested", .tags(.r33))
  func r33_recorded() throws {
    let silent = try fixture.clone([root]).root
    for id in try tree(silent) { #expect(try provenance(id) == nil) }
    for round in 0..<3 {
      let before = try fixture.commit
      let result = try fixture.clone([root], Self.recording)
      let clones = try tree(result.root)
      #expect(clones.count == 10)
      for (source, clone) in zip(try tree(root), clones) {
        let origin = try #require(try provenance(clone), "round \(round)")
        #expect(origin.source == source && origin.sourceStore == nil)
        #expect(origin.sourceCommit == before && origin.cloneCommit == before + 1)
      }
    }
    for id in try tree(root) { #expect(try provenance(id) == nil) }
    #expect(throws: StoreError.self) { try provenance(ObjectID(rootCode: root.rootCode, serial: 999)) }
  }

  @Test("R33 a clone of a clone remembers the clone, and a plain one forgets nothing", .tags(.r33))
  func r33_chain() throws {
    let first = try fixture.clone([root], Self.recording).root
    let second = try fixture.clone([first], Self.recording).root
    #expect(try provenance(second)?.source == first && provenance(first)?.source == root)
    let third = try fixture.clone([second]).root
    #expect(try provenance(third) == nil)
  }

  @Test("R33 provenance goes with the clone, and stays when the source goes", .tags(.r33))
  func r33_deleted() throws {
    let clone = try fixture.clone([root], Self.recording).root
    let kept = try fixture.clone([root], Self.recording).root
    #expect(try entryCount() == 20)
    _ = try fixture.store.write { try $0.delete([clone]) }
    try fixture.expectClean()
    #expect(try entryCount() == 10)
    _ = try fixture.store.write { try $0.delete([root]) }
    #expect(try provenance(kept)?.source == root)
    try fixture.expectClean()
    // In one transaction, too.
    try fixture.store.write { tx in
      let fleeting = try tx.clone([kept], options: Self.recording).root
      #expect(try tx.provenance(of: fleeting)?.source == kept)
      try tx.delete([fleeting, kept])
    }
    #expect(try entryCount() == 0)
    try fixture.expectClean()
  }

  @Test("R33 inside a transaction that changed something, the source's commit is that transaction's", .tags(.r33))
  func r33_transaction() throws {
    let commit = try fixture.commit
    let clone = try fixture.store.write { tx in
      try tx.set(root, "name", "changed")
      return try tx.clone([root], options: Self.recording).root
    }
    let origin = try #require(try provenance(clone))
    #expect(origin.sourceCommit == commit + 1 && origin.cloneCommit == commit + 1)
  }

  @Test("R33 check finds an origin without its clone", .tags(.r33))
  func r33_checked() throws {
    let clone = try fixture.clone([root], Self.recording).root
    try fixture.store.write { tx in
      tx.session.state.hasProvenance = false
      try tx.delete([clone])
    }
    let damages = try fixture.store.check().issues
    #expect(damages.count == 10 && damages.allSatisfy { $0.kind == .history })
    #expect(damages.first?.object == "A/\(clone.serial)")
  }

  private func entryCount() throws -> Int {
    let session = try fixture.store.readSession()
    return Int(try session.storage.entryCount(session.schema.tables.provenance))
  }
}
