#if Postgres
  import Foundation
  import KVClone
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  /// Kills primaries under load and promotes their standbys. `KVCLONE_POSTGRES_ROUNDS` is the number of failovers.
  @Suite(
    "Failovers of a cluster", .serialized,
    .enabled(if: ServerInstance.isAvailable, "no PostgreSQL server is installed"))
  struct FailoverTests {
    @Test("with a synchronous standby, no acknowledged commit is lost, none is torn, and every outcome is resolved")
    func synchronous() throws {
      let servers = try ServerPair(isSynchronous: true)
      var options = PostgresOptions()
      options.durability = .replicated
      // The new primary needs a standby for the first commit, and copying it takes time on a busy machine.
      options.resolveTimeout = .seconds(120)
      let writers = try FailoverWriters(servers.address, options)
      defer {
        servers.kill()
        writers.stop()
        writers.close()
      }
      var resolved = (committed: 0, notCommitted: 0)
      var lost = 0
      let count = CampaignSize.rounds(default: 3)
      for round in 0..<count {
        let failover = ServerPair.Failover.allCases[round % 3]
        var waiting = [Int](repeating: 0, count: writers.writers.count)
        writers.start()
        try writers.waitForCommits(3)
        usleep(.random(in: 0..<500_000))
        try servers.failOver(failover) {
          try FailoverWriters.wait("no commit waits for the standby") { try servers.waitingCommits() > 0 }
          waiting = writers.current
        }
        // At once: commits on the new primary wait for its standby.
        try servers.rebuildStandby()
        try writers.waitForCommits(5)
        writers.stop()
        let roundLost = try writers.verify("round \(round), \(failover)")
        #expect(roundLost == 0, "round \(round), \(failover): lost")
        lost += roundLost
        for (writer, sequence) in zip(writers.writers, waiting) {
          if writer.outcomes.acknowledged.contains(sequence) { resolved.committed += 1 }
          if writer.outcomes.failed.contains(sequence) { resolved.notCommitted += 1 }
        }
      }
      let counts = writers.counts
      #expect(counts.unknown == 0, "a primary was there in time, and \(counts.unknown) outcomes stayed unknown")
      print(
        "\(count) failovers: \(counts.acknowledged) commits acknowledged, \(lost) lost, \(counts.failed) failed, "
          + "\(counts.unknown) unknown; of those under way, \(resolved.committed) were found and "
          + "\(resolved.notCommitted) were not")
    }

    @Test("with an asynchronous standby that receives nothing, acknowledged commits are lost, and histories do not mix")
    func asynchronous() throws {
      let servers = try ServerPair(isSynchronous: false)
      let writers = try FailoverWriters(servers.address, PostgresOptions())
      defer {
        servers.kill()
        writers.stop()
        writers.close()
      }
      var lost = 0
      for round in 0..<max(1, CampaignSize.rounds(default: 1) / 10) {
        writers.start()
        try writers.waitForCommits(3)
        try servers.failOver(.notReceived) { try writers.waitForCommits(10) }
        // Enough that the new commits have the numbers of the lost ones, and later ones.
        try writers.waitForCommits(30)
        writers.stop()
        let count = try writers.verify("round \(round)")
        #expect(count > 0, "the verification does not notice losses")
        lost += count
        try servers.rebuildStandby()
      }
      print("asynchronous standby with a stopped receiver: \(lost) acknowledged commits lost")
    }
  }
#endif
