import Foundation
import KVClone
package import KVCloneCore
package import KVCloneLMDB
package import KVCloneRecords
package import Testing

/// The engines that must satisfy the contract of the storage interface.
package enum StorageKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case memory
  case lmdb
  /// LMDB with a budget so small that nearly every change spills.
  case spilling
  /// A PostgreSQL cluster, if the tests have one; see ``PostgresServer``.
  case postgres
  /// The cluster without a cache between transactions.
  case postgresUncached

  package static var allCases: [StorageKind] {
    let local: [StorageKind] = [.memory, .lmdb, .spilling]
    #if Postgres
      if PostgresServer.address != nil { return local + [.postgres, .postgresUncached] }
    #endif
    return local
  }

  package var testDescription: String { rawValue }
}

/// An engine with a few tables, removed after the test.
package final class StorageFixture {
  package static let tableCodes: [TableCode] = [.links, .blobs, .indexes]

  package let kind: StorageKind
  package private(set) var engine: any StorageEngine
  package private(set) var tables: [StorageTable] = []
  private let root: String?
  #if Postgres
    private var server: PostgresServer?
  #endif

  package var table: StorageTable { tables[0] }

  package init(_ kind: StorageKind) throws {
    self.kind = kind
    switch kind {
    case .memory:
      root = nil
      engine = MemoryStorage()
    case .postgres, .postgresUncached:
      root = nil
      #if Postgres
        let server = try PostgresServer(caches: kind == .postgres)
        self.server = server
        engine = try server.engine()
      #else
        preconditionFailure("built without the trait Postgres")
      #endif
    case .lmdb, .spilling:
      let root = try temporaryDirectory()
      self.root = root
      engine = LMDBEngine(try LMDBEnvironment.create(at: root + "/store", tables: [], options: Self.options(kind)))
    }
    tables = try engine.openTables(Self.tableCodes, create: true)
  }

  deinit {
    engine.close()
    #if Postgres
      server?.drop()
    #endif
    if let root { try? FileManager.default.removeItem(atPath: root) }
  }

  /// Closes the engine and opens it again.
  package func reopen() throws {
    engine.close()
    if let memory = engine as? MemoryStorage {
      memory.reopen()
    } else if root == nil {
      #if Postgres
        if let server { engine = try server.engine() }
      #endif
    } else {
      engine = LMDBEngine(try LMDBEnvironment.open(at: (root ?? "") + "/store", options: Self.options(kind)))
    }
    tables = try engine.openTables(Self.tableCodes, create: false)
  }

  private static func options(_ kind: StorageKind) -> LMDBOptions {
    var options = LMDBOptions()
    if kind == .spilling { options.spillBudget = 16 << 10 }
    return options
  }

  package func begin() throws -> StorageTransaction {
    StorageTransaction(try engine.beginWrite(label: "test", timeout: .seconds(5)))
  }

  package func beginRead() throws -> StorageTransaction { StorageTransaction(try engine.beginRead()) }

  /// Runs `body` in a write transaction, and commits it.
  package func write(_ body: (inout StorageTransaction) throws -> Void) throws {
    var transaction = try begin()
    try body(&transaction)
    try transaction.commit()
  }

  /// Returns every committed entry of a table.
  package func entries(_ table: StorageTable? = nil) throws -> [MemoryEntry] {
    let transaction = try beginRead()
    return try transaction.entries(table ?? self.table)
  }

  /// Audits LMDB's pages: expects no leaked page, and no page counted twice.
  package func expectSoundPages(sourceLocation: SourceLocation = #_sourceLocation) throws {
    guard let environment = engine.files?.environment else { return }
    let audit = try environment.auditPages()
    #expect(audit.isConsistent, "\(audit)", sourceLocation: sourceLocation)
  }
}

/// The storage interface with arrays.
extension StorageTransaction {
  package borrowing func value(_ table: StorageTable, _ key: [UInt8]) throws(StoreError) -> [UInt8]? {
    guard let value = try get(table, key.span.bytes) else { return nil }
    return value.withUnsafeBytes { Array($0) }
  }

  package borrowing func entry(_ table: StorageTable, _ key: [UInt8], _ mode: StorageSeek) throws(StoreError)
    -> MemoryEntry?
  {
    guard let entry = try seek(table, key.span.bytes, mode) else { return nil }
    return MemoryEntry(key: entry.key.withUnsafeBytes { Array($0) }, value: entry.value.withUnsafeBytes { Array($0) })
  }

  /// Returns the entries from `key` on, at most `limit`.
  package borrowing func entries(_ table: StorageTable, from key: [UInt8] = [], limit: Int = .max) throws(StoreError)
    -> [MemoryEntry]
  {
    var found: [MemoryEntry] = []
    try scanToEnd(of: table, from: key.span.bytes) { (key, value) throws(StoreError) in
      found.append(
        MemoryEntry(key: key.withUnsafeBytes { Array($0) }, value: value.withUnsafeBytes { Array($0) }))
      return found.count < limit
    }
    return found
  }

  package mutating func put(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) throws(StoreError) {
    try put(table, key.span.bytes, value.span.bytes)
  }

  package mutating func append(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) throws(StoreError) {
    try append(table, key.span.bytes, value.span.bytes)
  }

  @discardableResult
  package mutating func delete(_ table: StorageTable, _ key: [UInt8]) throws(StoreError) -> Bool {
    try delete(table, key.span.bytes)
  }
}

/// Returns the kind of error of a change, or nil if it succeeds.
package func failure(
  _ transaction: inout StorageTransaction, _ body: (inout StorageTransaction) throws(StoreError) -> Void
)
  -> StoreError.Kind?
{
  do throws(StoreError) {
    try body(&transaction)
    return nil
  } catch {
    return error.kind
  }
}

/// Returns the kind of error of a read, or nil if it succeeds.
package func readFailure(
  _ transaction: borrowing StorageTransaction, _ body: (borrowing StorageTransaction) throws(StoreError) -> Void
) -> StoreError.Kind? {
  do throws(StoreError) {
    try body(transaction)
    return nil
  } catch {
    return error.kind
  }
}

/// Returns the kind of error of a commit, or nil if it succeeds.
package func commitFailure(_ transaction: consuming StorageTransaction) -> StoreError.Kind? {
  do throws(StoreError) {
    try transaction.commit()
    return nil
  } catch {
    return error.kind
  }
}
