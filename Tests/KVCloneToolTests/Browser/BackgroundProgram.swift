#if Explorer
  import Foundation
  import Testing

  /// A program that runs until the end of a test, with all processes that it starts.
  final class BackgroundProgram {
    private let scratch: Scratch
    private let group: Int32
    private let outputName = "\(UUID().uuidString).out"

    /// Starts a program in a process group of its own, without the descriptors that this process passes to its
    /// children: one of them signals the end of a child, and would remain open.
    init(_ program: String, _ arguments: [String], in scratch: Scratch) throws {
      self.scratch = scratch
      let bash = try #require(Programs.path("bash"))
      let script = #"""
        set -m
        (
          \#(Programs.closesDescriptors)
          exec "$@" </dev/null >"$0" 2>"$0.errors"
        ) >/dev/null 2>&1 &
        echo $!
        """#
      let run = try scratch.runProgram(
        bash, ["--norc", "-c", script, scratch.file(outputName), program] + arguments, isHere: true)
      group = try #require(Int32(run.text.trimmingCharacters(in: .whitespacesAndNewlines)), "\(run.errors)")
    }

    deinit { kill(-group, SIGKILL) }

    var output: String { (try? scratch.read(outputName)).map { String(decoding: $0, as: UTF8.self) } ?? "" }

    var errors: String {
      (try? scratch.read("\(outputName).errors")).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// Waits for an output with a result.
    func wait<Result>(_ location: SourceLocation = #_sourceLocation, for result: (String) -> Result?) throws -> Result {
      let end = Date(timeIntervalSinceNow: 300)
      while Date() < end {
        if let found = result(output) { return found }
        usleep(20_000)
      }
      return try #require(result(output), "output: \(output); errors: \(errors)", sourceLocation: location)
    }
  }
#endif
