import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Review findings, each in the smallest form that showed it.
struct RegressionTests {
  private static let model = ManagedObjectModel("Review") {
    EntityDescription("A") {
      AttributeDescription("name", .string, optional: false)
      AttributeDescription("scratch", .binary, transient: true)
      AttributeDescription("data", .binary)
      RelationshipDescription("bs", toMany: "B", inverse: "as")
    }
    EntityDescription("B") { RelationshipDescription("as", toMany: "A", inverse: "bs") }
  }

  /// A source that violates a rule when it is cloned, and is corrected afterwards, leaves an invalid clone.
  @Test func cloneOfAnUncheckedSourceIsChecked() throws {
    let test = try TestStore(Self.model)
    let issues = expectIssues {
      try test.store.write { tx in
        let source = try tx.insert("A")
        let clone = try tx.clone([source]).root
        // A clone of the clone does not avoid the check, either.
        _ = try tx.clone([clone])
        try tx.set(source, "name", .string("late"))
      }
    }
    #expect(issues == ["requiredValueMissing A.name", "requiredValueMissing A.name"])
    let committed = try test.store.insert("A", ["name": .string("early")])
    let updated = expectIssues {
      try test.store.write { tx in
        try tx.set(committed, "name", nil)
        _ = try tx.clone([committed])
        try tx.set(committed, "name", .string("late"))
      }
    }
    #expect(updated == ["requiredValueMissing A.name"])
    try checked(test.store)
  }

  /// R10: clones copied links that were published before the inverse was cloned, because there were many of them.
  @Test func keptLinksAreThoseOfTheSourceAlone() throws {
    let test = try TestStore(Self.model)
    let count = 520
    #expect(count * count > DeferredLinks.limit)
    let (left, right) = try test.store.write { tx in
      let right = try (0..<count).map { _ in try tx.insert("B") }
      let left = try (0..<count).map { _ in
        try tx.insert("A", ["name": .string("")], relationships: ["bs": right])
      }
      return (left, right)
    }
    var options = CloneOptions()
    options.references = .keepOriginal
    let clones = try test.store.clone(left + right, options: options).roots
    #expect(try test.store.members(clones[0], "bs").count == count)
    #expect(try test.store.members(clones[count], "as").count == count)
    #expect(try test.store.count(left[0], "bs") == 2 * count)
    #expect(try test.store.count(right[0], "as") == 2 * count)
    #expect(try test.store.check().issues.isEmpty)
  }

  /// The bytes of a transient value are available during the transaction, regardless of how they were set.
  @Test func transientBytes() throws {
    let test = try TestStore(Self.model)
    let bytes = Data(repeating: 7, count: 300_000)
    try test.store.write { tx in
      let object = try tx.insert("A", ["name": .string("")])
      try tx.setData(object, "scratch") { try $0.append(bytes) }
      #expect(try tx.data(object, "scratch") == bytes)
      #expect(try tx.value(object, "scratch") == .binary(bytes))
      try tx.set(object, "scratch", .binary(Data([1])))
      #expect(try tx.data(object, "scratch") == Data([1]))
      try tx.set(object, "scratch", nil)
      #expect(try tx.data(object, "scratch") == nil)
    }
    #expect(try test.store.blobCount() == 0)
    try checked(test.store)
  }

  /// A reader of bytes that throws does not have to wait for the remaining bytes.
  @Test func aReaderOfBytesMayStop() throws {
    struct Enough: Error {}
    let test = try TestStore(Self.model)
    let object = try test.store.insert(
      "A", ["name": .string(""), "data": .binary(Data(repeating: 7, count: 3_000_000))])
    try test.store.read { tx in
      var pieces = 0
      #expect(throws: Enough.self) {
        _ = try tx.readData(object, "data") { _ in
          pieces += 1
          throw Enough()
        }
      }
      #expect(pieces == 1)
    }
  }

  /// A writer that aborts while a clone waits for the lock uses serials that the plan has assigned.
  @Test func aPlanSurvivesAnAbortingWriter() throws {
    struct GivenUp: Error {}
    let test = try TestStore(Self.model)
    let store = test.store
    let source = try store.insert("A", ["name": .string("")])
    let plan = try CloneOrigin.transaction.prepare([source], CloneOptions(), CloneMonitor(), nil, store.readSession())
    #expect(throws: GivenUp.self) {
      try store.write { tx in
        try tx.insert("A", ["name": .string("")])
        throw GivenUp()
      }
    }
    let session = try store.writeSession(label: "test")
    let fits = plan.places.areFree(in: session)
    #expect(!fits)
    let again = try CloneOrigin.transaction.prepare([source], CloneOptions(), CloneMonitor(), nil, session)
    let fitsAgain = again.places.areFree(in: session)
    #expect(fitsAgain)
  }

  /// Invalid bytes with valid checksums are reported as errors.
  @Test func liesWithRightChecksumsAreErrors() throws {
    let test = try TestStore(
      ManagedObjectModel("Lies") {
        EntityDescription("Node") {
          RelationshipDescription("leaf", toOne: "Leaf")
          RelationshipDescription("nodes", toMany: "Node", inverse: "back")
          RelationshipDescription("back", toMany: "Node", inverse: "nodes")
        }
        EntityDescription("Leaf") { AttributeDescription("name", .string) }
      })
    let store = test.store
    let node = try store.insert("Node")
    try lie(store, node) { session, entity in
      session.scratch.setToOne(try entity.relationship("leaf").field, ObjectID(rootCode: 0x7000, serial: 5))
    }
    expectError(.objectNotFound) { _ = try store.clone([node]) }
    expectError(.objectNotFound) { _ = try store.planClone([node]) }

    let members = try store.insert("Node", count: 200)
    for count in [0, 1, 9] {
      let hub = try store.insert("Node", relationships: ["nodes": members])
      try lie(store, hub) { session, entity in
        session.scratch.setHead(try entity.relationship("nodes").field, ListHead(count: count, isChunked: true))
      }
      expectError(.corrupted) { try store.unlink(hub, "nodes", Array(members.prefix(10))) }
    }

    var session = try store.writeSession(label: "lie")
    try Metadata.put(
      &session.storage, session.schema.tables.metadata, MetadataKey.serial(rootCode: node.rootCode),
      CounterValue(ObjectID.maximumSerial))
    try WriteTransaction(session).commit(store)
    expectError(.limitExceeded) { _ = try store.clone([members[0], members[1]]) }
    var storage = StorageTransaction(try store.engine.beginWrite(label: "lie", timeout: .seconds(1)))
    let key = MetadataKey.bytes(MetadataKey.commitCounter)
    var value = [UInt8](repeating: 0xFF, count: 16)
    value.seal(store.schema.tables.metadata, key)
    try storage.put(store.schema.tables.metadata, key.span.bytes, value.span.bytes)
    try storage.commit()
    expectError(.corrupted) { try store.insert("Leaf") }
    #expect(try store.check().issues.contains { $0.kind == .metadata })
  }

  private func lie(
    _ store: ObjectStore, _ id: ObjectID, _ change: (inout Session, CompiledEntity) throws -> Void
  ) throws {
    var session = try store.writeSession(label: "lie")
    let entity = try session.load(id)
    try change(&session, entity)
    try session.store(id, entity)
    try WriteTransaction(session).commit(store)
  }
}
