#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Looks up commits in a history, and remembers the last ones.
final class MergeHistory {
  private static let knownCount = 1_000

  private struct Deletion: Comparable {
    let id: ObjectID
    let commit: UInt64

    static func < (left: Self, right: Self) -> Bool { (left.id, left.commit) < (right.id, right.commit) }
  }

  private let session: Session
  /// The commit after which deletions are searched.
  private let start: UInt64
  private var known: [UInt64: ObjectChange] = [:]
  /// The deletions since, sorted; nil before the first search.
  private var deletions: [Deletion]?

  /// - Parameter start: a commit after which everything was deleted that is searched.
  init(_ session: consuming Session, since start: UInt64 = 0) {
    self.session = session
    self.start = start
  }

  /// The author and the time of a commit; only its number if the history does not have it.
  func change(_ commit: UInt64) throws(StoreError) -> ObjectChange? {
    if let change = known[commit] { return change }
    var change = ObjectChange(commit: commit)
    if commit > 0 {
      try HistoryReader.forEachTransaction(after: commit - 1, in: session) { (number, header) throws(StoreError) in
        if number == commit {
          change = ObjectChange(
            commit: commit, author: header.author, date: Date(timeIntervalSinceReferenceDate: header.time))
        }
        return false
      }
    }
    if known.count == Self.knownCount { known.removeAll(keepingCapacity: true) }
    known[commit] = change
    return change
  }

  /// The last deletion of an object; nil if the history does not have it. The first search reads the history.
  func deletion(of id: ObjectID) throws(StoreError) -> ObjectChange? {
    let deletions = try foundDeletions()
    var (low, high) = (0, deletions.count)
    while low < high {
      let middle = (low + high) / 2
      if deletions[middle].id <= id { low = middle + 1 } else { high = middle }
    }
    guard low > 0, deletions[low - 1].id == id else { return nil }
    return try change(deletions[low - 1].commit)
  }

  private func foundDeletions() throws(StoreError) -> [Deletion] {
    if let deletions { return deletions }
    var found: [Deletion] = []
    if let first = try HistoryWriter.start(in: session) {
      try HistoryReader.forEachTransaction(after: max(first, start), in: session) {
        (commit, header) throws(StoreError) in
        if header.deletedCount == 0 { return true }
        var missing = header.deletedCount
        try HistoryReader.forEachPart(of: commit, in: session) { (part) throws(StoreError) in
          guard case .deleted(let entries) = part else { return true }
          for entry in entries { found.append(Deletion(id: entry.id, commit: commit)) }
          missing -= min(missing, UInt64(entries.count))
          return missing > 0
        }
        return true
      }
    }
    found.sort()
    deletions = found
    return found
  }
}

extension SessionMergeState {
  /// - Parameter history: the history of the state.
  convenience init(_ session: consuming Session, history: MergeHistory) {
    self.init(session) { (id) throws(StoreError) in
      try history.deletion(of: id)
    } change: { (commit) throws(StoreError) in
      try history.change(commit)
    }
  }
}
