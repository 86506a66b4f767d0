import KVClone
import KVCloneCore
import Synchronization

/// The counts of the latest comparisons, so that the pages of one comparison count once.
final class ComparisonCounts: Attachment {
  /// Two states that never change.
  struct Key: Sendable, Hashable {
    private let from: Side
    private let to: Side

    private enum Side: Sendable, Hashable {
      case snapshot(name: String, epoch: UInt64)
      case commit(UInt64)
    }

    /// The branch with the states; 0 for the store.
    private let branch: UInt32
    private let isFromStore: Bool
    private let isToStore: Bool

    init(_ store: ObjectStore, _ from: StoreState, _ to: StoreState) throws {
      func side(_ state: StoreState) throws -> Side {
        if let info = state.snapshot?.info { return .snapshot(name: info.name, epoch: info.epoch) }
        return .commit(try store.currentToken().commit)
      }
      (self.from, self.to) = (try side(from), try side(to))
      branch = BranchComparison(store)?.number ?? 0
      (isFromStore, isToStore) = (from.origin == .store, to.origin == .store)
    }
  }

  struct Entry: Sendable {
    var counts: [String: Comparison.Counts]
    var isComplete: Bool
  }

  private static let limit = 16

  private let entries = Mutex<[(key: Key, entry: Entry)]>([])

  static func of(_ store: ObjectStore) -> ComparisonCounts { store.schema.attachments.value(of: ComparisonCounts.self) }

  func find(_ key: Key) -> Entry? { entries.withLock { $0.first { $0.key == key }?.entry } }

  func keep(_ entry: Entry, _ key: Key) {
    entries.withLock { entries in
      entries.removeAll { $0.key == key }
      entries.append((key, entry))
      if entries.count > Self.limit { entries.removeFirst() }
    }
  }
}
