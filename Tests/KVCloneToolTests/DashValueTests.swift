import Foundation
import Testing

/// Values that begin with a hyphen, which otherwise marks an option.
@Suite("kvclone: values that begin with -")
struct DashValueTests {
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    let contents = """
      <model><entity name="T">
        <attribute name="n" optional="YES" attributeType="Integer 32"/>
        <attribute name="s" optional="YES" attributeType="Integer 32"/>
        <attribute name="v" optional="YES" attributeType="Integer 32"/>
        <attribute name="text" optional="YES" attributeType="String"/>
        <attribute name="data" optional="YES" attributeType="Binary"/>
      </entity></model>
      """
    try TestModel.write(to: scratch.file("T.xcdatamodeld"), contents: contents)
    try scratch.succeed("init", "--model", scratch.file("T.xcdatamodeld"))
    for n in ["n=-3", "n=3", "n=4"] { try scratch.succeed("insert", "T", n, "s=-3", "v=3") }
  }

  private func ids(_ arguments: [String]) throws -> [String] {
    let run = try scratch.run(["-s", scratch.store] + arguments)
    #expect(run.code == 0, "\(arguments): \(run.errors)")
    return run.text.split(separator: "\n").map(String.init)
  }

  @Test(
    "a predicate, with options before and behind it",
    arguments: [
      ["-n == 3"], ["-n==3"], ["-n = 3"], ["-(n) == 3"], ["-3 == n"], ["-n>0"], ["-n BETWEEN {3, 9}"], ["- n == 3"],
      ["-n == 3", "--limit", "5"], ["--limit", "5", "-n == 3", "-q"], ["-n == 3", "--sort", "-text"],
      ["--", "-n == 3"],
      ["-s == 3", "--limit", "1"], ["-s==3", "--limit", "1"], ["-v < -2", "--limit", "1"], ["-v<-2", "--limit", "1"],
    ])
  func predicates(_ arguments: [String]) throws {
    let last = arguments.last == "-n == 3" && arguments.first == "--"
    let format = ["--format", "ids"]
    #expect(try ids(["query", "T"] + (last ? format + arguments : arguments + format)) == ["T/1"])
    #expect(try ids(["query"] + format + ["T"] + arguments) == ["T/1"])
  }

  @Test("values of options")
  func options() throws {
    #expect(try ids(["query", "T", "TRUEPREDICATE", "--sort=-n", "--format", "ids"]) == ["T/3", "T/2", "T/1"])
    #expect(try ids(["query", "T", "TRUEPREDICATE", "--sort", "-n", "--format", "ids"]) == ["T/3", "T/2", "T/1"])
    let selected = ["query", "T", "-n == 3", "--select", "-n", "--format", "csv"]
    #expect(try ids(selected) == ["-n", "3"])
    let grouped = ["query", "T", "TRUEPREDICATE", "--group-by", "n", "--select", "n", "--having", "-$n > 0"]
    #expect(try ids(grouped + ["--format", "csv"]) == ["n", "-3"])
    for (arguments, word) in [
      (["query", "T", "TRUEPREDICATE", "--limit", "-1"], "--limit needs"),
      (["clone", "T/1", "--count", "-1"], "--count"),
      (["query", "T", "-n == "], "predicate"), (["query", "T", "TRUEPREDICATE", "--limit", "--json"], "--limit"),
    ] {
      let run = try scratch.run(["-s", scratch.store] + arguments)
      #expect(run.code == 64 && run.errors.contains(word), "\(arguments): \(run.errors)")
    }
  }

  @Test("names of files and values of attributes")
  func files() throws {
    try scratch.write(#"{"id":"T/1","attributes":{"text":"loaded"}}"#, to: "-in.ndjson")
    try scratch.succeed("set", "T/1", "n=-4", "text=-q")
    #expect(try scratch.succeed("get", "T/1").text.contains("-4"))
    for arguments in [
      ["load", "-in.ndjson"], ["load", "--", "-in.ndjson"], ["load", "./-in.ndjson"],
      ["blob", "put", "T/1", "data", "-in.ndjson"], ["blob", "get", "T/1", "data", "-o", "-out"],
      ["stat", "--output", "-stat"], ["backup", "-b.1"], ["backup", "--", "-backup"], ["compact", "-o", "-compact"],
      ["dump", "--blobs", "-blobs"],
    ] {
      let run = try scratch.run(["-s", scratch.store] + arguments)
      #expect(run.code == 0, "\(arguments): \(run.errors)")
    }
    #expect(try scratch.read("-out") == scratch.read("-in.ndjson"))
    #expect(try scratch.run(["-s", "-backup", "info", "--json"]).json()["objects"] as? Int == 6)
    #expect(try scratch.run(["--store", "-b.1", "check"]).code == 0)
  }

  @Test("an unknown option is a usage error, which says how to write a value")
  func misspelt() throws {
    for arguments in [
      ["query", "T", "TRUEPREDICATE", "--limt", "3"], ["dump", "--blbos", "x"], ["backup", "-dest"], ["dump", "-x"],
      ["query", "T", "TRUEPREDICATE", "--limt=3"], ["info", "--nonsense"],
    ] {
      let run = try scratch.run(["-s", scratch.store] + arguments)
      #expect(run.code == 64 && run.errors.contains("follows --"), "\(arguments): \(run.errors)")
    }
    #expect(!FileManager.default.fileExists(atPath: scratch.file("-dest")))
    #expect(try scratch.run(["-s", scratch.store, "--json", "info", "-a b"]).error()["kind"] as? String == "usage")
  }
}
