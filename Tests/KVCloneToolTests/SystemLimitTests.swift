import Foundation
import Testing

/// Process limits: an error names the limit and its remedy, not the kernel log or the permissions of the file.
@Suite("kvclone: limits of the system")
struct SystemLimitTests {
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch.filled(2)
    try scratch.succeed("blob", "put", "Note/1", "data", "-", input: "bytes")
    try scratch.write(#"{"id":"Note/1","attributes":{"data":{"file":"value","size":5}}}"#, to: "notes.ndjson")
    try scratch.write("bytes", to: "value")
  }

  /// Runs the tool under a limit of the shell; `$1` is the store, `$2` the model.
  private func run(limit: String, _ command: String) throws -> ToolRun {
    try scratch.runProgram(
      "/bin/sh",
      [
        "-c", #"ulimit \#(limit); exec "$0" \#(command)"#, Scratch.executable, scratch.store,
        scratch.file("Notes.xcdatamodeld"),
      ],
      isHere: true)
  }

  @Test("too many open files: each command, with each number of descriptors, names ulimit -n")
  func openFiles() throws {
    let commands = [
      #"-s "$1" info"#, #"-s "$1" check"#, #"-s "$1" insert Note"#, #"-s "$1" load notes.ndjson"#, #"-s "$1" backup b"#,
      #"-s "$1" export e"#, #"-s "$1" dump --blobs d"#, #"-s "$1" blob get Note/1 data -o f"#,
      #"-s "$1" blob put Note/1 data value"#, #"-s new init --model "$2""#, #"model lint "$2""#,
    ]
    for command in commands {
      var refusals = 0
      for count in 4...16 {
        // A store may remain if its opening fails after its creation.
        for name in ["new", "b", "e", "f", "d"] { try? FileManager.default.removeItem(atPath: scratch.file(name)) }
        let result = try run(limit: "-n \(count)", command)
        // A successful run had enough resources.
        if result.code == 0 { break }
        refusals += 1
        #expect(result.code == 1, "\(count) \(command): \(result.code) \(result.errors)")
        #expect(result.errors.contains("ulimit -n"), "\(count) \(command): \(result.errors)")
        #expect(result.errors.split(separator: "\n").count == 1, "\(count) \(command): \(result.errors)")
        for word in ["kernel", "permissions"] { #expect(!result.errors.contains(word), "\(count): \(result.errors)") }
      }
      #expect(refusals > 0, "\(command)")
    }
    try scratch.succeed("check", "--read-data")
  }

  @Test("the longest file allowed: ulimit -f is named, and nothing is left", Sanitizer.permitsFileLimits)
  func fileSize() throws {
    try scratch.write(Scratch.notes(20_000), to: "many.ndjson")
    for command in [
      #"-s "$1" load many.ndjson"#, #"-s "$1" backup b"#, #"-s "$1" compact -o b"#, #"-s "$1" salvage -o b"#,
    ] {
      let result = try run(limit: "-f 8", command)
      #expect(result.code == 1 && result.errors.contains("ulimit -f"), "\(command): \(result.errors)")
      #expect(!result.errors.contains("kernel") && !result.errors.contains("disk is full"), "\(result.errors)")
    }
    #expect(!FileManager.default.fileExists(atPath: scratch.file("b")))
    #expect(try scratch.succeed("info", "--json").json()["objects"] as? Int == 2)
    try scratch.succeed("check", "--read-data")
  }
}
