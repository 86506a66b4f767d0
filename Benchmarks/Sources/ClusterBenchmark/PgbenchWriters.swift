import BenchmarkSupport
import Foundation

/// pgbench with the statements that a write transaction of one object sends, in the same two round trips.
enum PgbenchWriters {
  /// An entry that the transaction changes.
  private struct Entry {
    let table: String
    let key: String
    let value: String
  }

  /// Transactions per second of 8 clients, each with a store of its own that no other process uses.
  ///
  /// - Parameters:
  ///   - model: a store; its last commit inserted one object: the same entries are written.
  ///   - stores: the ids of the stores that pgbench writes to.
  static func run(_ server: Server, as model: Int, _ stores: [Int], _ seconds: Double, _ folder: String) throws
    -> Double
  {
    guard let pgbench = Command.find("pgbench") else { throw Server.Failure(description: "pgbench is not installed") }
    let entries = try changedEntries(server, model)
    let start = try server.run("SELECT max(number) FROM kvclone.store WHERE id IN (\(list(stores)))")
    let file = folder + "/pgbench.sql"
    try Data(script(entries, firstStore: stores.min() ?? 0).utf8).write(to: URL(fileURLWithPath: file))
    let before = try numbers(server, stores)
    let result = try Command.run([
      pgbench, "-n", "-M", "prepared", "-c", "\(stores.count)", "-j", "2", "-T", "\(Int(seconds))", "-f", file, "-D",
      "n=\(start)", server.address,
    ])
    guard result.status == 0 else { throw Server.Failure(description: String(result.errors.suffix(500))) }
    let after = try numbers(server, stores)
    let line = String(decoding: result.output, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("tps") }
    guard let rate = line?.split(separator: " ").dropFirst(2).first.flatMap({ Double($0) }), after > before else {
      throw Server.Failure(description: "pgbench reported no rate, or wrote nothing")
    }
    return rate
  }

  private static func list(_ stores: [Int]) -> String { stores.map(String.init).joined(separator: ", ") }

  private static func numbers(_ server: Server, _ stores: [Int]) throws -> Int {
    Int(try server.run("SELECT sum(number)::int8 FROM kvclone.store WHERE id IN (\(list(stores)))")) ?? 0
  }

  /// The entries that the last commit of a store changed, from its list of keys.
  private static func changedEntries(_ server: Server, _ store: Int) throws -> [Entry] {
    let rows = try server.run(
      """
      WITH RECURSIVE list AS (
        SELECT changed, 1 AS place FROM kvclone.commit WHERE store = \(store) ORDER BY number DESC LIMIT 1),
      keys AS (
        SELECT changed, place, get_byte(changed, place) * 256 + get_byte(changed, place + 1) AS tbl,
          get_byte(changed, place + 2) * 256 + get_byte(changed, place + 3) AS length FROM list
        UNION ALL
        SELECT changed, place + 4 + length, get_byte(changed, place + 4 + length) * 256
          + get_byte(changed, place + 5 + length), get_byte(changed, place + 6 + length) * 256
          + get_byte(changed, place + 7 + length) FROM keys WHERE place + 8 + length <= length(changed))
      SELECT e.tbl, encode(e.k, 'hex'), encode(e.v, 'hex') FROM keys
      JOIN kvclone.entry e ON e.store = \(store) AND e.tbl = keys.tbl
        AND e.k = substring(changed FROM place + 5 FOR length)
      """)
    return rows.split(separator: "\n").map { row in
      let fields = row.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
      return Entry(table: fields[0], key: fields[1], value: fields.count > 2 ? fields[2] : "")
    }
  }

  private static func script(_ entries: [Entry], firstStore: Int) -> String {
    // The key of the new object's record is different in each transaction; all others are updated.
    let tables = entries.map(\.table).joined(separator: ", ")
    let keys = entries.map { $0.key.count == 16 ? "int8send(:n)" : "'\\x\($0.key)'" }.joined(separator: ", ")
    let values = entries.map { "'\\x\($0.value)'" }.joined(separator: ", ")
    return """
      \\set n :n + 1
      \\set store \(firstStore) + :client_id
      \\startpipeline
      BEGIN;
      SELECT set_config('application_name', 'kvclone writes', true), set_config('lock_timeout', '5000ms', true), \
      set_config('idle_in_transaction_session_timeout', '60000ms', true);
      SELECT number FROM kvclone.store WHERE id = :store FOR UPDATE;
      SELECT (SELECT number FROM kvclone.store WHERE id = :store), c.number, c.token, \
      CASE WHEN c.number > :n THEN c.changed ELSE '' END FROM kvclone.commit c \
      WHERE c.store = :store AND c.number >= (SELECT CASE WHEN s.number - :n > 256 THEN s.number \
      ELSE least(:n, s.number) END FROM kvclone.store s WHERE s.id = :store) ORDER BY c.number;
      \\endpipeline
      \\startpipeline
      WITH new AS ( \
        INSERT INTO kvclone.entry (store, tbl, k, v) \
        SELECT :store, t.tbl, t.k, t.v FROM unnest(ARRAY[\(tables)]::int4[], ARRAY[\(keys)]::bytea[], \
          ARRAY[\(values)]::bytea[]) AS t (tbl, k, v) \
        ON CONFLICT (store, tbl, k) DO UPDATE SET v = excluded.v RETURNING tbl, xmax = 0 AS is_new), \
      count AS (SELECT tbl, count(*) AS entries FROM new WHERE is_new GROUP BY tbl) \
      UPDATE kvclone.tally AS y SET entries = y.entries + count.entries FROM count \
      WHERE y.store = :store AND y.tbl = count.tbl;
      INSERT INTO kvclone.commit (store, number, token, changed) \
      VALUES (:store, :n, decode(md5('t' || :n), 'hex'), '\\x00');
      UPDATE kvclone.store SET number = :n WHERE id = :store;
      COMMIT;
      \\endpipeline

      """
  }
}
