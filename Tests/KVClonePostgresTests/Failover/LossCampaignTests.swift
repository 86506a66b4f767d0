#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneRecords
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  /// Many losses of commits, each with other changes. `KVCLONE_POSTGRES_ROUNDS` is their number for each kind.
  @Suite(
    "Repeated losses of commits", .serialized,
    .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none"))
  struct LossCampaignTests {
    enum Loss: CaseIterable {
      case beforeCommit, afterCommit, rolledBack

      var mode: ServerProxy.Mode {
        switch self {
        case .beforeCommit: .loseCommit
        case .afterCommit: .loseAnswer
        case .rolledBack: .rollBack
        }
      }
    }

    @Test(
      "a lost COMMIT, a lost answer and the tag ROLLBACK are never a false success, nor a false failure",
      arguments: Loss.allCases)
    func losses(_ loss: Loss) throws {
      let fixture = try ClusterFixture()
      let proxy = try ServerProxy(fixture)
      defer { proxy.stop() }
      let engine = try fixture.engine(proxy.address)
      let (other, table) = (fixture.engines[1], fixture.table)
      var random = SystemRandomNumberGenerator()
      var expected: [[UInt8]: [UInt8]] = [:]
      for round in 0..<CampaignSize.rounds(default: 3) {
        let number = UInt8(round % 250)
        var transaction = StorageTransaction(
          try engine.beginWrite(label: "loss", timeout: .seconds(10), isDryRun: false))
        var next = expected
        for index in 0..<UInt8.random(in: 1...200, using: &random) {
          let (key, value) = ([index, 0], [number, UInt8.random(in: 0...255, using: &random)])
          try transaction.put(table, key, value)
          next[key] = value
        }
        // The number of the commit can be that of another process's commit when it is looked up.
        let isOvertaken = loss != .rolledBack && round % 2 == 1
        let hasOvertaken = Locked(false)
        proxy.set(loss.mode) {
          guard isOvertaken else { return }
          let isDone = (try? Self.put(other, table, [255, number], [number])) != nil
          hasOvertaken.withLock { $0 = isDone }
        }
        let kind = commitFailure(transaction)
        #expect(kind == (loss == .afterCommit ? nil : .io), "round \(round)")
        #expect(hasOvertaken.withLock { $0 } == isOvertaken, "round \(round)")
        if loss == .afterCommit { expected = next }
        if isOvertaken { expected[[255, number]] = [number] }
        let stored = try fixture.entries(0)
        #expect(Dictionary(uniqueKeysWithValues: stored.map { ($0.key, $0.value) }) == expected, "round \(round)")
        // The cache of the writer does not have what was rolled back.
        let own = try StorageTransaction(try engine.beginRead()).entries(table)
        #expect(own == stored, "round \(round)")
      }
    }

    private static func put(
      _ engine: PostgresEngine, _ table: StorageTable, _ key: [UInt8], _ value: [UInt8]
    ) throws {
      var transaction = StorageTransaction(
        try engine.beginWrite(label: "other", timeout: .seconds(30), isDryRun: false))
      try transaction.put(table, key, value)
      try transaction.commit()
    }
  }
#endif
