import KVClone
import KVCloneCore
import Synchronization

/// The latest complete numbers of objects by entity, of the present and of snapshots: each state is counted once.
final class EntityCountCache: Attachment {
  struct Entry: Sendable {
    var commit: UInt64
    /// The number of objects by their concrete entity.
    var own: [String: Int]
  }

  private static let limit = 16

  private struct State {
    /// By the key of the state.
    var entries: [String: Entry] = [:]
    /// The keys, the latest last.
    var keys: [String] = []
  }

  private let state = Mutex(State())

  static func of(_ store: ObjectStore) -> EntityCountCache { store.schema.attachments.value(of: EntityCountCache.self) }

  /// - Parameter key: of the state; see ``StateName/key(_:_:)``.
  func latest(_ key: String) -> Entry? { state.withLock { $0.entries[key] } }

  /// Keeps numbers if they are complete, and not older than the known ones.
  func keep(_ counts: EntityCounts, _ key: String) {
    guard counts.isComplete else { return }
    state.withLock { state in
      // A snapshot can be deleted, and another one have its name: then its commit is the later one.
      if let known = state.entries[key], known.commit > counts.commit { return }
      state.entries[key] = Entry(commit: counts.commit, own: counts.own)
      state.keys.removeAll { $0 == key }
      state.keys.append(key)
      if state.keys.count > Self.limit { state.entries[state.keys.removeFirst()] = nil }
    }
  }
}
