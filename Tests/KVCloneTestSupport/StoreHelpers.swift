import Foundation
import KVClone
package import KVCloneCore
package import KVCloneModel
import KVCloneRecords
package import Testing

extension ObjectStore {
  /// Creates a store in an empty engine.
  package static func create(in engine: any StorageEngine, model: ManagedObjectModel) throws -> ObjectStore {
    let catalog = try StoreCatalog(new: model)
    let tables = try engine.openTables(catalog.tableCodes, create: true)
    let metadata = try #require(tables.first { $0.code == .metadata })
    var transaction = StorageTransaction(try engine.beginWrite(label: "create", timeout: .seconds(5)))
    for entry in try catalog.entries(uuid: UUID(), created: Date()) {
      try transaction.put(metadata, entry.key, entry.value)
    }
    try transaction.commit()
    return try StoreOpening.assemble(engine, path: "engine", model: nil, options: StoreOptions())
  }

  /// Writes raw bytes into a table.
  package func overwrite(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) throws {
    var storage = StorageTransaction(try engine.beginWrite(label: "test", timeout: .seconds(5)))
    try storage.put(table, key.span.bytes, value.span.bytes)
    try storage.commit()
  }

  package func members(_ name: String, _ relationship: String) throws -> [String] {
    try read { transaction in
      let id = try transaction.objectID(named: name)
      var result: [String] = []
      for member in try transaction.members(id, relationship) { result.append(try transaction.name(of: member)) }
      return result
    }
  }

  package func expectNoPreviousStates(sourceLocation: SourceLocation = #_sourceLocation) throws {
    let session = try readSession()
    let count = try session.storage.entryCount(session.schema.tables.preimages)
    #expect(count == 0, "previous states that nobody needs", sourceLocation: sourceLocation)
  }
}

extension StoreOptions {
  /// Returns options for a store with a history.
  package static func tracking(author: String = "") -> StoreOptions {
    var options = StoreOptions()
    options.tracksHistory = true
    options.author = author
    return options
  }
}
