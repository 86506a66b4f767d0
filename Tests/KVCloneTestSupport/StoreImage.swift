import KVClone
package import KVCloneCore
import KVCloneOperations
import KVCloneRecords

/// The visible contents of a store and its snapshots and the entries of its tables, to compare two stores that received
/// the same changes in different ways.
///
/// Leaves out differences that are allowed: the times of the history and of snapshots, the counters of serials, which a
/// rolled-back transaction or savepoint may advance, and the chunk boundaries of long lists.
package struct StoreImage: Equatable {
  /// Values by table and key.
  private var entries: [TableCode: [[UInt8]: [UInt8]]] = [:]
  /// The dumps of the store and of its snapshots.
  private var dumps: [[String]] = []
  private var history: [String] = []
  private var snapshots: [String] = []

  package init(_ store: ObjectStore) throws {
    let codes = TableCode.fixed + store.schema.rootCodes.map { TableCode.objects(rootCode: $0) }
    let tables = try store.engine.openTables(codes, create: false)
    let transaction = StorageTransaction(try store.engine.beginRead())
    let logical: Set<TableCode> = [.snapshots, .changes, .links, .preimages]
    for table in tables where !logical.contains(table.code) {
      var found: [[UInt8]: [UInt8]] = [:]
      let first: [UInt8] = [0]
      try transaction.scanToEnd(of: table, from: first.span.bytes) { (key, value) throws(StoreError) in
        let key = key.withUnsafeBytes { Array($0) }
        if table.code != .metadata || !Self.isSerial(key) { found[key] = value.withUnsafeBytes { Array($0) } }
        return true
      }
      entries[table.code] = found
    }
    if try store.tracksHistory() { history = try store.history().map { try Self.text($0) } }
    dumps.append(try Self.lines { try store.dump(to: $0) })
    for info in try store.snapshots() {
      let snapshot = try store.snapshot(named: info.name)
      dumps.append(try Self.lines { try snapshot.dump(to: $0) })
    }
    snapshots = try store.snapshots().map { "\($0.name) \($0.commit) \($0.objectCount) \($0.holds)" }
  }

  /// Returns the objects' lines of a dump, without the header, which contains the commit and the time.
  private static func lines(_ dump: ((RawSpan) throws -> Void) throws -> DumpResult) throws -> [String] {
    var bytes: [UInt8] = []
    _ = try dump { span in span.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    return lines.filter { !$0.hasPrefix(#"{"kvclone""#) }
  }

  private static func isSerial(_ key: [UInt8]) -> Bool {
    let name = String(decoding: key, as: UTF8.self)
    return name.hasPrefix("serial-") || name == MetadataKey.blobSerial
  }

  private static func text(_ transaction: HistoryTransaction) throws -> String {
    let changes = try transaction.changes().map { change in
      switch change {
      case .inserted(let id): "+\(id)"
      case .updated(let id, let properties): "M\(id) \(properties.sorted())"
      case .deleted(let id, let entity, let tombstone): "-\(id) \(entity) \(tombstone.sorted { $0.key < $1.key })"
      }
    }
    let counts = "\(transaction.insertedCount) \(transaction.updatedCount) \(transaction.deletedCount)"
    return "\(transaction.commit) \(transaction.author) \(transaction.operation) \(counts) \(changes.sorted())"
  }

  /// Returns readable differences; empty if the images are equal.
  package func differences(to other: StoreImage) -> [String] {
    var found: [String] = []
    for code in Set(entries.keys).union(other.entries.keys).sorted(by: { $0.rawValue < $1.rawValue }) {
      let (mine, theirs) = (entries[code] ?? [:], other.entries[code] ?? [:])
      for key in Set(mine.keys).union(theirs.keys) where mine[key] != theirs[key] {
        let isText = code == .metadata
        found.append(
          "table \(code.rawValue), key \(isText ? String(decoding: key, as: UTF8.self) : "\(key)"): "
            + "\(mine[key].map { "\($0)" } ?? "none"), not \(theirs[key].map { "\($0)" } ?? "none")")
      }
    }
    if dumps != other.dumps {
      let (mine, theirs) = (Set(dumps.joined()), Set(other.dumps.joined()))
      found.append("objects: \(mine.subtracting(theirs).sorted()), not \(theirs.subtracting(mine).sorted())")
    }
    if history != other.history {
      let (mine, theirs) = (Set(history), Set(other.history))
      found.append("history: \(mine.subtracting(theirs).sorted()), not \(theirs.subtracting(mine).sorted())")
    }
    if snapshots != other.snapshots { found.append("snapshots: \(snapshots), not \(other.snapshots)") }
    return found
  }
}
