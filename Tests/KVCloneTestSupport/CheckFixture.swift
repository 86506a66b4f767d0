import Foundation
package import KVClone
package import KVCloneCore
package import KVCloneOperations
package import KVCloneRecords
package import Testing

/// A small store with every kind of data, and methods that corrupt it bypassing the store.
package final class CheckFixture {
  package let files: TestStore
  package var store: ObjectStore { files.store }
  package let folder: ObjectID
  /// The 20 items of the folder, so that its lists are in chunks.
  package let items: [ObjectID]
  package let tag: ObjectID
  package let blob: BlobReference

  package static let model = ManagedObjectModel("Check") {
    EntityDescription("Thing", abstract: true) {
      AttributeDescription("title", .string)
      RelationshipDescription("related", toMany: "Thing")
    }
    EntityDescription("Folder", parent: "Thing", unique: [["code"]]) {
      AttributeDescription("code", .string)
      RelationshipDescription("items", toMany: "Item", inverse: "folder")
      RelationshipDescription("sorted", toMany: "Item", inverse: "sortedIn", ordered: true)
      RelationshipDescription("parent", toOne: "Folder", inverse: "children")
      RelationshipDescription("children", toMany: "Folder", inverse: "parent")
    }
    EntityDescription("Item", parent: "Thing", unique: [["folder", "number"]]) {
      AttributeDescription("number", .decimal)
      AttributeDescription("isDone", .boolean)
      AttributeDescription("due", .date)
      AttributeDescription("photo", .binary)
      RelationshipDescription("folder", toOne: "Folder", inverse: "items")
      RelationshipDescription("sortedIn", toMany: "Folder", inverse: "sorted")
      RelationshipDescription("tags", toMany: "Tag", inverse: "items")
      RelationshipDescription("favorite", toOne: "Tag")
    }
    EntityDescription("Tag", unique: [["name"]]) {
      AttributeDescription("name", .string, optional: false)
      RelationshipDescription("items", toMany: "Item", inverse: "tags")
      RelationshipDescription("peers", toMany: "Tag", inverse: "peers")
    }
  }

  package init(engine: TestStore.Engine = .selected) throws {
    files = try TestStore(Self.model, engine: engine)
    (folder, items, tag) = try files.store.write { tx in
      let tag = try tx.insert("Tag", ["name": .string("red")])
      let other = try tx.insert("Tag", ["name": .string("blue")], relationships: ["peers": [tag]])
      let folder = try tx.insert("Folder", ["code": .string("A")])
      try tx.insert("Folder", ["code": .string("B"), "title": .string("two")], relationships: ["parent": [folder]])
      var items: [ObjectID] = []
      for number in 0..<20 {
        items.append(
          try tx.insert(
            "Item", ["number": .decimal(Decimal(number)), "isDone": .boolean(true)],
            relationships: ["folder": [folder], "tags": number < 3 ? [tag, other] : [], "favorite": [tag]]))
      }
      try tx.setMembers(folder, "sorted", items.reversed())
      try tx.setMembers(items[1], "sortedIn", [])
      try tx.setMembers(items[2], "related", [folder, items[0], items[2]])
      try tx.set(items[0], "photo", .binary(Data(repeating: 7, count: 5000)))
      return (folder, items, tag)
    }
    guard case .blob(let blob) = try files.store.value(items[0], "photo") else { throw TestFailure() }
    self.blob = blob
  }

  package struct TestFailure: Error {}

  // MARK: Corrupting

  /// Changes the store without its rules, and commits.
  package func plant(_ change: (inout Session) throws -> Void) throws {
    var session = try store.writeSession(label: "plant")
    try change(&session)
    try WriteTransaction(session).commit(store)
  }

  package var tables: SchemaTables { store.schema.tables }

  package func table(of id: ObjectID) throws -> StorageTable {
    try #require(store.schema.objectTable(rootCode: id.rootCode))
  }

  package func code(_ entity: String, _ relationship: String) throws -> UInt16 {
    try store.schema.entity(entity).relationship(relationship).code
  }

  /// The hidden list of the objects that refer to an object by a relationship without an inverse.
  package func referrers(_ entity: String, _ relationship: String, of id: ObjectID) throws -> ListAddress {
    ListAddress(
      links: tables.links, owner: id,
      relationship: try store.schema.entity(entity).relationship(relationship).inverseCode)
  }

  package func list(_ id: ObjectID, _ entity: String, _ relationship: String) throws -> ListAddress {
    ListAddress(links: tables.links, owner: id, relationship: try code(entity, relationship))
  }

  /// Returns the committed value of a key.
  package func bytes(_ table: StorageTable, _ key: [UInt8]) throws -> [UInt8] {
    let session = try store.readSession()
    let value = try #require(try session.copyOfValue(table, key))
    return value
  }

  /// Returns all committed entries of a table.
  package func entries(_ table: StorageTable) throws -> [MemoryEntry] {
    var entries: [MemoryEntry] = []
    let session = try store.readSession()
    let first: [UInt8] = [0]
    try session.storage.scanToEnd(of: table, from: first.span.bytes) { (key, value) throws(StoreError) in
      entries.append(MemoryEntry(key: key.withUnsafeBytes { Array($0) }, value: value.withUnsafeBytes { Array($0) }))
      return true
    }
    return entries
  }

  /// Changes a value's bytes; `sealed` recomputes the checksum.
  package func tamper(_ table: StorageTable, _ key: [UInt8], sealed: Bool = false, _ change: (inout [UInt8]) -> Void)
    throws
  {
    var value = try bytes(table, key)
    change(&value)
    if sealed { value.seal(table, key) }
    try plant { session in try session.storage.put(table, key.span.bytes, value.span.bytes) }
  }

  package func delete(_ table: StorageTable, _ key: [UInt8]) throws {
    try plant { session in
      let found = try session.storage.delete(table, key.span.bytes)
      #expect(found)
    }
  }

  package func key(_ id: ObjectID) -> [UInt8] { ShortKey.object(id).array }

  /// Changes a record's bytes and seals it.
  package func tamper(record id: ObjectID, sealed: Bool = true, _ change: (inout [UInt8]) -> Void) throws {
    try tamper(try table(of: id), key(id), sealed: sealed, change)
  }

  /// Changes a record through its fields and seals it.
  package func edit(_ id: ObjectID, _ change: (inout RecordBuffer, CompiledEntity) throws -> Void) throws {
    try plant { session in
      let entity = try session.load(id)
      try change(&session.scratch, entity)
      try session.store(id, entity)
    }
  }

  // MARK: Expecting

  /// Checks the store, and expects exactly these issues: each as `kind object property`, absent parts as `-`.
  package func expect(
    _ expected: String..., options: CheckOptions = CheckOptions(), sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let report = try store.check(options)
    let found = report.issues.map { "\($0.kind) \($0.object ?? "-") \($0.property ?? "-")" }
    #expect(
      found.sorted() == expected.sorted(), "\(report.issues.map(\.message))", sourceLocation: sourceLocation)
    #expect(report.issues.allSatisfy { !$0.message.isEmpty }, sourceLocation: sourceLocation)
  }
}

extension Session {
  package borrowing func copyOfValue(_ table: StorageTable, _ key: [UInt8]) throws(StoreError) -> [UInt8]? {
    guard let value = try storage.get(table, key.span.bytes) else { return nil }
    return value.withUnsafeBytes { Array($0) }
  }
}

extension [UInt8] {
  /// Sets the checksum of the value for a key.
  package mutating func seal(_ table: StorageTable, _ key: [UInt8]) {
    guard count >= 8 else { return }
    let seed = ValueEnvelope.seed(tableCode: table.code, key: key)
    withUnsafeMutableBytes { ValueEnvelope.seal($0, seed: seed) }
  }
}
