import Foundation
import KVClone
import Testing

@testable import KVCloneTool

/// Addresses of stores: directories, and URLs of stores in a cluster.
@Suite("kvclone: addresses of stores")
struct StoreAddressTests {
  @Test(
    "the last component of the path is the store, the one before it the database",
    arguments: [
      ("postgresql://app@db/kv/tenant-42", "postgresql://app@db/kv", "tenant-42"),
      ("postgres://app@db/kv/tenant-42", "postgresql://app@db/kv", "tenant-42"),
      ("POSTGRES://app@db/kv/a", "postgresql://app@db/kv", "a"),
      (
        "postgresql://app:p%40ss@db1:5432,db2:5433/kv/t?sslmode=verify-full&target_session_attrs=read-write",
        "postgresql://app:p%40ss@db1:5432,db2:5433/kv?sslmode=verify-full&target_session_attrs=read-write", "t"
      ),
      ("postgresql:///kv/t?service=prod", "postgresql:///kv?service=prod", "t"),
      ("postgresql://%2Frun%2Fpostgresql/kv/t", "postgresql://%2Frun%2Fpostgresql/kv", "t"),
      ("postgresql://app@[2001:db8::1]:5432,[::1]/kv/t", "postgresql://app@[2001:db8::1]:5432,[::1]/kv", "t"),
      ("postgresql://u:a?b@db/kv/t", "postgresql://u:a?b@db/kv", "t"),
      ("postgresql://db/kv/a%2Fb%20%C3%BC%40x", "postgresql://db/kv", "a/b ü@x"),
      ("postgresql://db/kv/t?", "postgresql://db/kv?", "t"),
    ])
  func parses(_ text: String, _ database: String, _ name: String) throws {
    #expect(try StoreAddress.parsed(text) == .cluster(database: database, name: name))
  }

  @Test("every other text is a path", arguments: ["notes.kvclone", "./postgresql", "postgresql:/x", "a/postgres://b"])
  func paths(_ text: String) throws {
    #expect(try StoreAddress.parsed(text) == .directory(text))
  }

  @Test(
    "a malformed URL is a usage error that says what to write, and contains nothing of the URL",
    arguments: [
      ("postgresql://sekret@db", "DATABASE/NAME"), ("postgresql://db/sekret", "DATABASE/NAME"),
      ("postgresql://db//sekret", "DATABASE/NAME"), ("postgresql://db/sekret/", "1 to 255 bytes"),
      ("postgresql://db/kv/sekret/x", "%2F"), ("postgresql://db/kv/sekret%FF", "UTF-8"),
      ("postgresql://db/kv/sekret%00", "percent-encoded"), ("postgresql://db/kv/sekret%2", "percent-encoded"),
      ("postgresql://u:50%sekret@db/kv/t", "percent-encoded"), ("postgresql://u:p@sekret@db/kv/t", "%40"),
      ("postgresql://u:p/sekret@db/kv/t", "%40"), ("postgresql://u:12/sekret@db/t", "%40"),
      ("postgresql://u:sekret/x/y", "port"), ("postgresql://db:99999/kv/sekret", "port"),
      ("postgresql://db/kv/t?password:sekret", "NAME=VALUE"), ("postgresql://db/kv/t?password=a=sekret", "%3D"),
      ("postgresql://db/kv/sekret x", "percent-encoded"),
    ])
  func malformed(_ text: String, _ remedy: String) throws {
    let failure = try #require(throws: Failure.self) { try StoreAddress.parsed(text) }
    #expect(failure.code == 64 && failure.kind == "usage")
    #expect(failure.message.contains(remedy) && !failure.message.contains("sekret"), "\(failure.message)")
  }

  @Test("a name has at most 255 bytes")
  func longName() throws {
    let name = String(repeating: "n", count: 255)
    #expect(try StoreAddress.parsed("postgresql://db/kv/\(name)").name == name)
    #expect(throws: Failure.self) { try StoreAddress.parsed("postgresql://db/kv/\(name)n") }
  }

  @Test("the URL of a cluster ends with the database")
  func cluster() throws {
    #expect(try ClusterURL("postgres://a@b/kv?x=y").databaseURL() == "postgresql://a@b/kv?x=y")
    for text in ["postgresql://db", "postgresql://db/", "postgresql://db/kv/t", "host=db", "notes.kvclone"] {
      let error = try #require(throws: StoreError.self) { try ClusterURL(text).databaseURL() }
      #expect(error.kind == .invalidDestination, "\(text)")
      #expect(error.message.contains("postgresql://USER@HOST/DATABASE"), "\(text)")
    }
  }

  @Test("completion waits 2 s for a server, unless the URL says otherwise")
  func shortWait() {
    #expect(ClusterURL.url("postgresql://a/b", connectingWithin: 2) == "postgresql://a/b?connect_timeout=2")
    #expect(ClusterURL.url("postgresql://a/b?c=d", connectingWithin: 2) == "postgresql://a/b?c=d&connect_timeout=2")
    #expect(
      ClusterURL.url("postgresql://a/b?connect_timeout=9", connectingWithin: 2)
        == "postgresql://a/b?connect_timeout=9")
  }

  /// A URL without a server behind it: a command that is refused early does not connect.
  private static let url = "postgresql://app:sekret@127.0.0.1:1/kv/tenant"

  @Test(
    "commands that need files refuse a store in a cluster, before they do anything",
    arguments: [
      (["stat"], "kvclone copy"), (["readers"], "pg_stat_activity"), (["backup", "new"], "kvclone copy"),
      (["compact", "-o", "new"], "kvclone copy"), (["salvage", "-o", "new"], "kvclone copy"),
      (["import", "App.sqlite"], "kvclone copy"), (["import", "-n", "App.sqlite"], "kvclone copy"),
    ])
  func needsFiles(_ arguments: [String], _ remedy: String) throws {
    let scratch = try Scratch()
    let run = try scratch.run(arguments + ["--json"], environment: ["KVCLONE_STORE": Self.url])
    try Self.expectRefusal(run, remedy)
    #expect(!FileManager.default.fileExists(atPath: scratch.file("new")))
  }

  @Test(
    "paths of new directories refuse a URL",
    arguments: [
      ["-s", "x", "backup", url], ["-s", "x", "compact", "-o", url], ["-s", "x", "salvage", "-o", url],
      ["-s", "x", "export", url], ["restore", "x", "--to", url], ["restore", url, "--to", "x"], ["demo", "--at", url],
      ["bench", "--at", url],
    ])
  func needsDirectory(_ arguments: [String]) throws {
    let scratch = try Scratch()
    try Self.expectRefusal(try scratch.run(arguments + ["--json"]), "kvclone copy")
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path).isEmpty)
  }

  /// Expects `unsupportedByEngine` with a remedy, or without PostgreSQL support the usage error that says so.
  private static func expectRefusal(
    _ run: ToolRun, _ remedy: String, location: SourceLocation = #_sourceLocation
  ) throws {
    let error = try run.error(location)
    let message = error["message"] as? String ?? ""
    #if Postgres
      #expect(run.code == 1 && error["kind"] as? String == "unsupportedByEngine", sourceLocation: location)
      #expect(message.contains(remedy), "\(message)", sourceLocation: location)
    #else
      #expect(run.code == 64 && error["kind"] as? String == "usage", sourceLocation: location)
      #expect(message.contains("--traits Postgres"), "\(message)", sourceLocation: location)
    #endif
    #expect(!run.errors.contains("sekret") && !run.text.contains("sekret"), sourceLocation: location)
  }

  #if Postgres
    @Test(
      "a server that does not answer is an error without the URL",
      arguments: [
        ["info"], ["check"], ["ls", "Note"], ["dump"], ["model", "show"], ["model", "diff", url, url],
        ["insert", "Note"],
      ])
    func noServer(_ arguments: [String]) throws {
      let run = try Scratch().run(arguments + ["--json"], environment: ["KVCLONE_STORE": Self.url])
      #expect(run.code == 1)
      #expect(try run.error()["kind"] as? String == "io")
      #expect(!run.errors.contains("sekret") && !run.errors.contains("postgresql:"), "\(run.errors)")
    }
  #else
    @Test(
      "without PostgreSQL support, a URL is a usage error",
      arguments: [
        ["info"], ["check"], ["ls", "Note"], ["dump"], ["model", "diff", url, url], ["init", "--model", "x"],
        ["-s", "x", "clone", "A/1", "--into", url],
      ])
    func noSupport(_ arguments: [String]) throws {
      let run = try Scratch().run(arguments + ["--json"], environment: ["KVCLONE_STORE": Self.url])
      try Self.expectRefusal(run, "")
    }
  #endif
}
