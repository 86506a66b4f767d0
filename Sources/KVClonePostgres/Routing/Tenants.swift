#if Postgres
  import Foundation
  import KVClone
  import Synchronization

  /// The open stores of a router, by tenant.
  final class Tenants: Sendable {
    /// A store that is open, or is being opened under the lock.
    private final class Entry: @unchecked Sendable {
      let lock = NSLock()
      /// Protected by ``lock``.
      var store: ObjectStore?
    }

    private struct State: Sendable {
      var entries: [String: Entry] = [:]
      /// The open stores, each with the time of its last use.
      var open: [String: (store: ObjectStore, use: Int)] = [:]
      var useCount = 0

      mutating func use(_ tenant: String) -> ObjectStore? {
        guard let found = open[tenant] else { return nil }
        useCount += 1
        open[tenant] = (found.store, useCount)
        return found.store
      }
    }

    private let state = Mutex(State())
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    var openCount: Int { state.withLock { $0.open.count } }

    /// Returns the store of a tenant if it is open.
    func open(_ tenant: String) -> ObjectStore? { state.withLock { $0.use(tenant) } }

    /// Returns the store of a tenant, which `open` opens if it is not open. Other threads wait for it then.
    func store(_ tenant: String, _ open: () throws -> ObjectStore) throws -> ObjectStore {
      let (known, entry) = state.withLock { state -> (ObjectStore?, Entry) in
        if let store = state.use(tenant) { return (store, Entry()) }
        let entry = state.entries[tenant] ?? Entry()
        state.entries[tenant] = entry
        return (nil, entry)
      }
      if let known { return known }
      entry.lock.lock()
      defer { entry.lock.unlock() }
      if let store = entry.store { return store }
      do {
        let store = try open()
        entry.store = store
        add(store, tenant, entry)
        return store
      } catch {
        state.withLock { if $0.entries[tenant] === entry { $0.entries[tenant] = nil } }
        throw error
      }
    }

    private func add(_ store: ObjectStore, _ tenant: String, _ entry: Entry) {
      state.withLock { state in
        if state.entries[tenant] === entry { state.entries[tenant] = nil }
        state.useCount += 1
        state.open[tenant] = (store, state.useCount)
        // The threads that use it keep it. It is not closed: nothing of it is open outside of a transaction.
        while state.open.count > limit, let oldest = state.open.min(by: { $0.value.use < $1.value.use }) {
          state.open[oldest.key] = nil
        }
      }
    }

    /// Removes the store of a tenant, if it is this one; nil for any.
    func remove(_ store: ObjectStore?, of tenant: String) {
      state.withLock { state in
        if store == nil || state.open[tenant]?.store === store { state.open[tenant] = nil }
      }
    }

    func removeAll() { state.withLock { $0.open = [:] } }
  }
#endif
