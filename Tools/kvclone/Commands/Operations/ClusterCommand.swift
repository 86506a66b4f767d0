import ArgumentParser
import KVClone
import KVCloneExplorer

#if Postgres
  import KVClonePostgres
#endif

struct ClusterCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cluster", abstract: "Installs, lists, moves, deletes and describes stores in a PostgreSQL cluster.",
    discussion: """
      A store in a cluster has the address postgresql://USER@HOST/DATABASE/NAME, which every command takes with --store. \
      Write a / within NAME as %2F. Needs a build with PostgreSQL support: `swift build --traits Postgres`.
      """,
    examples: [
      "kvclone cluster install --cluster postgresql://admin@db/kv",
      "kvclone copy notes.kvclone postgresql://app@db/kv/notes", "kvclone -s postgresql://app@db/kv/notes info",
    ],
    subcommands: [Install.self, Stores.self, Move.self, Drop.self, Status.self])

  struct Install: WholeStoreCommand {
    static let configuration = CommandConfiguration(
      commandName: "install", abstract: "Creates the schema kvclone in the database, if it does not exist.",
      discussion: """
        Needs the privilege to create schemas in the database. Prints the version of the schema. The version of an \
        existing schema changes only with --upgrade, which needs the owner of the tables and waits up to 5 seconds for \
        write transactions. Programs with an older library can then fail with `newerFormat`. There is no downgrade.
        """,
      examples: [
        "kvclone cluster install --cluster postgresql://admin@db/kv",
        "kvclone cluster install --upgrade --cluster postgresql://admin@db/kv",
      ])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: ClusterOptions

    @Flag(help: "Raise the version of the schema to that of this program.")
    var upgrade = false

    func run() throws {
      try options.check(global)
      #if Postgres
        let cluster = try options.postgres()
        defer { cluster.close() }
        let upgraded = try Interruption.uninterrupted {
          try ClusterOptions.checked {
            // A schema that is too old for this program refuses everything else.
            let former = try upgrade && cluster.status().schemaVersion != nil ? cluster.upgrade() : nil
            try cluster.install()
            return former
          }
        }
        let status = try ClusterOptions.checked { try cluster.status() }
        try global.report {
          $0.nullable("schemaVersion", status.schemaVersion)
          if let upgraded { $0.member("formerVersion", upgraded.from) }
        } text: { output in
          let version = status.schemaVersion.map(String.init) ?? "unknown"
          if let upgraded, upgraded.from != upgraded.to {
            try output.line("the schema kvclone was upgraded from version \(upgraded.from) to \(version)")
          } else {
            try output.line("the schema kvclone is installed, version \(version)")
          }
        }
      #endif
    }
  }

  struct Stores: WholeStoreCommand {
    static let configuration = CommandConfiguration(
      commandName: "stores", abstract: "Lists the stores of the cluster by name, with their commits and entries.",
      discussion: """
        An interrupted copy leaves a store that cannot be opened; delete it with `kvclone cluster drop`.
        """,
      examples: ["kvclone cluster stores --cluster postgresql://app@db/kv --format json"])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: ClusterOptions

    @Option(help: ArgumentHelp("Output format (default: text, or json with --json).", valueName: "text|json"))
    var format: Format?

    enum Format: String, CaseIterable, ExpressibleByArgument { case text, json }

    /// The name in one line: as a JSON string if it has control characters.
    private static func shown(_ name: String) -> String {
      if name.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) { return name }
      var json = JSONWriter()
      json.string(name)
      return json.text
    }

    func validate() throws {
      if global.json, format == .text {
        throw ValidationError("--json and --format text exclude each other; give one")
      }
    }

    func run() throws {
      try options.check(global)
      #if Postgres
        let cluster = try options.postgres()
        defer { cluster.close() }
        let stores = try ClusterOptions.checked { try cluster.stores() }
        let output = Output()
        if global.json || format == .json {
          try output.json { json in
            json.list("stores", stores) { json, store in
              json.member("name", store.name)
              json.member("commits", store.commitNumber)
              json.member("entries", store.entryCount)
            }
          }
        } else if stores.isEmpty {
          if !global.quiet { try output.line("no stores") }
        } else {
          let rows =
            [["COMMITS", "ENTRIES", "STORE"]]
            + stores.map { ["\($0.commitNumber)", "\($0.entryCount)", Self.shown($0.name)] }
          let widths = (0...1).map { column in rows.map { $0[column].count }.max() ?? 0 }
          for row in rows {
            let counts = (0...1).map { String(repeating: " ", count: widths[$0] - row[$0].count) + row[$0] }
            try output.line("\(counts[0])  \(counts[1])  \(row[2])")
          }
        }
        try output.flush()
      #endif
    }
  }

  struct Drop: WholeStoreCommand {
    static let configuration = CommandConfiguration(
      commandName: "drop", abstract: "Deletes a store of the cluster with everything in it.",
      discussion: """
        Processes that have the store open get an error with their next transaction. Without --yes, prints what would \
        be deleted. A store that has moved to another cluster leaves a marker, which refuses outdated processes; \
        --marker deletes it.
        """,
      examples: ["kvclone cluster drop notes --cluster postgresql://app@db/kv --yes"])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: ClusterOptions

    @Argument(help: ArgumentHelp("The name of the store.", valueName: "name"))
    var name: String

    @Flag(help: "Delete the store (default: only print what would be deleted).")
    var yes = false

    @Flag(help: "Delete the marker of a store that has moved to another cluster; the store is not changed.")
    var marker = false

    func run() throws {
      try options.check(global)
      if ClusterURL.isURL(name) {
        throw Failure(usage: "drop takes the name of a store; give the database with --cluster")
      }
      #if Postgres
        let cluster = try options.postgres()
        defer { cluster.close() }
        guard yes || marker else { return try rehearse(cluster) }
        try Interruption.uninterrupted {
          if marker { try cluster.deleteMoveMarker(name) } else { try cluster.drop(name) }
        }
        try global.report {
          $0.member("dropped", name)
        } text: { output in
          try output.line("deleted the \(marker ? "marker of the " : "")store \(name)")
        }
      #endif
    }

    #if Postgres
      /// Fails with a usage error that says what would be deleted: a script has to confirm explicitly.
      private func rehearse(_ cluster: PostgresCluster) throws {
        guard let store = try cluster.stores().first(where: { $0.name == name }) else {
          throw StoreError(
            .storeNotFound,
            "the cluster has no store \(name); check the name, or list the stores (kvclone cluster stores)")
        }
        let entries = store.entryCount == 1 ? "1 entry" : "\(store.entryCount) entries"
        throw Failure(usage: "would delete the store \(name) with \(entries); give --yes to delete it")
      }
    #endif
  }

  struct Status: WholeStoreCommand {
    static let configuration = CommandConfiguration(
      commandName: "status", abstract: "Shows the server's role, durability, connections and replication.",
      discussion: """
        Details of standbys need a user with the privileges of pg_monitor. With several hosts in the URL, describes the \
        one that the URL connects to (target_session_attrs).
        """,
      examples: ["kvclone cluster status --cluster postgresql://app@db1,db2/kv"])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: ClusterOptions

    func run() throws {
      try options.check(global)
      #if Postgres
        let cluster = try options.postgres()
        defer { cluster.close() }
        let status = try ClusterOptions.checked { try cluster.status() }
        try global.show {
          Self.write(status, to: &$0)
        } text: { output in
          for (name, value) in Self.facts(status) { try output.line(Text.padded(name, 22) + value) }
          for standby in status.standbys { try output.line("  " + Self.line(standby)) }
        }
      #endif
    }

    #if Postgres
      private static func facts(_ status: PostgresCluster.Status) -> [(String, String)] {
        var facts = [
          ("server", "PostgreSQL \(status.serverVersion)"), ("role", status.role.rawValue),
          ("schema", status.schemaVersion.map { "version \($0)" } ?? "not installed (kvclone cluster install)"),
          ("stores", status.storeCount.map(String.init) ?? "none"),
          ("connections", "\(status.connectionCount) of \(status.connectionLimit)"),
          ("synchronous_commit", status.synchronousCommit),
        ]
        let names = status.synchronousStandbyNames
        facts.append(("synchronous standbys", names.isEmpty ? "none; commits wait for no standby" : names))
        if let delay = status.replayDelaySeconds { facts.append(("replay delay", Text.seconds(delay))) }
        facts.append(("standbys", "\(status.standbys.count)"))
        return facts
      }

      private static func line(_ standby: PostgresCluster.Status.Standby) -> String {
        var parts = [standby.state, standby.synchronization].compactMap { $0 }
        if let bytes = standby.lagBytes { parts.append("\(Text.bytes(UInt64(max(0, bytes)))) behind") }
        if let seconds = standby.lagSeconds { parts.append("lag \(Text.seconds(seconds))") }
        let details = parts.isEmpty ? "details are not visible to this user" : parts.joined(separator: ", ")
        return "\(standby.name ?? "unnamed"): \(details)"
      }

      private static func write(_ status: PostgresCluster.Status, to json: inout JSONWriter) {
        json.member("serverVersion", status.serverVersion)
        json.member("role", status.role.rawValue)
        json.nullable("schemaVersion", status.schemaVersion)
        json.nullable("stores", status.storeCount)
        json.member("connections", status.connectionCount)
        json.member("connectionLimit", status.connectionLimit)
        json.member("synchronousCommit", status.synchronousCommit)
        json.member("synchronousStandbyNames", status.synchronousStandbyNames)
        write("replayDelaySeconds", status.replayDelaySeconds, to: &json)
        json.list("standbys", status.standbys) { json, standby in
          json.nullable("name", standby.name)
          json.nullable("state", standby.state)
          json.nullable("synchronization", standby.synchronization)
          json.nullable("lagBytes", standby.lagBytes)
          write("lagSeconds", standby.lagSeconds, to: &json)
        }
      }

      /// Writes a member that is always present, null without a number.
      private static func write(_ name: String, _ number: Double?, to json: inout JSONWriter) {
        json.key(name)
        if let number { json.double(number) } else { json.null() }
      }
    #endif
  }
}
