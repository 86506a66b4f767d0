#if Postgres
  import Dispatch
  import KVCloneCore
  import KVCloneLMDB

  /// Reads the next entries of a long scan on another connection, while the writer's own connection sends changes.
  ///
  /// The write transaction has locked the store's row. So a later transaction of the server sees the same commit, but
  /// not the changes that this one has sent: entries between those are not used.
  final class ReadAhead: @unchecked Sendable {
    /// Fetches of fewer rows are not followed by another one ahead.
    static let leastRowCount = 512

    private final class Answer: @unchecked Sendable {
      let table: UInt32
      let low: [UInt8]
      let limit: Int
      /// The result, which the queue writes before it signals.
      var rows: PostgresRows?
      let isDone = DispatchSemaphore(value: 0)

      init(_ table: UInt32, _ low: [UInt8], _ limit: Int) {
        (self.table, self.low, self.limit) = (table, low, limit)
      }
    }

    private let pool: ConnectionPool
    private let store: Int64
    private let commitNumber: Int64
    /// Nil until it is needed: few transactions have long scans.
    private var queue: DispatchQueue?
    /// Used by the queue only, and after its last work.
    private var connection: PostgresConnection?
    private var answer: Answer?
    /// Whether no connection was free, or the connection was lost.
    private var isOff = false
    /// Per table, the first and the last key that this transaction has sent.
    private var sent: [UInt32: (low: [UInt8], high: [UInt8])] = [:]

    init(_ engine: PostgresEngine, _ commit: SharedCache.Commit) {
      pool = engine.cluster.pool
      store = engine.store
      commitNumber = commit.number
    }

    /// Notes that the transaction has sent changes of keys from one to another one.
    func noteSent(_ table: UInt32, from low: [UInt8], through high: [UInt8]) {
      guard let known = sent[table] else {
        sent[table] = (low, high)
        return
      }
      sent[table] = (
        low.lexicographicallyPrecedes(known.low) ? low : known.low,
        known.high.lexicographicallyPrecedes(high) ? high : known.high
      )
    }

    /// Begins to read entries that are needed soon.
    func begin(_ table: UInt32, from low: [UInt8], limit: Int) {
      if isOff || answer != nil { return }
      let answer = Answer(table, low, limit)
      self.answer = answer
      let queue = self.queue ?? DispatchQueue(label: "KVClone.postgres.readahead")
      self.queue = queue
      queue.async { [self] in
        answer.rows = try? read(answer)
        answer.isDone.signal()
      }
    }

    /// The entries from a key, if they were read ahead.
    func rows(_ table: UInt32, from key: UnsafeRawBufferPointer) throws(StoreError) -> (rows: PostgresRows, limit: Int)?
    {
      guard let answer, answer.table == table, answer.low.order(to: key) == 0 else { return nil }
      self.answer = nil
      answer.isDone.wait()
      guard let rows = answer.rows else {
        isOff = true
        return nil
      }
      guard let sent = sent[table], sent.high.order(to: key) >= 0 else { return (rows, answer.limit) }
      // The last row decides how far the answer reaches; without a full one, to the end of the table.
      guard rows.count == answer.limit, sent.low.order(to: rows.bytes(rows.count - 1, 0)) > 0 else { return nil }
      return (rows, answer.limit)
    }

    private func read(_ answer: Answer) throws -> PostgresRows? {
      let connection: PostgresConnection
      if let open = self.connection {
        connection = open
      } else {
        let begun = try pool.take(until: .now) {
          [
            PostgresStatement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", isPrepared: false),
            PostgresStatement("SELECT number FROM kvclone.store WHERE id = $1", [.int8(store)]),
          ]
        }
        connection = begun.connection
        self.connection = connection
        guard begun.results[1].count > 0, begun.results[1].integer(0, 0) == commitNumber else { return nil }
      }
      return try connection.run(
        EntryReader.forwards,
        [.int8(store), .int4(Int32(answer.table)), .bytea(answer.low), .int8(Int64(answer.limit))])
    }

    /// Gives the connection back.
    func end() {
      guard let queue else { return }
      queue.sync {}
      isOff = true
      answer = nil
      guard let connection else { return }
      self.connection = nil
      connection.rollBack()
      pool.give(back: connection)
    }
  }
#endif
