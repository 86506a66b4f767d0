#if Postgres
  import Foundation
  import KVCloneTestSupport
  import Testing

  /// Threads and processes that change and read one store in a cluster, compared with plain dictionaries on which the
  /// operations are repeated in the order of the commits. A read that began after the acknowledgement of a commit, in
  /// any process, must show it.
  ///
  /// `KVCLONE_POSTGRES_ROUNDS=1` runs 10,000 transactions with a cache and as many without one. The scheduling is not
  /// part of the seed, which `KVCLONE_SEEDS` gives.
  @Suite(
    "Threads and processes that share a store in a cluster",
    .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none"))
  struct SharedClusterTests {
    private static let transactionCount =
      ProcessInfo.processInfo.environment["KVCLONE_POSTGRES_ROUNDS"] == nil ? 120 : 10_000

    @Test("random transactions with a cache and without one: no stale read", arguments: [true, false])
    func random(_ caches: Bool) throws {
      let seed = PropertySeeds.hasGivenSeeds ? PropertySeeds.seeds[0] : .random(in: 0 ... .max)
      let run = try SharedStoreRun(seed: seed, engine: .postgres(caches: caches))
      while run.transactions < Self.transactionCount { try run.round() }
      print(run.summary)
    }
  }
#endif
