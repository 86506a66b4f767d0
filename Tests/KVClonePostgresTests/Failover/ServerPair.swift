#if Postgres
  import Foundation
  import KVCloneTestSupport

  /// A primary with one standby, which change roles with each failover.
  final class ServerPair {
    enum Failover: CaseIterable {
      /// The primary is killed at any moment.
      case atOnce
      /// The primary is killed while commits wait for the standby, which has received them and confirmed nothing.
      case received
      /// The primary is killed while commits wait for the standby, which never receives them.
      case notReceived
    }

    private(set) var primary: ServerInstance
    private(set) var standby: ServerInstance
    /// The address of both, which leads to the primary.
    let address: String

    /// Starts both.
    ///
    /// - Parameter isSynchronous: whether commits wait for the standby, whichever of them it is.
    init(isSynchronous: Bool) throws {
      let settings = isSynchronous ? ["synchronous_standby_names": "standby"] : [:]
      primary = try ServerInstance(settings: settings)
      standby = try ServerInstance(standbyOf: primary, name: "standby", settings: settings)
      address =
        "host=\(primary.directory),\(standby.directory) user=kvclone dbname=postgres target_session_attrs=read-write"
    }

    /// Kills the primary, and makes the standby the primary.
    ///
    /// - Parameter whileFrozen: called while the standby confirms nothing, except for ``Failover/atOnce``.
    func failOver(_ failover: Failover, whileFrozen: () throws -> Void) throws {
      if failover != .atOnce {
        try signalReceiver(SIGSTOP)
        try whileFrozen()
      }
      primary.kill()
      switch failover {
      case .atOnce: break
      case .received:
        try signalReceiver(SIGCONT)
        // Time to read what it has received. Without it, these commits are rolled back, which is right, too.
        usleep(100_000)
      case .notReceived:
        // With the process, its unread data is gone.
        standby.kill()
        try standby.restart()
      }
      try standby.promote()
      swap(&primary, &standby)
    }

    /// Starts the server that was killed as the standby of the new primary.
    func rebuildStandby() throws { try standby.rebuild(asStandbyOf: primary, name: "standby") }

    /// The number of commits that wait for the standby.
    func waitingCommits() throws -> Int {
      Int(try primary.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")) ?? 0
    }

    /// Sends a signal to the process of the standby that receives, once it exists.
    func signalReceiver(_ signal: Int32) throws {
      try FailoverWriters.wait("the standby has no receiver") { try standby.signal("walreceiver", signal) }
    }

    /// Ends both, so that no commit waits.
    func kill() {
      primary.kill()
      standby.kill()
    }
  }
#endif
