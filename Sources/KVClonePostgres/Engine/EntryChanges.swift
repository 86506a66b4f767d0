#if Postgres
  /// The statements that apply the changes of an overlay, and count the entries of each table.
  struct EntryChanges {
    private(set) var statements: [PostgresStatement] = []

    /// One statement has about this many bytes, because the server keeps its parameters in memory.
    private static let byteLimit = 4 << 20

    private static let put = """
      WITH new AS (
        INSERT INTO kvclone.entry (store, tbl, k, v)
        SELECT $1, t.tbl, t.k, t.v FROM unnest($2::int4[], $3::bytea[], $4::bytea[]) AS t (tbl, k, v)
        ON CONFLICT (store, tbl, k) DO UPDATE SET v = excluded.v
        RETURNING tbl, xmax = 0 AS is_new),
      count AS (SELECT tbl, count(*) AS entries FROM new WHERE is_new GROUP BY tbl)
      UPDATE kvclone.tally AS y SET entries = y.entries + count.entries FROM count
      WHERE y.store = $1 AND y.tbl = count.tbl
      """

    /// Looks the rows up one by one: without statistics, the plan of a plain join reads all entries of the store.
    private static let delete = """
      WITH old AS (
        DELETE FROM kvclone.entry AS e USING unnest($2::int4[], $3::bytea[]) AS t (tbl, k),
          LATERAL (SELECT ctid AS place FROM kvclone.entry
            WHERE store = $1 AND tbl = t.tbl AND k = t.k LIMIT 1) AS f
        WHERE e.ctid = f.place
        RETURNING e.tbl),
      count AS (SELECT tbl, count(*) AS entries FROM old GROUP BY tbl)
      UPDATE kvclone.tally AS y SET entries = y.entries - count.entries FROM count
      WHERE y.store = $1 AND y.tbl = count.tbl
      """

    init(_ overlay: Overlay, _ store: Int64) {
      var (tables, keys, values) = (PostgresArray.ofInt4, PostgresArray.ofBytea, PostgresArray.ofBytea)
      var (deletedTables, deletedKeys) = (PostgresArray.ofInt4, PostgresArray.ofBytea)
      func endPuts() {
        if tables.count == 0 { return }
        statements.append(PostgresStatement(Self.put, [.int8(store), tables.value, keys.value, values.value]))
        (tables, keys, values) = (.ofInt4, .ofBytea, .ofBytea)
      }
      for (table, changes) in overlay.tables.sorted(by: { $0.key < $1.key }) {
        for block in changes.blocks {
          for change in block {
            if let value = change.value {
              tables.append(Int32(table))
              keys.append(change.key)
              values.append(value)
              if keys.byteCount + values.byteCount > Self.byteLimit { endPuts() }
            } else {
              deletedTables.append(Int32(table))
              deletedKeys.append(change.key)
            }
          }
        }
      }
      endPuts()
      if deletedTables.count > 0 {
        statements.append(
          PostgresStatement(Self.delete, [.int8(store), deletedTables.value, deletedKeys.value]))
      }
    }
  }
#endif
