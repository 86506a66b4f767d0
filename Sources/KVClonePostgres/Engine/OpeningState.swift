#if Postgres
  import KVCloneRecords

  /// The state of a store that its opening reads: the row, the last commit, and the table `metadata`, which has the
  /// model and the names of staged uploads.
  enum OpeningState {
    /// A store has a few dozen entries of metadata, unless many uploads are staged.
    private static let rowLimit = 1024

    private static let lastCommit = """
      SELECT c.number, c.token FROM kvclone.commit c \
      WHERE c.store = (SELECT id FROM kvclone.store WHERE name = $1) \
      AND c.number = (SELECT number FROM kvclone.store WHERE name = $1)
      """

    private static let metadata = """
      SELECT k, v FROM kvclone.entry WHERE store = (SELECT id FROM kvclone.store WHERE name = $1) \
      AND tbl = \(TableCode.metadata.rawValue) ORDER BY k LIMIT \(rowLimit)
      """

    /// One transaction, so that all results are of the same commit. ``ClusterSchema/findStore`` is the second one.
    static func statements(_ name: String) -> [PostgresStatement] {
      [
        PostgresStatement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", isPrepared: false),
        PostgresStatement(ClusterSchema.findStore, [.text(name)]), PostgresStatement(lastCommit, [.text(name)]),
        PostgresStatement(metadata, [.text(name)]), PostgresStatement("COMMIT", isPrepared: false),
      ]
    }

    /// Keeps the entries, so that the transactions of the opening do not fetch them.
    static func keep(_ results: [PostgresRows], in cache: SharedCache) {
      let (commit, rows) = (results[2], results[3])
      guard commit.count > 0, let number = commit.integer(0, 0), rows.byteCount <= cache.byteLimit else { return }
      let found = (0..<rows.count).map { EntryRow(key: rows.bytes($0, 0), value: rows.bytes($0, 1), owner: rows) }
      let high = found.count < rowLimit ? nil : found.last.map { successor(of: $0.key) }
      var entries = EntryCache()
      entries.insert(EntryCache.Range(low: [], high: high, rows: found), UInt32(TableCode.metadata.rawValue))
      cache.keep(entries, as: SharedCache.Commit(number: number, token: Array(commit.bytes(0, 1))))
    }
  }
#endif
