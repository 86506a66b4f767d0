#if Postgres
  import KVCloneCore
  import KVCloneLMDB
  import KVCloneRecords

  /// Scans of one table with ends that are near, such as those of the lists of objects. If they ascend, one fetch reads
  /// for many of them.
  private struct ShortScans {
    /// The scans since the last fetch.
    var count = 0
    private var end: [UInt8] = []
    /// The fetches of scans that ascend.
    private var length = 0

    /// Whether a scan that begins at a key continues earlier ones, so that the next ones are worth reading now.
    mutating func continues(at key: UnsafeRawBufferPointer) -> Bool {
      // The scan that has fetched last continues, and its end is known.
      if count == 0 { return false }
      // Fetches ahead that served one scan only were of no use.
      let isUsed = length < 3 || count > 1
      length = isUsed && !end.isEmpty && end.order(to: key) <= 0 ? length + 1 : 0
      count = 0
      return length >= 3
    }

    /// Notes the end of a fetched range.
    mutating func note(_ end: [UInt8]?) { self.end = end ?? [] }
  }

  /// The entries of a store in the state of one transaction: from the cache, or else from the server in batches.
  ///
  /// The bytes that it returns are valid until ``release(to:)``, or until its end.
  final class EntryReader {
    /// The rows that the first read behind a gap fetches. Each fetch that continues the last one doubles them.
    private static let firstRowCount = 128
    private static let maximumRowCount = 4096
    /// The rows that the first read before a key fetches: usually, one entry is looked for.
    private static let firstBackwardsRowCount = 4
    /// The bytes that one fetch aims at: chunks of blobs are fetched a few at a time.
    private static let fetchedByteCount = 1 << 20

    private let connection: PostgresConnection
    private let pool: ConnectionPool
    let store: Int64
    let cacheLimit: Int
    /// The entries that are known; see ``EntryCache``.
    var cache: EntryCache
    /// The owners of the bytes that were returned, in this order, and the same as a set.
    private var lent: [RowMemory] = []
    private var isLent: Set<ObjectIdentifier> = []
    /// Per table, the end of the last fetch, its number of rows, and their mean length.
    private var fetches: [UInt32: (end: [UInt8], rowCount: Int, meanByteCount: Int)] = [:]
    /// Per table, the first key of the last range that was fetched backwards, and its number of rows.
    private var backwardsFetches: [UInt32: (low: [UInt8], rowCount: Int)] = [:]
    /// Per table, the last range of a long scan, which the cache does not keep: the next scan often begins in it.
    private var held: [UInt32: EntryCache.Range] = [:]
    /// Per table, the short scans that follow each other.
    private var shortScans: [UInt32: ShortScans] = [:]

    /// Reads ahead on another connection; nil in a read transaction.
    var readAhead: ReadAhead?

    /// The first error of the server. It has aborted the transaction, and later statements would report only that.
    private(set) var failure: StoreError?

    init(_ connection: PostgresConnection, _ pool: ConnectionPool, _ engine: PostgresEngine, _ cache: EntryCache) {
      self.connection = connection
      self.pool = pool
      store = engine.store
      self.cache = cache
      cacheLimit = engine.cacheLimit
    }

    /// A transaction that has begun.
    struct Begun {
      let connection: PostgresConnection
      let pool: ConnectionPool
      /// The last commit that the transaction sees.
      let commit: SharedCache.Commit
      let entries: EntryReader
      /// The results of the statements that began it.
      let results: [PostgresRows]

      /// Ends the transaction before its use.
      func cancel(isUsable: Bool = true) {
        connection.rollBack()
        pool.give(back: connection, isUsable: isUsable)
      }
    }

    /// Begins a transaction on a connection of a pool, and reads the commits that the shared cache does not know.
    ///
    /// - Parameters:
    ///   - deadline: the end of the wait for a connection, and for a lock.
    ///   - isLocking: whether the statements wait for a lock.
    ///   - statements: begins the transaction; called again for a new connection if the first one was lost.
    static func begin(
      _ engine: PostgresEngine, _ pool: ConnectionPool, until deadline: ContinuousClock.Instant,
      isLocking: Bool = false, _ statements: () -> [PostgresStatement]
    ) throws(StoreError) -> Begun {
      do {
        let known = engine.cache.current
        let (connection, results) = try pool.take(until: deadline, isLocking: isLocking) {
          statements() + [
            PostgresStatement(CommitList.statement, [.int8(engine.store), .int8(known.commit?.number ?? .max)])
          ]
        }
        do throws(StoreError) {
          let state = try CommitList.state(results[results.count - 1], known, engine)
          return Begun(
            connection: connection, pool: pool, commit: state.commit,
            entries: EntryReader(connection, pool, engine, state.entries), results: results)
        } catch {
          connection.rollBack()
          pool.give(back: connection)
          throw error
        }
      } catch {
        throw pool.storeError(error)
      }
    }

    /// The number of owners of returned bytes, for ``release(to:)``.
    var lentCount: Int { lent.count }

    /// Ends the validity of the bytes that were returned since there were `count` owners.
    func release(to count: Int = 0) {
      while lent.count > count { isLent.remove(ObjectIdentifier(lent.removeLast())) }
    }

    private func lend(_ row: EntryRow) -> EntryRow {
      if lent.last !== row.owner, isLent.insert(ObjectIdentifier(row.owner)).inserted { lent.append(row.owner) }
      return row
    }

    // MARK: Reading

    /// Returns the entry of a key, or nil.
    func entry(_ table: UInt32, _ key: UnsafeRawBufferPointer) throws(StoreError) -> EntryRow? {
      let range = try range(table, from: key, before: .noBytes)
      let index = range.index(of: key)
      guard index < range.rows.count, keyOrder(range.rows[index].key, key) == 0 else { return nil }
      return lend(range.rows[index])
    }

    /// Returns the first entry at or behind a key.
    func next(_ table: UInt32, from key: UnsafeRawBufferPointer) throws(StoreError) -> EntryRow? {
      var range = try range(table, from: key, before: .noBytes)
      var index = range.index(of: key)
      while index == range.rows.count {
        guard let high = range.high else { return nil }
        (range, index) = try self.range(table, at: high, before: .noBytes)
      }
      return lend(range.rows[index])
    }

    /// Returns the last entry before a key, or the last one of the table if the key is empty.
    func previous(_ table: UInt32, before key: UnsafeRawBufferPointer) throws(StoreError) -> EntryRow? {
      var end = Array(key)
      while true {
        let found = try end.withBytes { (end) throws(StoreError) -> (range: EntryCache.Range, count: Int) in
          let range: EntryCache.Range
          if let known = cache.range(table, endingAt: end) {
            range = known
          } else {
            range = try fetchBackwards(table, before: end)
          }
          return (range, end.isEmpty ? range.rows.count : range.index(of: end))
        }
        if found.count > 0 { return lend(found.range.rows[found.count - 1]) }
        if found.range.low.isEmpty { return nil }
        end = found.range.low
      }
    }

    /// Calls `body` with each entry from `key` up to `end`, until it returns false. The bytes are valid until it
    /// returns.
    func scan(
      _ table: UInt32, from key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer,
      _ body: (EntryRow) throws(StoreError) -> Bool
    ) throws(StoreError) {
      if !end.isEmpty, keyOrder(key, end) >= 0 { return }
      if !end.isEmpty { shortScans[table, default: ShortScans()].count += 1 }
      var range = try range(table, from: key, before: end)
      var index = range.index(of: key)
      while true {
        while index < range.rows.count {
          let row = range.rows[index]
          if !end.isEmpty, keyOrder(row.key, end) >= 0 { return }
          if try !body(row) { return }
          index += 1
        }
        guard let high = range.high, end.isEmpty || high.order(to: end) < 0 else { return }
        (range, index) = try self.range(table, at: high, before: end)
      }
    }

    /// Returns the range behind another one, and the index of its first row there: it can begin before, because a large
    /// range that was fetched is not kept, and does not replace what it overlaps.
    private func range(
      _ table: UInt32, at high: [UInt8], before end: UnsafeRawBufferPointer
    ) throws(StoreError) -> (EntryCache.Range, index: Int) {
      try high.withBytes { (high) throws(StoreError) in
        let range = try range(table, from: high, before: end)
        return (range, range.index(of: high))
      }
    }

    /// Returns a range that contains a key.
    private func range(
      _ table: UInt32, from key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer
    ) throws(StoreError) -> EntryCache.Range {
      if let range = cache.range(table, at: key) { return range }
      if let range = held[table], range.contains(key) { return range }
      return try fetch(table, from: key, before: end)
    }

    // MARK: Fetching

    private func fetch(
      _ table: UInt32, from key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer
    ) throws(StoreError) -> EntryCache.Range {
      let isAhead = !end.isEmpty && (shortScans[table]?.continues(at: key) ?? false)
      if let known = readAhead?.entries(table, from: key, isBetween: !end.isEmpty) {
        let range = range(from: known.low, entries(known.rows), known.limit, before: .noBytes)
        note(range, known.limit, table)
        readOn(table, range)
        held[table] = range
        return range
      }
      // Lists of one object after the other: the ends of later ones are further on.
      let end = isAhead ? .noBytes : end
      let count = isAhead ? aheadRowCount(table) : rowCount(table, from: key)
      var values = [PostgresValue.int8(store), .int4(Int32(table)), .bytea(key), .int8(Int64(count))]
      if !end.isEmpty { values.append(.bytea(end)) }
      let rows = try run(end.isEmpty ? Self.forwards : Self.forwardsToEnd, values)
      let range = range(from: Array(key), entries(rows), count, before: end)
      note(range, count, table)
      if count >= ReadAhead.leastRowCount, rows.count == count { readOn(table, range) }
      // A long scan would displace everything else.
      if count < Self.maximumRowCount || isAhead { keep(range, table) } else { held[table] = range }
      return range
    }

    /// The range that rows fill: up to the last one if they are as many as the limit, and otherwise up to the end.
    private func range(
      from low: [UInt8], _ rows: [EntryRow], _ limit: Int, before end: UnsafeRawBufferPointer
    ) -> EntryCache.Range {
      if let last = rows.last, rows.count == limit {
        return EntryCache.Range(low: low, high: successor(of: last.key), rows: rows)
      }
      return EntryCache.Range(low: low, high: end.isEmpty ? nil : Array(end), rows: rows)
    }

    /// Reads the entries behind a range in the background.
    private func readOn(_ table: UInt32, _ range: EntryCache.Range) {
      guard let next = range.high else { return }
      readAhead?.begin(table, from: next, limit: min(Self.maximumRowCount, rowLimit(table)))
    }

    /// The number of rows of the next fetch of short scans that follow each other.
    private func aheadRowCount(_ table: UInt32) -> Int {
      min((fetches[table]?.rowCount ?? 0) * 2, Self.maximumRowCount, rowLimit(table))
    }

    private func fetchBackwards(_ table: UInt32, before key: UnsafeRawBufferPointer) throws(StoreError)
      -> EntryCache.Range
    {
      let last = backwardsFetches[table]
      let next = last.map { $0.low.order(to: key) == 0 ? $0.rowCount * 4 : Self.firstBackwardsRowCount }
      let count = min(next ?? Self.firstBackwardsRowCount, Self.maximumRowCount, rowLimit(table))
      var values = [PostgresValue.int8(store), .int4(Int32(table)), .int8(Int64(count))]
      if !key.isEmpty { values.append(.bytea(key)) }
      let rows = try run(key.isEmpty ? Self.backwards : Self.backwardsFromKey, values)
      let found = Array(entries(rows).reversed())
      let low = found.count == count ? found.first.map { Array($0.key) } ?? [] : []
      let range = EntryCache.Range(low: low, high: key.isEmpty ? nil : Array(key), rows: found)
      backwardsFetches[table] = (low, count)
      keep(range, table)
      return range
    }

    static let forwards =
      "SELECT k, v FROM kvclone.entry WHERE store = $1 AND tbl = $2 AND k >= $3 ORDER BY k LIMIT $4"
    static let forwardsToEnd =
      "SELECT k, v FROM kvclone.entry WHERE store = $1 AND tbl = $2 AND k >= $3 AND k < $5 ORDER BY k LIMIT $4"
    static let backwards =
      "SELECT k, v FROM kvclone.entry WHERE store = $1 AND tbl = $2 ORDER BY k DESC LIMIT $3"
    static let backwardsFromKey =
      "SELECT k, v FROM kvclone.entry WHERE store = $1 AND tbl = $2 AND k < $4 ORDER BY k DESC LIMIT $3"
    /// Returns a row twice if its key is listed twice. With ANY, the server reads all entries of a table without
    /// statistics, and a plain join is turned into the same.
    static let listed = """
      SELECT e.k, e.v FROM unnest($3::bytea[]) AS l (k), \
      LATERAL (SELECT k, v FROM kvclone.entry WHERE store = $1 AND tbl = $2 AND k = l.k LIMIT 1) e
      """

    func entries(_ rows: PostgresRows) -> [EntryRow] {
      (0..<rows.count).map { EntryRow(key: rows.bytes($0, 0), value: rows.bytes($0, 1), owner: rows) }
    }

    func run(_ text: String, _ values: [PostgresValue]) throws(StoreError) -> PostgresRows {
      if let failure { throw failure }
      do throws(PostgresError) {
        return try connection.run(text, values)
      } catch {
        let error = pool.storeError(error)
        failure = error
        throw error
      }
    }

    /// Returns the number of entries of a table.
    func count(_ table: UInt32) throws(StoreError) -> UInt64 {
      let rows = try run(Tally.statement, [.int8(store), .int4(Int32(table))])
      return rows.count > 0 ? UInt64(max(0, rows.integer(0, 0) ?? 0)) : 0
    }

    /// The number of rows of the next fetch.
    private func rowCount(_ table: UInt32, from key: UnsafeRawBufferPointer) -> Int {
      var count = Self.firstRowCount
      if let last = fetches[table], last.end.order(to: key) == 0 { count = last.rowCount * 2 }
      return min(count, Self.maximumRowCount, rowLimit(table))
    }

    private func rowLimit(_ table: UInt32) -> Int {
      let mean = fetches[table]?.meanByteCount ?? (table == UInt32(TableCode.blobs.rawValue) ? 64 << 10 : 0)
      return max(1, Self.fetchedByteCount / max(1, mean))
    }

    private func note(_ range: EntryCache.Range, _ count: Int, _ table: UInt32) {
      shortScans[table]?.note(range.high)
      let byteCount = range.rows.reduce(0) { $0 + $1.key.count + $1.value.count }
      fetches[table] = (range.high ?? [], max(1, count), byteCount / max(1, range.rows.count))
    }

    /// Notes that the transaction has sent changes of keys from one to another one.
    func noteSent(_ table: UInt32, from low: UnsafeRawBufferPointer, through high: UnsafeRawBufferPointer) {
      readAhead?.noteSent(table, from: Array(low), through: Array(high))
      guard let range = held[table] else { return }
      let isBefore = range.high.map { $0.order(to: low) <= 0 } ?? false
      if !isBefore, range.low.order(to: high) <= 0 { held[table] = nil }
    }

    func keep(_ range: EntryCache.Range, _ table: UInt32) {
      cache.makeRoom(for: range.byteCount, limit: cacheLimit)
      cache.insert(range, table)
    }

    /// Ends the transaction's use of the cache, and returns it.
    func takeCache() -> EntryCache {
      defer { cache = EntryCache() }
      return cache
    }
  }
#endif
