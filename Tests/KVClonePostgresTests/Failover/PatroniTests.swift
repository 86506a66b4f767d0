#if Postgres
  import Foundation
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  /// Kills primaries that Patroni manages, together with their Patroni. `KVCLONE_POSTGRES_ROUNDS` is the number of
  /// failovers; each takes about half a minute. `Tools/postgres --patroni` enables the tests by `KVCLONE_PATRONI=1`.
  @Suite(
    "Failovers under Patroni", .serialized, .enabled(if: PatroniCluster.isEnabled, "KVCLONE_PATRONI is not 1"))
  struct PatroniTests {
    @Test(
      "no acknowledged commit is lost when a primary and its manager are killed, and writers continue by themselves")
    func killedPrimaries() throws {
      let servers = try PatroniCluster()
      var options = PostgresOptions()
      options.durability = .replicated
      // Longer than a failover takes on a busy machine.
      options.resolveTimeout = .seconds(120)
      let writers = try FailoverWriters(servers.address, options)
      defer {
        servers.stop()
        writers.stop()
        writers.close()
      }
      var lost = 0
      let count = CampaignSize.rounds(default: 1)
      for round in 0..<count {
        writers.start()
        try writers.waitForCommits(3)
        usleep(.random(in: 0..<500_000))
        let node = try servers.killPrimary()
        try writers.waitForCommits(5)
        try servers.start(node: node)
        try servers.waitForStandbys()
        try writers.waitForCommits(5)
        writers.stop()
        let roundLost = try writers.verify("round \(round)")
        #expect(roundLost == 0, "round \(round): lost")
        lost += roundLost
      }
      let counts = writers.counts
      #expect(counts.unknown == 0, "a primary was there in time, and \(counts.unknown) outcomes stayed unknown")
      print(
        "\(count) failovers under Patroni: \(counts.acknowledged) commits acknowledged, \(lost) lost, \(counts.failed) failed, "
          + "\(counts.unknown) unknown")
    }
  }
#endif
