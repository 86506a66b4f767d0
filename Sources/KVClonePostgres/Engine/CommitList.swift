#if Postgres
  import KVCloneCore
  import KVCloneRecords

  /// The commits of a store since the one that a cache knows.
  enum CommitList {
    /// A cache that has missed more commits than this is emptied: their lists would be larger than what they save.
    static let limit = 256
    /// The numbers that commits can have: calculations with them do not overflow.
    private static let numbers = 0...Int64.max / 2

    /// The number of the store, and the commits from the known one on with what the later ones changed, or the last
    /// one; and the lowest version of a library that may use the tables. The negative state replaces the number of a
    /// store that is not in use here. Subqueries, not a join, which could read all commits.
    static let statement = """
      SELECT (SELECT CASE WHEN state = 0 THEN number ELSE -state END FROM kvclone.store WHERE id = $1), \
      c.number, c.token, CASE WHEN c.number > $2 THEN c.changed ELSE '' END, \
      (SELECT minimum FROM kvclone.schema_version WHERE id = 1) FROM kvclone.commit c \
      WHERE c.store = $1 AND c.number >= (SELECT CASE WHEN s.number - $2 > \(limit) THEN s.number \
      ELSE least($2, s.number) END FROM kvclone.store s WHERE s.id = $1) ORDER BY c.number
      """

    /// The number of the last commit. The move of a store changes it, too, so that listeners notice it.
    static let number = "SELECT CASE WHEN state = 0 THEN number ELSE -state END FROM kvclone.store WHERE id = $1"

    /// Returns the last commit, and the cache in its state.
    ///
    /// - Parameter known: the commit that the cache knows, and its entries.
    static func state(
      _ rows: PostgresRows, _ known: (commit: SharedCache.Commit?, entries: EntryCache), _ engine: PostgresEngine
    ) throws(StoreError) -> (commit: SharedCache.Commit, entries: EntryCache) {
      if rows.count > 0, let state = rows.integer(0, 0), let refusal = MoveState.refusal(-state, engine.name) {
        throw refusal
      }
      guard rows.count > 0, let number = rows.integer(0, 0), rows.integer(rows.count - 1, 1) == number else {
        throw StoreError(
          .storeNotFound, "the store \(engine.name) is no longer in the cluster; it was dropped, or moved")
      }
      // Another process may have raised the version of the tables since the store was opened.
      if let refusal = engine.cluster.options.schema.refusal(minimum: rows.integer(0, 4) ?? 0) { throw refusal }
      guard numbers.contains(number) else {
        throw StoreError(
          .corrupted, "the store \(engine.name) has the invalid commit number \(number); restore the database")
      }
      let last = SharedCache.Commit(number: number, token: Array(rows.bytes(rows.count - 1, 2)))
      // A cache of another history has nothing in common: a failover has lost its last commits.
      guard let commit = known.commit, rows.integer(0, 1) == commit.number,
        rows.bytes(0, 2).elementsEqual(commit.token), number - commit.number == Int64(rows.count - 1)
      else { return (last, EntryCache()) }
      var entries = known.entries
      for row in 1..<max(1, rows.count) where !ChangedKeys.remove(rows.bytes(row, 3), from: &entries) {
        return (last, EntryCache())
      }
      return (last, entries)
    }
  }

  /// The number of entries of a table.
  enum Tally {
    static func add(_ count: Int, _ store: Int64, _ table: UInt32) -> PostgresStatement {
      PostgresStatement(
        "UPDATE kvclone.tally SET entries = entries + $3 WHERE store = $1 AND tbl = $2",
        [.int8(store), .int4(Int32(table)), .int8(Int64(count))])
    }

    static let statement = "SELECT entries FROM kvclone.tally WHERE store = $1 AND tbl = $2"
  }
#endif
