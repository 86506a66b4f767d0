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
    /// By the name of the snapshot; empty for the present.
    var entries: [String: Entry] = [:]
    /// The names, the latest last.
    var names: [String] = []
  }

  private let state = Mutex(State())

  static func of(_ store: ObjectStore) -> EntityCountCache { store.schema.attachments.value(of: EntityCountCache.self) }

  /// - Parameter snapshot: nil for the present state.
  func latest(_ snapshot: String?) -> Entry? { state.withLock { $0.entries[snapshot ?? ""] } }

  /// Keeps numbers if they are complete, and not older than the known ones.
  func keep(_ counts: EntityCounts, _ snapshot: String?) {
    guard counts.isComplete else { return }
    let name = snapshot ?? ""
    state.withLock { state in
      // A snapshot can be deleted, and another one have its name: then its commit is the later one.
      if let known = state.entries[name], known.commit > counts.commit { return }
      state.entries[name] = Entry(commit: counts.commit, own: counts.own)
      state.names.removeAll { $0 == name }
      state.names.append(name)
      if state.names.count > Self.limit { state.entries[state.names.removeFirst()] = nil }
    }
  }
}
