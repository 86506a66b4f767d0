#if Postgres
  import Synchronization

  /// The last commit that an open store has made or read. Its later reads see at least this one.
  final class SeenCommit: Sendable {
    private let state = Mutex<SharedCache.Commit?>(nil)

    var commit: SharedCache.Commit? { state.withLock { $0 } }

    /// Records a commit, unless a later one is known.
    func note(_ commit: SharedCache.Commit) {
      state.withLock { known in
        if let number = known?.number, number > commit.number { return }
        known = commit
      }
    }

    /// Records what a transaction of the primary sees. If that is less than what was seen before its begin, a failover
    /// has lost the rest.
    ///
    /// - Parameter floor: what was seen before its begin.
    func note(_ commit: SharedCache.Commit, insteadOf floor: SharedCache.Commit?) {
      state.withLock { known in
        // Another transaction can have seen more since.
        if let number = known?.number, number > commit.number, known != floor { return }
        known = commit
      }
    }
  }
#endif
