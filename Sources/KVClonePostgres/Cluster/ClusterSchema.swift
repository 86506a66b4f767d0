#if Postgres
  /// The tables of the schema `kvclone`, and the statements on them that are not about entries.
  enum ClusterSchema {
    /// The version of the tables that ``install`` creates. Later versions are steps; see ``SchemaVersions``.
    static let version: Int32 = 1

    /// 1 if the schema is there, and 0 otherwise.
    static let isInstalled = "SELECT (to_regclass('kvclone.schema_version') IS NOT NULL)::int4"

    /// Waits for other processes that create the schema: `IF NOT EXISTS` does not, and fails. The number is arbitrary.
    static let lock = "SELECT pg_advisory_xact_lock(7310583264114)"

    /// Creates the schema, if it does not exist.
    static let install = [
      "CREATE SCHEMA IF NOT EXISTS kvclone",
      """
      CREATE TABLE IF NOT EXISTS kvclone.schema_version (
        id int4 PRIMARY KEY DEFAULT 1 CHECK (id = 1), version int4 NOT NULL, minimum int4 NOT NULL)
      """,
      """
      INSERT INTO kvclone.schema_version (version, minimum) VALUES (\(version), \(version)) ON CONFLICT DO NOTHING
      """,
      """
      CREATE TABLE IF NOT EXISTS kvclone.store (
        id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, number int8 NOT NULL,
        created timestamptz NOT NULL DEFAULT now(), state int2 NOT NULL DEFAULT 0, move bytea) WITH (fillfactor = 50)
      """,
      """
      CREATE TABLE IF NOT EXISTS kvclone.entry (
        store int8 NOT NULL, tbl int4 NOT NULL, k bytea NOT NULL, v bytea NOT NULL, PRIMARY KEY (store, tbl, k))
      """,
      // Values are compressed by the store if at all, and the server would try again with each one. Only once: ALTER
      // TABLE waits for all transactions that have read the table, and later ones wait for it.
      """
      DO $$ BEGIN
        IF (SELECT attstorage FROM pg_attribute WHERE attrelid = 'kvclone.entry'::regclass AND attname = 'v') <> 'e' THEN
          ALTER TABLE kvclone.entry ALTER COLUMN v SET STORAGE EXTERNAL;
        END IF;
      END $$
      """,
      """
      CREATE TABLE IF NOT EXISTS kvclone.commit (
        store int8 NOT NULL, number int8 NOT NULL, token bytea NOT NULL, at timestamptz NOT NULL DEFAULT now(),
        changed bytea NOT NULL, PRIMARY KEY (store, number))
      """,
      """
      CREATE TABLE IF NOT EXISTS kvclone.tally (
        store int8 NOT NULL, tbl int4 NOT NULL, entries int8 NOT NULL, PRIMARY KEY (store, tbl))
        WITH (fillfactor = 50)
      """,
      """
      CREATE TABLE IF NOT EXISTS kvclone.stager (
        store int8 NOT NULL, byte int4 NOT NULL, owner bytea NOT NULL, until timestamptz NOT NULL,
        PRIMARY KEY (store, byte))
      """,
    ]

    /// The tables with rows of each store, in the order in which a store is deleted.
    static let tablesOfStores = ["stager", "tally", "commit", "entry"]

    /// The store, its tables, and the version of the schema. Materialized: otherwise a plan that was made for few
    /// stores can read all of them in the order of their ids.
    static let findStore = """
      WITH s AS MATERIALIZED (SELECT id, state FROM kvclone.store WHERE name = $1) \
      SELECT s.id, t.tbl, v.version, v.minimum, s.state FROM s \
      LEFT JOIN kvclone.schema_version v ON v.id = 1 LEFT JOIN kvclone.tally t ON t.store = s.id
      """

    static let makeStore = "INSERT INTO kvclone.store (name, number) VALUES ($1, 0) ON CONFLICT DO NOTHING RETURNING id"

    static let listStores = """
      SELECT s.name, s.number, COALESCE((SELECT sum(entries) FROM kvclone.tally WHERE store = s.id), 0)::int8 \
      FROM kvclone.store s WHERE s.state & 3 <> \(MoveState.moved) ORDER BY s.name
      """

    static func makeTable(_ store: Int64, _ table: UInt32) -> PostgresStatement {
      PostgresStatement(
        "INSERT INTO kvclone.tally (store, tbl, entries) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING",
        [.int8(store), .int4(Int32(table))])
    }

    /// The commit as a row: the primary key refuses a second commit with the number.
    static func commit(_ store: Int64, _ commit: SharedCache.Commit, _ changed: [UInt8]) -> [PostgresStatement] {
      [
        PostgresStatement(
          "INSERT INTO kvclone.commit (store, number, token, changed) VALUES ($1, $2, $3, $4)",
          [.int8(store), .int8(commit.number), .bytea(commit.token), .bytea(changed)]),
        PostgresStatement(
          "UPDATE kvclone.store SET number = $2 WHERE id = $1", [.int8(store), .int8(commit.number)]),
      ]
    }

    static func prune(_ store: Int64, before number: Int64) -> PostgresStatement {
      PostgresStatement(
        "DELETE FROM kvclone.commit WHERE store = $1 AND number < $2", [.int8(store), .int8(number)])
    }
  }

  /// Identifies a commit attempt, so that its outcome can be looked up.
  enum CommitToken {
    static func random() -> [UInt8] {
      var generator = SystemRandomNumberGenerator()
      return withUnsafeBytes(of: (generator.next(), generator.next())) { Array($0) }
    }
  }
#endif
