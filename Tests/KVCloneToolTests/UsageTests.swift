import Foundation
import Testing

@Suite("kvclone: usage, options, exit codes")
struct UsageTests {
  @Test(
    "wrong usage is 64 and one line",
    arguments: [
      ["nonsense"], ["info"], ["-s", "x", "ls"], ["-s", "x", "info", "--nonsense"], ["-s", "x", "get"],
      ["-s", "x", "load", "--batch", "0"], ["-s", "x", "load", "--batch", "many"],
      ["-s", "x", "ls", "A", "--limit", "-1"],
      ["-s", "x", "clone", "A/1", "--rule", "items"], ["-s", "x", "clone", "A/1", "--rule", "A.b=jump"],
      ["-s", "x", "clone", "A/1", "--rule-key", "nonsense=x"], ["-s", "x", "clone", "A/1", "--blobs", "burn"],
      ["-s", "x", "model", "show", "--format", "png"], ["-s", "x", "link", "A/1", "b", "A/2", "--at", "-1"],
    ])
  func wrongUsage(_ arguments: [String]) throws {
    let scratch = try Scratch()
    let plain = try scratch.run(arguments)
    #expect(plain.code == 64)
    #expect(plain.output.isEmpty)
    #expect(plain.errors.hasPrefix("kvclone: ") && plain.errors.split(separator: "\n").count == 1, "\(plain.errors)")
    let json = try scratch.run(arguments + ["--json"])
    #expect(json.code == 64)
    let error = try json.error()
    #expect(error["message_type"] as? String == "exit_error")
    #expect(error["code"] as? Int == 64)
    #expect(error["kind"] as? String == "usage")
    #expect(error["message"] is String)
  }

  @Test("a store that is not there is 10, for every command that needs one")
  func noStore() throws {
    let scratch = try Scratch()
    for arguments in [
      ["info"], ["stat"], ["stat", "--deep"], ["ls", "Note"], ["get", "Note/1"], ["dump"], ["load"],
      ["insert", "Note"], ["set", "Note/1", "a=1"],
      ["link", "Note/1", "a", "Note/2"], ["unlink", "Note/1", "a"], ["delete", "Note/1"], ["clone", "Note/1"],
      ["clone", "-n", "Note/1"], ["check"], ["model", "show"], ["blob", "get", "Note/1", "data"],
      ["blob", "put", "Note/1", "data", "-"], ["get", "Note/1", "--branch", "x"], ["branch", "list"],
      ["branch", "create", "x"], ["branch", "diff", "x"], ["branch", "merge", "x"], ["branch", "update", "x"],
      ["branch", "reset", "x"], ["branch", "delete", "x"],
    ] {
      let result = try scratch.run(["--store", scratch.store, "--json"] + arguments)
      #expect(result.code == 10, "\(arguments): \(result.errors)")
      #expect(try result.error()["kind"] as? String == "noStore", "\(arguments)")
      #expect(!FileManager.default.fileExists(atPath: scratch.store), "\(arguments)")
    }
  }

  @Test("global options are accepted before or after the command, and the store may come from the environment")
  func globalOptions() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let store = scratch.store
    for arguments in [
      ["--store", store, "--json", "info"], ["info", "--json", "--store", store], ["-s", store, "info", "--json"],
      ["--json", "info", "--store=\(store)"],
      ["-qv", "-s", store, "--json", "info"], ["-s", store, "info", "-vq", "--json"],
      ["-q", "-v", "--no-color", "--no-progress", "-s", store, "--json", "info"],
    ] {
      #expect(try scratch.run(arguments).json()["objects"] as? Int == 0, "\(arguments)")
    }
    for arguments in [
      ["--json", "-s", store, "model", "show"], ["model", "--json", "-s", store, "show"],
      ["-s", store, "model", "show", "--json"],
    ] {
      #expect(try scratch.run(arguments).json()["entities"] is [Any], "\(arguments)")
    }
    let environment = ["KVCLONE_STORE": store]
    #expect(try scratch.run(["--json", "info"], environment: environment).json()["objects"] as? Int == 0)
  }

  @Test("version, help and completions go to stdout")
  func standardFlags() throws {
    let scratch = try Scratch()
    let version = try scratch.run(["--version"])
    #expect(version.code == 0 && version.text.hasPrefix("kvclone "))
    #expect(try scratch.run(["clone", "--help"]).text.contains("--passing-exclusions"))
    for shell in ["bash", "zsh", "fish"] {
      let script = try scratch.run(["--generate-completion-script", shell])
      #expect(script.code == 0 && script.text.contains("kvclone"), "\(shell)")
    }
  }

  @Test("no colours without a terminal")
  func colours() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    #expect(!(try scratch.succeed("model", "show").text.contains("\u{1B}")))
  }

  @Test("a full stdout is an error, not a silence")
  func fullOutput() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let process = scratch.process(["--store", scratch.store, "info"])
    process.standardOutput = FileHandle(forWritingAtPath: "/dev/full")
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 1)
  }
}
