#if Postgres
  import Foundation
  import KVClone
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  /// The plans of all statements of the module, as its connections get them: prepared, and for any values.
  @Suite("Plans of statements", .enabled(if: ServerInstance.isAvailable, "no PostgreSQL server is installed"))
  struct StatementTests {
    /// The beginnings of statements that read a whole table, because their result is about all of its rows.
    private static let readAll = [
      // The list of all stores.
      "SELECT s.name, s.number, COALESCE((SELECT sum(entries)",
      // The number of all stores.
      "SELECT (SELECT version FROM kvclone.schema_version WHERE id = 1), (SELECT count(*)",
    ]

    /// The types of parameters, by the beginnings of statements that the server cannot infer them from.
    private static let types = ["WITH new AS ( INSERT INTO kvclone.entry": "(int8)"]

    private static let tables = ["entry", "commit", "tally", "stager", "store", "schema_version"]

    private static let rows = [
      "INSERT INTO kvclone.store (name, number) SELECT 'store-' || g, 1000 FROM generate_series(1, 2000) g",
      """
      INSERT INTO kvclone.entry SELECT 1 + g % 5, 1 + g % 3, int8send(g), int8send(g) FROM generate_series(1, 50000) g
      """,
      """
      INSERT INTO kvclone.commit (store, number, token, changed)
      SELECT 1 + g % 5, g, int8send(g), '' FROM generate_series(1, 5000) g
      """,
      "INSERT INTO kvclone.tally SELECT g, t, 5 FROM generate_series(1, 2000) g, generate_series(1, 10) t",
      "INSERT INTO kvclone.stager SELECT g, t, '', now() FROM generate_series(1, 200) g, generate_series(1, 10) t",
    ]

    @Test("every statement looks entries up by their keys, whatever the statistics of the tables say")
    func plans() throws {
      let server = try ServerInstance(settings: ["autovacuum": "off"])
      let cluster = PostgresCluster(server.address)
      defer { cluster.close() }
      try cluster.install()
      let connection = try cluster.pool.take(until: cluster.pool.deadline)
      defer { cluster.pool.give(back: connection) }
      func run(_ texts: [String]) throws { for text in texts { _ = try connection.run(text) } }
      let statements = try ModuleStatements.all()
      // Otherwise the search in the sources has found nothing.
      for known in [EntryReader.listed, SchemaVersions.statement, ClusterSchema.makeStore] {
        #expect(statements.contains(known))
      }
      for prefix in Self.readAll + Self.types.keys {
        #expect(statements.contains { $0.hasPrefix(prefix) }, "no statement begins with \(prefix)")
      }
      let analyze = Self.tables.map { "ANALYZE kvclone.\($0)" }
      try check(statements, connection, "without statistics")
      try run(analyze + Self.rows)
      try check(statements, connection, "filled since the statistics of empty tables")
      try run(analyze)
      try check(statements, connection, "with statistics")
      try run(Self.tables.dropLast().map { "DELETE FROM kvclone.\($0)" })
      try check(statements, connection, "empty since the statistics of full tables")
    }

    private func check(_ statements: [String], _ connection: PostgresConnection, _ state: String) throws {
      for statement in statements {
        guard !statement.contains("\\(") else {
          Issue.record("add an example for the interpolation to ModuleStatements: \(statement)")
          continue
        }
        let types = Self.types.first { statement.hasPrefix($0.key) }?.value ?? ""
        let values = Array(repeating: "NULL", count: ModuleStatements.parameterCount(statement))
        let arguments = values.isEmpty ? "" : "(" + values.joined(separator: ", ") + ")"
        do {
          let results = try connection.run(
            ["PREPARE p\(types) AS \(statement)", "EXPLAIN (VERBOSE, COSTS OFF) EXECUTE p\(arguments)", "DEALLOCATE p"]
              .map { PostgresStatement($0, isPrepared: false) })
          let plan = (0..<results[1].count).map { results[1].text($0, 0) }
          for problem in Self.problems(plan, statement) {
            Issue.record("\(problem), \(state): \(statement)\n\(plan.joined(separator: "\n"))")
          }
        } catch {
          Issue.record("\(error): \(statement)")
        }
      }
    }

    private static func beginsPlan(_ line: String) -> Bool {
      let text = line.drop { $0 == " " }
      return text.hasPrefix("SubPlan") || text.hasPrefix("InitPlan")
    }

    private static func problems(_ plan: [String], _ statement: String) -> [String] {
      var problems: [String] = []
      let readsAll = readAll.contains(where: statement.hasPrefix)
      for part in ["Seq Scan on kvclone.", "Bitmap", "Hash Join", "Merge Join"]
      where plan.contains(where: { $0.contains(part) }) && !(readsAll && part.hasPrefix("Seq")) {
        problems.append(part)
      }
      let isAboutTables = plan.contains { $0.contains(" on kvclone.") }
      if isAboutTables, plan.contains(where: { $0.contains("Sort") }) { problems.append("Sort") }
      if readsAll { return problems }
      for (index, line) in plan.enumerated() where line.contains(" Scan") && line.contains(" on kvclone.") {
        let details = plan[(index + 1)...].prefix { !$0.contains("->") && !Self.beginsPlan($0) }
        let condition = details.first { $0.contains("Index Cond:") || $0.contains("TID Cond:") } ?? ""
        // The place of a row that was found before.
        if condition.contains("(e.ctid = f.place)") { continue }
        if !["store = ", "id = ", "name = "].contains(where: condition.contains) {
          problems.append("an index is read completely")
        }
        if line.contains(" on kvclone.entry"), statement.contains(" k ") || statement.contains(".k ") {
          let isByKey = ["k = ", "k >= ", "k < "].contains(where: condition.contains)
          let comparesKeys = ["k = ", "k >= ", "k < "].contains(where: statement.contains)
          if comparesKeys, !isByKey { problems.append("the key is not in the condition of the index") }
        }
      }
      return problems
    }
  }
#endif
