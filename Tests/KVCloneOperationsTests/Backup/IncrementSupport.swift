import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneBranches
@testable import KVCloneCore
@testable import KVCloneOperations

/// Shared code of the tests of incremental backups.
enum Increments {
  /// Returns all entries of all tables, as stored in the file.
  static func entries(_ store: ObjectStore) throws -> [String: [MemoryEntry]] {
    // Opened before the reader begins, which would not see them.
    let redirects = try #require(try store.engine.openTables([.redirects], create: false).first)
    let branches = try BranchTables.all(of: store.engine, store.schema.tables)
    let session = try store.readSession()
    var all: [String: [MemoryEntry]] = [:]
    for table in [redirects] + store.schema.tables.all + branches {
      var entries: [MemoryEntry] = []
      try session.forEachEntry(table) { (key, value) throws(StoreError) in
        entries.append(MemoryEntry(key: key.withUnsafeBytes { Array($0) }, value: value.withUnsafeBytes { Array($0) }))
        return true
      }
      all[table.code.name ?? ""] = entries
    }
    return all
  }

  /// Returns the first difference of two stores as text, or nil if every entry of every table is equal.
  static func difference(_ one: [String: [MemoryEntry]], _ other: [String: [MemoryEntry]]) -> String? {
    if Set(one.keys) != Set(other.keys) { return "the tables \(one.keys.sorted()) and \(other.keys.sorted())" }
    for (name, entries) in one.sorted(by: { $0.key < $1.key }) {
      let expected = Dictionary(entries.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
      let found = Dictionary((other[name] ?? []).map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
      if expected == found { continue }
      let missing = expected.filter { found[$0.key] == nil }.keys.map(hex).sorted()
      let surplus = found.filter { expected[$0.key] == nil }.keys.map(hex).sorted()
      let changed = expected.filter { found[$0.key] != nil && found[$0.key] != $0.value }.keys.map(hex).sorted()
      return "\(name): \(missing.count) missing \(missing.prefix(3)), \(surplus.count) too many \(surplus.prefix(3)), "
        + "\(changed.count) other \(changed.prefix(3))"
    }
    return nil
  }

  private static func hex(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

  /// Restores a chain to another store, compares both completely, and removes the restored store.
  static func expectSame(
    _ store: ObjectStore, _ sources: [String], in root: String, _ comment: String = "",
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let path = root + "/restored-\(UUID().uuidString)"
    let result = try ObjectStore.restore(from: sources, to: path)
    defer { try? FileManager.default.removeItem(atPath: path) }
    let names = try FileManager.default.contentsOfDirectory(atPath: path)
    #expect(names == ["data.mdb"], "\(comment)", sourceLocation: sourceLocation)
    let commit = try store.info().commit
    #expect(result.commit == commit, "\(comment)", sourceLocation: sourceLocation)
    let expected = try entries(store)
    let problem: String? = try BackupFixture.look(path) { restored in
      // The restored store has been checked completely.
      let isSame = try restored.snapshots() == store.snapshots()
      return Increments.difference(expected, try entries(restored)) ?? (isSame ? nil : "the list of snapshots")
    }
    #expect(problem == nil, "\(comment)", sourceLocation: sourceLocation)
  }
}
