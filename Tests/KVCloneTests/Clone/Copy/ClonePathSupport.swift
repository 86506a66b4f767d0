import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Stores with the same contents, in each of which clones use another code path.
final class ClonePaths {
  let stores: [ContractStore]
  private let smallLimits: [Int]

  init(_ model: ManagedObjectModel, smallLimits: [Int]) throws {
    self.smallLimits = smallLimits
    stores = try smallLimits.map { _ in try ContractStore(model) }
  }

  /// Runs `body` in every store, and compares the results with those of the first store: the return value or the error,
  /// the objects, the lists, the blobs, provenance, history.
  ///
  /// - Returns: 1 if it succeeded, else 0.
  func compare(
    _ place: Comment, _ body: (ObjectStore, _ smallLimit: Int) throws -> CloneResult,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> Int {
    var first: (outcome: String, before: Set<Substring>, state: State)?
    for (store, smallLimit) in zip(stores, smallLimits) {
      let before = try Self.texts(store)
      let outcome: String
      do {
        outcome = Self.text(try body(store.store, smallLimit))
      } catch {
        outcome = Self.text(error)
      }
      try store.expectClean(place.rawValue, sourceLocation)
      let state = try State(store)
      guard let wanted = first else {
        first = (outcome, Set(before), state)
        continue
      }
      #expect(outcome == wanted.outcome, "limit \(smallLimit): \(place)", sourceLocation: sourceLocation)
      for difference in wanted.state.differences(from: state, before: wanted.before.intersection(before)) {
        Issue.record("limit \(smallLimit): \(difference) \(place)", sourceLocation: sourceLocation)
      }
    }
    return first?.outcome.hasPrefix("error") == false ? 1 : 0
  }

  private static func text(_ result: CloneResult) -> String {
    """
    \(result.roots) \(result.objectCount) \(result.counts.sorted { $0.key < $1.key }) \(result.affectedObjectCount) \
    \(result.affectedObjectIDs) \(result.blobsShared) \(result.bytesShared) \(result.bytesCopied) \(result.bytesWritten) \
    \(result.isRepeated)
    """
  }

  private static func text(_ error: any Error) -> String {
    "error \(type(of: error)): \((error as? any KVCloneError)?.message ?? String(describing: error))"
  }

  /// Returns the objects' lines of a dump, split at quotes, so that names and strings are separate.
  fileprivate static func texts(_ store: ContractStore) throws -> [Substring] {
    try store.dump().split(separator: "\n").filter { !$0.hasPrefix(#"{"kvclone""#) }.joined(separator: "\n\"")
      .split(separator: "\"", omittingEmptySubsequences: false)
  }

  /// The contents of a store, without values that differ between stores.
  struct State {
    let texts: [Substring]
    /// The tables without generated values: lists, blobs, provenance, counters.
    let tables: [String: [[UInt8]]]
    let history: [String]
    let commit: UInt64

    init(_ store: ContractStore) throws {
      texts = try ClonePaths.texts(store)
      commit = try store.commit()
      let session = try store.store.readSession()
      let tables = session.schema.tables
      self.tables = [
        "links": try Self.entries(tables.links, session), "blobinfo": try Self.entries(tables.blobinfo, session),
        "blobs": try Self.entries(tables.blobs, session), "provenance": try Self.entries(tables.provenance, session),
      ]
      history =
        try store.store.tracksHistory()
        ? store.store.history().map { "\($0.commit) \($0.operation) \($0.author) \(try $0.changes())" } : []
    }

    private static func entries(_ table: StorageTable, _ session: borrowing Session) throws -> [[UInt8]] {
      var entries: [[UInt8]] = []
      let first: [UInt8] = [0]
      try session.storage.scanToEnd(of: table, from: first.span.bytes) { (key, value) throws(StoreError) in
        entries.append(key.withUnsafeBytes { Array($0) } + [0xFF] + value.withUnsafeBytes { Array($0) })
        return true
      }
      return entries
    }

    /// Returns the differences. Texts may differ if both are generated, like rebuilt UUIDs and the operation's `now`;
    /// then the mapping between them must be consistent.
    func differences(from other: State, before: Set<Substring>) -> [String] {
      var found: [String] = []
      if commit != other.commit { found.append("commits \(commit) and \(other.commit)") }
      if history != other.history { found.append("history \(history.suffix(1)) and \(other.history.suffix(1))") }
      for (name, entries) in tables where other.tables[name] != entries {
        found.append("\(name): \(entries.count) and \(other.tables[name]?.count ?? 0) entries")
      }
      if texts.count != other.texts.count { found.append("\(texts.count) and \(other.texts.count) texts") }
      var (there, back): ([Substring: Substring], [Substring: Substring]) = ([:], [:])
      for (one, two) in zip(texts, other.texts) where one != two {
        let isFresh = !before.contains(one) && !before.contains(two)
        if !isFresh || there.updateValue(two, forKey: one) ?? two != two
          || back.updateValue(one, forKey: two) ?? one != one
        {
          found.append("\(one) and \(two)")
          break
        }
      }
      return found
    }
  }
}
