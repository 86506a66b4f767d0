#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneTestSupport

  @testable import KVClonePostgres

  /// A thread that writes numbered transactions through a cluster object of its own, and records the outcomes.
  final class FailoverWriter: Sendable {
    /// The outcomes of the transactions, by their sequence numbers.
    struct Outcomes {
      var acknowledged: Set<Int> = []
      /// Those with an error that promises that nothing was changed.
      var failed: Set<Int> = []
      /// Those with `commitOutcomeUnknown`.
      var unknown: Set<Int> = []
      /// The last one that was begun.
      var current = 0
      /// Errors that a failover does not explain, and transactions that were read in part.
      var unexpected: [String] = []
    }

    /// `invalidStore`: a new primary has no names of synchronous standbys yet.
    private static let expectedErrors: [StoreError.Kind] = [.io, .busy, .readOnly, .invalidStore]

    let number: Int
    let name: String
    let cluster: PostgresCluster
    let store: ObjectStore
    private let counter: ObjectID
    private let state = Locked(Outcomes())
    private let isStopped = Locked(false)
    private let thread = DispatchGroup()

    init(_ number: Int, _ name: String, _ address: String, _ options: PostgresOptions) throws {
      self.number = number
      self.name = name
      cluster = PostgresCluster(address, options: options)
      store = try cluster.openStore(name)
      guard let counter = try store.objects("Counter").first else {
        throw CampaignFailure("the store has no counter")
      }
      self.counter = counter
    }

    var outcomes: Outcomes { state.withLock { $0 } }

    var acknowledgedCount: Int { state.withLock { $0.acknowledged.count } }

    /// Removes transactions that a failover has lost: they must not come back.
    func forget(_ lost: Set<Int>) { state.withLock { $0.acknowledged.subtract(lost) } }

    func start() {
      isStopped.withLock { $0 = false }
      thread.enter()
      Thread.detachNewThread { [self] in
        run()
        thread.leave()
      }
    }

    /// Ends the thread after its current transaction.
    func stop() {
      isStopped.withLock { $0 = true }
      thread.wait()
    }

    func close() {
      store.close()
      cluster.close()
    }

    private func run() {
      var last: ObjectID?
      while !isStopped.withLock({ $0 }) {
        let sequence = state.withLock { state in
          state.current += 1
          return state.current
        }
        do {
          let number = FailoverContent.Number(writer: number, sequence: sequence)
          let batch = try FailoverContent.write(number, counter: counter, store)
          state.withLock { _ = $0.acknowledged.insert(sequence) }
          last = batch
        } catch let error as StoreError where error.kind == .commitOutcomeUnknown {
          state.withLock { _ = $0.unknown.insert(sequence) }
        } catch let error as StoreError where Self.expectedErrors.contains(error.kind) {
          state.withLock { _ = $0.failed.insert(sequence) }
          usleep(20_000)
        } catch {
          state.withLock {
            $0.failed.insert(sequence)
            $0.unexpected.append("writer \(number), transaction \(sequence): \(error)")
          }
        }
        if let last { readBack(last) }
        usleep(.random(in: 0..<3_000))
      }
    }

    /// Reads the last transaction that was acknowledged, with the cache of this writer.
    private func readBack(_ batch: ObjectID) {
      do {
        if let torn = try FailoverContent.tornBatch(batch, store) { state.withLock { $0.unexpected.append(torn) } }
      } catch let error as StoreError where Self.expectedErrors.contains(error.kind) {
        // No primary.
      } catch {
        state.withLock { $0.unexpected.append("writer \(number) reads: \(error)") }
      }
    }
  }
#endif
