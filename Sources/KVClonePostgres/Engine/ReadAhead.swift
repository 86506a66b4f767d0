#if Postgres
  import Dispatch
  import KVCloneCore
  import KVCloneLMDB

  /// Reads the next entries of long scans on another connection, while the writer's own connection sends changes.
  ///
  /// The write transaction has locked the store's row. So a later transaction of the server sees the same commit, but
  /// not the changes that this one has sent: entries between those are not used.
  ///
  /// Each read is a transaction of its own, so that the connection is free for other threads in between.
  final class ReadAhead: @unchecked Sendable {
    /// Fetches of fewer rows are not followed by another one ahead.
    static let leastRowCount = 512

    private static let state = """
      SELECT s.number, (SELECT token FROM kvclone.commit WHERE store = s.id AND number = s.number) \
      FROM kvclone.store s WHERE s.id = $1
      """

    /// Entries from a key on, as many as the limit, or else to the end of the table.
    struct Entries {
      let low: [UInt8]
      let rows: PostgresRows
      let limit: Int
    }

    private final class Answer: @unchecked Sendable {
      let low: [UInt8]
      let limit: Int
      /// The result, which the queue writes before it signals.
      var rows: PostgresRows?
      let isDone = DispatchSemaphore(value: 0)

      init(_ low: [UInt8], _ limit: Int) { (self.low, self.limit) = (low, limit) }

      var isReading: Bool {
        if isDone.wait(timeout: .now()) == .timedOut { return true }
        isDone.signal()
        return false
      }
    }

    private let pool: ConnectionPool
    private let store: Int64
    private let commit: SharedCache.Commit
    /// Nil until it is needed: few transactions have long scans.
    private var queue: DispatchQueue?
    /// Per table, the last read.
    private var answers: [UInt32: Answer] = [:]
    /// Whether no connection was free, or the connection was lost.
    private var isOff = false
    /// Per table, the first and the last key that this transaction has sent.
    private var sent: [UInt32: (low: [UInt8], high: [UInt8])] = [:]

    init(_ engine: PostgresEngine, _ commit: SharedCache.Commit) {
      pool = engine.cluster.pool
      store = engine.store
      self.commit = commit
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

    /// Begins to read entries that are needed soon. They replace those of the table that were not needed.
    func begin(_ table: UInt32, from low: [UInt8], limit: Int) {
      if isOff || answers[table]?.isReading ?? false { return }
      let answer = Answer(low, limit)
      answers[table] = answer
      let queue = self.queue ?? DispatchQueue(label: "KVClone.postgres.readahead")
      self.queue = queue
      queue.async { [self] in
        answer.rows = try? read(table, answer)
        answer.isDone.signal()
      }
    }

    /// The entries from a key on, if they were read ahead.
    ///
    /// - Parameter isBetween: whether entries that begin before the key are of use, too.
    func entries(_ table: UInt32, from key: UnsafeRawBufferPointer, isBetween: Bool) -> Entries? {
      // The queue of a forked child does not run.
      guard !pool.isForked, let answer = answers[table] else { return nil }
      let order = answer.low.order(to: key)
      guard order == 0 || isBetween && order < 0 else { return nil }
      answer.isDone.wait()
      answer.isDone.signal()
      guard let rows = answer.rows else {
        isOff = true
        answers = [:]
        return nil
      }
      // The last row decides how far the answer reaches; without a full one, to the end of the table.
      let last = rows.count == answer.limit ? rows.bytes(rows.count - 1, 0) : nil
      if let last, keyOrder(last, key) < 0 { return nil }
      answers[table] = nil
      if let sent = sent[table], sent.high.withBytes({ answer.low.order(to: $0) }) <= 0 {
        guard let last, sent.low.order(to: last) > 0 else { return nil }
      }
      return Entries(low: answer.low, rows: rows, limit: answer.limit)
    }

    private func read(_ table: UInt32, _ answer: Answer) throws -> PostgresRows? {
      let (connection, results) = try pool.take(until: .now) {
        [
          PostgresStatement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", isPrepared: false),
          PostgresStatement(Self.state, [.int8(store)]),
          PostgresStatement(
            EntryReader.forwards,
            [.int8(store), .int4(Int32(table)), .bytea(answer.low), .int8(Int64(answer.limit))]),
          PostgresStatement("COMMIT", isPrepared: false),
        ]
      }
      pool.give(back: connection)
      // Another server, after a failover, can have another history.
      let state = results[1]
      guard state.count > 0, state.integer(0, 0) == commit.number, state.bytes(0, 1).elementsEqual(commit.token) else {
        return nil
      }
      return results[2]
    }

    /// Frees what was read, and reads no more.
    func end() {
      isOff = true
      answers = [:]
    }
  }
#endif
