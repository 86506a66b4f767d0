#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneCore
import KVCloneRecords

/// Looks up commits in a history, and remembers the last ones.
final class MergeHistory {
  private static let knownCount = 1_000

  private let session: Session
  private var known: [UInt64: ObjectChange] = [:]

  init(_ session: consuming Session) {
    self.session = session
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
}
