#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneOperations
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  /// Four writers on two stores, so that they wait for locks, too. Each has connections and a cache of its own, which
  /// survive all failovers.
  final class FailoverWriters {
    private static let storeCount = 2
    private static let writerCount = 4
    /// A hang is a failure.
    private static let patience = Duration.seconds(180)

    let writers: [FailoverWriter]
    private let address: String
    private let names: [String]

    /// Creates the stores and opens them.
    init(_ address: String, _ options: PostgresOptions) throws {
      self.address = address
      let names = (0..<Self.storeCount).map { "failover-\($0)-" + UUID().uuidString }
      self.names = names
      let cluster = PostgresCluster(address)
      defer { cluster.close() }
      try cluster.install()
      for name in names {
        let store = try cluster.createStore(name, model: FailoverContent.model)
        try store.insert("Counter", ["value": .integer(0)])
        store.close()
      }
      writers = try (0..<Self.writerCount).map {
        try FailoverWriter($0, names[$0 % names.count], address, options)
      }
    }

    func start() { for writer in writers { writer.start() } }

    func stop() { for writer in writers { writer.stop() } }

    func close() { for writer in writers { writer.close() } }

    /// Waits until each writer has so many more acknowledged transactions.
    func waitForCommits(_ count: Int) throws {
      let goals = writers.map { $0.acknowledgedCount + count }
      try Self.wait("the writers do not continue") {
        zip(writers, goals).allSatisfy { $0.acknowledgedCount >= $1 }
      }
    }

    static func wait(_ failure: String, until isDone: () throws -> Bool) throws {
      let end = ContinuousClock.now + patience
      while try !isDone() {
        guard ContinuousClock.now < end else { throw CampaignFailure(failure) }
        usleep(5_000)
      }
    }

    /// The transaction of each writer that has begun last.
    var current: [Int] { writers.map { $0.outcomes.current } }

    /// Compares the stores with the outcomes of the stopped writers, and forgets the transactions that are lost.
    ///
    /// - Returns: the number of acknowledged transactions that are lost.
    func verify(_ round: String) throws -> Int {
      var lostCount = 0
      for name in names {
        // A reader without cached entries.
        let cluster = PostgresCluster(address)
        defer { cluster.close() }
        let store = try cluster.openStore(name)
        defer { store.close() }
        let content = try FailoverContent(store)
        #expect(content.torn.isEmpty, "\(round): \(content.torn.prefix(5))")
        let issues = try store.check().issues
        #expect(issues.isEmpty, "\(round): \(issues.prefix(5).map(\.message))")
        for writer in writers where writer.name == name {
          let outcomes = writer.outcomes
          #expect(outcomes.unexpected.isEmpty, "\(round): \(outcomes.unexpected.prefix(5))")
          let found = Set(content.numbers.filter { $0.writer == writer.number }.map(\.sequence))
          let lost = outcomes.acknowledged.subtracting(found)
          let stray = found.subtracting(outcomes.acknowledged).subtracting(outcomes.unknown)
          #expect(stray.isEmpty, "\(round): writer \(writer.number) has \(stray.sorted().prefix(5)), which failed")
          lostCount += lost.count
          writer.forget(lost)
          let own = try FailoverContent(writer.store)
          #expect(own == content, "\(round): the cache of writer \(writer.number) differs from the store")
        }
        #expect(content.numbers.allSatisfy { $0.writer < writers.count && $0.writer >= 0 }, "\(round)")
      }
      return lostCount
    }

    /// The numbers of outcomes so far.
    var counts: (acknowledged: Int, failed: Int, unknown: Int) {
      var (acknowledged, failed, unknown) = (0, 0, 0)
      for writer in writers {
        let outcomes = writer.outcomes
        acknowledged += outcomes.acknowledged.count
        failed += outcomes.failed.count
        unknown += outcomes.unknown.count
      }
      return (acknowledged, failed, unknown)
    }
  }
#endif
