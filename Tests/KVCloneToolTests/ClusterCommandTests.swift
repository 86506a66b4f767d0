import Foundation
import KVClone
import Testing

@testable import KVCloneTool

#if Postgres
  import KVCloneTestSupport
#endif

#if Postgres
  /// The commands `cluster` and `copy`, and others with a store in the cluster that `KVCLONE_POSTGRES` names.
  @Suite(
    "kvclone: stores in a cluster", .serialized, .enabled(if: ClusterScratch.url != nil, "KVCLONE_POSTGRES names none"))
  struct ClusterCommandTests {
    private let cluster: ClusterScratch

    init() throws { cluster = try ClusterScratch() }

    @Test("copy there and back: equal dumps, also of snapshots")
    func copy() throws {
      let scratch = try Scratch.filled(30)
      try scratch.write(String(repeating: "x", count: 100_000), to: "blob")
      try scratch.succeed("blob", "put", "Note/1", "data", scratch.file("blob"))
      try scratch.succeed("snapshot", "create", "first")
      try scratch.succeed("set", "Note/2", "name=changed")
      let there = try scratch.run(["copy", scratch.store, cluster.store, "--json"])
      #expect(there.code == 0, "\(there.errors)")
      let result = try there.json()
      #expect(result["source"] as? String == scratch.store && result["destination"] as? String == cluster.name)
      #expect((result["entries"] as? Int ?? 0) > 30 && (result["bytes"] as? Int ?? 0) > 100_000)
      let back = try scratch.run(["copy", cluster.store, scratch.file("back")])
      #expect(back.code == 0 && back.text.hasPrefix("copied \(cluster.name) to "), "\(back.errors)")
      for arguments in [["dump"], ["dump", "--snapshot", "first"], ["check", "--read-data"], ["model", "show"]] {
        let expected = try scratch.run(["-s", scratch.store] + arguments)
        for store in [cluster.store, scratch.file("back")] {
          let run = try scratch.run(["-s", store] + arguments)
          #expect(run.code == 0, "\(arguments): \(run.errors)")
          if arguments[0] != "check" { #expect(run.output == expected.output, "\(arguments)") }
        }
      }
      let again = try scratch.run(["copy", scratch.store, cluster.store, "--json"])
      #expect(again.code == 1)
      #expect(try again.error()["kind"] as? String == "storeExists")
    }

    @Test("the exit code of a missing source is 10, of a missing parent of the destination 1")
    func missing() throws {
      let scratch = try Scratch()
      #expect(try scratch.run(["copy", scratch.store, cluster.store]).code == 10)
      #expect(try scratch.run(["copy", cluster.store, scratch.store]).code == 10)
      #expect(try scratch.run(["-s", cluster.store, "info"]).code == 10)
      try scratch.makeStore()
      #expect(try scratch.run(["copy", scratch.store, cluster.store]).code == 0)
      #expect(try scratch.run(["copy", cluster.store, scratch.file("no/parent")]).code == 1)
      #expect(try scratch.run(["copy", scratch.store, scratch.file("other")]).code == 64)
      #expect(try scratch.run(["-s", scratch.store, "copy", scratch.store, cluster.store]).code == 64)
    }

    @Test("commands that change and read objects, by --store and KVCLONE_STORE")
    func commands() throws {
      let scratch = try Scratch()
      try TestModel.write(to: scratch.file("Notes.xcdatamodeld"))
      let model = scratch.file("Notes.xcdatamodeld")
      func succeed(_ arguments: String..., input: String = "") throws -> ToolRun {
        let run = try scratch.run(arguments, input: input, environment: ["KVCLONE_STORE": cluster.store])
        #expect(run.code == 0, "\(arguments): \(run.errors)")
        return run
      }
      #expect(try succeed("init", "--model", model).text.contains("created \(cluster.name) with"))
      _ = try succeed("load", "-", input: Scratch.notes(20))
      #expect(try succeed("query", "Note", "name == 'note 7'", "--count").text == "1\n")
      _ = try succeed("insert", "Tag", "label=a")
      _ = try succeed("set", "Note/1", "name=renamed")
      _ = try succeed("snapshot", "create", "first")
      _ = try succeed("clone", "Note/1")
      _ = try succeed("delete", "Note/2")
      #expect(try succeed("snapshot", "diff", "first").text.contains("- Note/2"))
      _ = try succeed("snapshot", "rollback", "first")
      #expect(try succeed("info", "--json").json()["objects"] as? Int == 21)
      #expect(try succeed("check").text.hasPrefix("ok: 21 objects\n"))
      _ = try succeed("repair")
      #expect(try succeed("model", "diff", cluster.store, model).output.isEmpty)
      _ = try succeed("migrate", "--model", model, "--plan")
      _ = try succeed("export", scratch.file("exported"))
    }

    @Test("clone --into a cluster, and never into the same store")
    func cloneInto() throws {
      let scratch = try Scratch.filled(3)
      #expect(try scratch.run(["copy", scratch.store, cluster.store]).code == 0)
      try scratch.succeed("clone", "Note/1", "--into", cluster.store)
      let same = try scratch.run(["-s", cluster.store, "clone", "Note/1", "--into", cluster.store])
      #expect(same.code == 1 && same.errors.contains("the same"), "\(same.errors)")
      let missing = try scratch.tool("clone", "Note/1", "--into", cluster.address(of: "missing"), "--json")
      #expect(missing.code == 1)
      #expect(try missing.error()["kind"] as? String == "invalidDestination")
    }

    @Test("cluster install, stores, status and drop")
    func administration() throws {
      let scratch = try Scratch()
      try scratch.makeStore()
      func run(_ arguments: String...) throws -> ToolRun {
        try scratch.run(["cluster"] + arguments, environment: ["KVCLONE_CLUSTER": cluster.database])
      }
      #expect(try run("install", "--json").json()["schemaVersion"] as? Int == 1)
      let upgraded = try run("install", "--upgrade", "--json").json()
      #expect(upgraded["schemaVersion"] as? Int == 1 && upgraded["formerVersion"] as? Int == 1)
      #expect(try scratch.run(["copy", scratch.store, cluster.store]).code == 0)
      let stores = try run("stores", "--format", "json").json()["stores"] as? [[String: Any]]
      let store = try #require(stores?.first { $0["name"] as? String == cluster.name })
      #expect((store["entries"] as? Int ?? 0) > 0 && store["commits"] is Int)
      #expect(try run("stores").text.contains(cluster.name))
      let status = try run("status", "--json").json()
      #expect(status["role"] is String && status["serverVersion"] is String && status["standbys"] is [Any])
      #expect(try run("status").text.contains("synchronous_commit"))
      let unconfirmed = try run("drop", cluster.name)
      #expect(unconfirmed.code == 64 && unconfirmed.errors.contains("--yes"))
      #expect(try scratch.run(["-s", cluster.store, "info"]).code == 0)
      #expect(try run("drop", cluster.name, "--yes", "--json").json()["dropped"] as? String == cluster.name)
      #expect(try run("drop", cluster.name, "--yes").code == 10)
      #expect(try scratch.run(["-s", cluster.store, "info"]).code == 10)
      for arguments in [
        ["stores", "--cluster", cluster.store], ["stores", "--cluster", "x"], ["drop", cluster.store],
      ] {
        #expect(try scratch.run(["cluster"] + arguments).code == 64, "\(arguments)")
      }
      #expect(try scratch.run(["-s", scratch.store, "cluster", "stores", "--cluster", cluster.database]).code == 64)
    }
  }

  /// Moves between the database that `KVCLONE_POSTGRES` names and another one of its server.
  @Suite(
    "kvclone: moving a store between clusters", .serialized,
    .enabled(if: ClusterScratch.url != nil, "KVCLONE_POSTGRES names none"))
  struct ClusterMoveTests {
    private let cluster: ClusterScratch

    init() throws { cluster = try ClusterScratch() }

    @Test("a moved store is at the other place only; errors have the exit codes of other commands")
    func move() throws {
      let scratch = try Scratch.filled(5)
      let (other, name) = (try ClusterScratch.secondDatabase(), cluster.name)
      func run(_ arguments: String...) throws -> ToolRun {
        try scratch.run(["cluster", "move"] + arguments + ["--cluster", cluster.database])
      }
      #expect(try run(name, other).code == 10)
      #expect(try scratch.run(["copy", scratch.store, cluster.store]).code == 0)
      let before = try scratch.run(["-s", cluster.store, "dump"])
      let moved = try run(name, other, "--json")
      #expect(moved.code == 0, "\(moved.errors)")
      let result = try moved.json()
      #expect(result["moved"] as? String == name && (result["entries"] as? Int ?? 0) > 5)
      #expect(result["writePauseSeconds"] is Double && result["followedCommits"] is Int)
      let there = cluster.address(of: name, in: other)
      #expect(try scratch.run(["-s", there, "dump"]).output == before.output)
      let old = try scratch.run(["-s", cluster.store, "info", "--json"])
      #expect(old.code == 10)
      #expect(try old.error()["kind"] as? String == "storeMoved")
      let back = try scratch.run(["cluster", "move", name, cluster.database, "--cluster", other])
      #expect(back.code == 0 && back.text.hasPrefix("moved the store \(name): "), "\(back.errors)")
      #expect(try scratch.run(["-s", cluster.store, "dump"]).output == before.output)
      #expect(try scratch.run(["cluster", "drop", name, "--yes", "--cluster", other]).code == 10)
      #expect(try scratch.run(["cluster", "drop", name, "--marker", "--cluster", other]).code == 0)
      #expect(try scratch.run(["cluster", "drop", name, "--marker", "--cluster", other]).code == 10)
      #expect(try scratch.run(["-s", cluster.store, "info"]).code == 0)
      #expect(try run(name, cluster.database).code == 1)
      #expect(try run(cluster.store, other).code == 64)
      #expect(try run(name, there).code == 64)
      #expect(try run(name, "elsewhere").code == 64)
    }
  }

  /// A name in the cluster of the tests. Its store is deleted after the test.
  private final class ClusterScratch: Sendable {
    /// The URL of the database, from libpq's URL or keywords in `KVCLONE_POSTGRES`; nil if the tests have none.
    static let url: String? = {
      guard let address = ProcessInfo.processInfo.environment["KVCLONE_POSTGRES"] else { return nil }
      if ClusterURL.isURL(address) { return address }
      var values: [String: String] = [:]
      for word in address.split(separator: " ") {
        let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
        if parts.count == 2 { values[parts[0]] = encoded(parts[1]) }
      }
      let database = values.removeValue(forKey: "dbname") ?? values["user"] ?? "postgres"
      let parameters = values.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }
      return "postgresql:///\(database)?\(parameters.joined(separator: "&"))"
    }()

    private static func encoded(_ text: String) -> String {
      text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
    }

    let name = "tool/" + UUID().uuidString
    let database = ClusterScratch.url ?? ""
    /// The address of the store.
    var store: String { address(of: name) }

    func address(of name: String) -> String { address(of: name, in: database) }

    func address(of name: String, in database: String) -> String {
      let parts = database.split(separator: "?", maxSplits: 1).map(String.init)
      return parts[0] + "/" + Self.encoded(name) + (parts.count > 1 ? "?" + parts[1] : "")
    }

    /// Another database of the server, with the schema.
    static func secondDatabase() throws -> String {
      let name = "kvclone_second"
      func sql(_ text: String) throws -> String {
        try ServerInstance.run(
          [try ServerInstance.program("psql"), "-XqAt", "-d", url ?? "", "-c", text], asServer: false)
      }
      let found = try sql("SELECT count(*) FROM pg_catalog.pg_database WHERE datname = '\(name)'")
      // Tests of another process can create it at the same time.
      if found.hasPrefix("0") { _ = try? sql("CREATE DATABASE \(name)") }
      let (path, query) = ((url ?? "").prefix { $0 != "?" }, (url ?? "").drop { $0 != "?" })
      let database = path.prefix(upTo: path.lastIndex(of: "/") ?? path.endIndex) + "/" + name + query
      let run = try Scratch().run(["cluster", "install", "--cluster", String(database)])
      #expect(run.code == 0, "\(run.errors)")
      return String(database)
    }

    init() throws {
      let run = try Scratch().run(["cluster", "install", "--cluster", database])
      #expect(run.code == 0, "\(run.errors)")
    }

    deinit { _ = try? Scratch().run(["cluster", "drop", name, "--yes", "--cluster", database]) }
  }
#else
  /// Without PostgreSQL support, the commands exist, and say what they need.
  @Suite("kvclone: stores in a cluster")
  struct ClusterCommandTests {
    private static let url = "postgresql://app:sekret@127.0.0.1:1/kv"

    @Test(
      "a usage error that names the trait",
      arguments: [
        ["cluster", "install"], ["cluster", "stores"], ["cluster", "drop", "x"], ["cluster", "status"],
        ["cluster", "move", "x", url], ["copy", "x", url + "/y"], ["copy", url + "/y", "x"],
      ])
    func noSupport(_ arguments: [String]) throws {
      let run = try Scratch().run(arguments + ["--json"], environment: ["KVCLONE_CLUSTER": Self.url])
      #expect(run.code == 64)
      #expect((try run.error()["message"] as? String)?.contains("--traits Postgres") == true)
      #expect(!run.errors.contains("sekret"))
    }
  }
#endif
