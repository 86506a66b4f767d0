import Foundation
import Testing

/// Failed output is an error: exit code 0 means that the output was written completely.
@Suite("kvclone: standard output")
struct StandardOutputTests {
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch.filled(30)
    try scratch.succeed("history", "--on")
    try scratch.succeed("snapshot", "create", "first")
    try scratch.succeed("blob", "put", "Note/1", "data", "-", input: "bytes")
  }

  /// Runs the tool in a shell, which can close its descriptors; `$0` is the tool, `$1` the store.
  private func shell(_ command: String) throws -> ToolRun {
    try scratch.runProgram("/bin/sh", ["-c", command, Scratch.executable, scratch.store], isHere: true)
  }

  /// A command for each kind of output; `insert` and others change the store before they write.
  private static let commands = [
    "dump", "info", "info --json", "get Note/1", "get Note/1 --json", "ls Note", "ls Note --json", "check",
    "query Note TRUEPREDICATE", "query Note TRUEPREDICATE --format csv", "query Note TRUEPREDICATE --format ids",
    "query Note TRUEPREDICATE --json", "query Note TRUEPREDICATE --select name", "query Note TRUEPREDICATE --count",
    "query Note TRUEPREDICATE --explain", "model show", "model show --format svg",
    "model lint Notes.xcdatamodeld --json",
    "stat", "stat --deep --format prometheus", "snapshot list", "snapshot diff first", "snapshot diff first --json",
    "history", "blob get Note/1 data", "clone Note/1 -n", "clone Note/1", "insert Note", "readers",
    "load Notes.ndjson", "watch --limit 1", "--version", "--help", "query --help", "--generate-completion-script bash",
    "",
    "snapshot hold first tag",
  ]

  @Test("a full disk and a closed descriptor end each command with 1 and one line")
  func fullAndClosed() throws {
    try scratch.write(#"{"id":"Note/1"}"#, to: "Notes.ndjson")
    for command in Self.commands {
      for redirection in [">/dev/full", ">&-"] {
        // It writes only after a commit, and so detects a full disk only then.
        if command.hasPrefix("watch"), redirection != ">&-" { continue }
        let store = command.hasPrefix("-") || command.isEmpty ? "" : #"-s "$1""#
        let run = try shell(#""$0" \#(store) \#(command) \#(redirection)"#)
        #expect(run.code == 1, "\(command) \(redirection): \(run.errors)")
        let lines = run.errors.split(separator: "\n")
        #expect(lines.count == 1 && run.errors.contains("standard output"), "\(command) \(redirection): \(run.errors)")
      }
    }
    try scratch.succeed("check")
  }

  @Test("with --json the error is a JSON line; silent commands need no output")
  func closedJSON() throws {
    let run = try shell(#""$0" -s "$1" info --json >&-"#)
    #expect(try run.code == 1 && run.error()["kind"] as? String == "io", "\(run.errors)")
    for command in ["set Note/1 name=x", "-q delete Note/2", "-q snapshot create quiet"] {
      #expect(try shell(#""$0" -s "$1" \#(command) >&-"#).code == 0, "\(command)")
    }
  }

  @Test("a reader that leaves ends it quietly, as SIGPIPE does")
  func readerLeaves() throws {
    let script = #"""
      { "$0" -s "$1" load - <many.ndjson >/dev/null; { "$0" -s "$1" dump; echo $? >code; } | head -n 1 >/dev/null; cat code; }
      """#
    try scratch.write(Scratch.notes(3_000), to: "many.ndjson")
    let run = try shell(script)
    #expect(run.text == "141\n" && run.errors.isEmpty, "\(run.text)\(run.errors)")
  }

  @Test("a pipe that another process made non-blocking gets everything")
  func nonBlocking() throws {
    try scratch.succeed("load", "-", input: Scratch.notes(3_000))
    let pipe = Pipe()
    let descriptor = pipe.fileHandleForWriting.fileDescriptor
    #expect(fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0)
    let process = scratch.process(["-s", scratch.store, "dump"])
    process.standardOutput = pipe
    try process.run()
    try pipe.fileHandleForWriting.close()
    usleep(50_000)
    let bytes = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(bytes.count(where: { $0 == 0x0A }) == 3_031)
  }

  @Test("closed descriptors do not become the store's files")
  func closedDescriptors() throws {
    for command in ["insert Note name=x", "dump", "load -", "nonsense", "--help"] {
      _ = try shell(#""$0" -s "$1" \#(command) <&- >&- 2>&-"#)
      _ = try shell(#""$0" -s "$1" \#(command) >&- 2>&-"#)
    }
    try scratch.succeed("check", "--read-data")
  }
}
