#if Postgres
  import Synchronization

  /// The cache of a process for one store: transactions begin with it, and the last one leaves what it has read.
  final class SharedCache: Sendable {
    /// A commit of the store. The token distinguishes commits with the same number, of which a failover lost one.
    struct Commit: Equatable, Sendable {
      var number: Int64
      var token: [UInt8]
    }

    private struct State {
      var commit: Commit?
      var entries = EntryCache()
    }

    private let state = Mutex(State())
    /// The number of bytes that the cache holds at most; with 0, each transaction begins without entries.
    let byteLimit: Int

    init(byteLimit: Int) { self.byteLimit = byteLimit }

    /// The entries as of the last known commit.
    var current: (commit: Commit?, entries: EntryCache) { state.withLock { ($0.commit, $0.entries) } }

    /// Keeps the entries of a transaction that has ended, unless newer ones are known.
    func keep(_ entries: EntryCache, as commit: Commit) {
      if byteLimit == 0 { return }
      state.withLock { state in
        if let known = state.commit {
          if known.number > commit.number { return }
          if known == commit, state.entries.byteCount >= entries.byteCount { return }
        }
        state = State(commit: commit, entries: entries)
      }
    }

    /// Empties the cache: the outcome of a commit is unknown, and the store may have lost commits.
    func forget() { state.withLock { $0 = State() } }
  }
#endif
