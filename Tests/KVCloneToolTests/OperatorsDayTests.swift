import Foundation
import Testing

/// Demonstration scripts: a day of `Tools/operators-day`, and the command-line session in the article Features, which
/// must equal the output of the program.
@Suite("kvclone: scripts that show it")
struct OperatorsDayTests {
  private static let corpus =
    ProcessInfo.processInfo.environment["KVCLONE_CORPUS"] ?? Programs.root + "/../shared/corpus"
  private static let isPossible =
    Programs.has("tmux", "bash", "awk") && FileManager.default.fileExists(atPath: corpus + "/models")

  @Test(.enabled(if: isPossible, "needs tmux, and the corpus in KVCLONE_CORPUS"))
  func aDayOfAHundredThousandObjects() throws {
    let scratch = try Scratch()
    let run = try scratch.runProgram(
      Programs.root + "/Tools/operators-day",
      [
        "--objects", "100000", "--build-dir", Programs.buildDirectory, "--corpus", Self.corpus, "--report",
        scratch.file("report"),
      ])
    #expect(run.code == 0, "\(run.text) \(run.errors)")
    #expect(run.text.contains("all checks passed"), "\(run.text)")
    let report = String(decoding: try scratch.read("report"), as: UTF8.self)
    #expect(report.split(separator: "\n").filter { $0.hasPrefix("## ") }.count >= 30)
  }

  @Test(.enabled(if: Programs.has("bash"), "needs bash"))
  func theArticleShowsWhatTheProgramPrints() throws {
    let run = try Scratch().runProgram(
      Programs.root + "/Tools/captures", ["--check", "--build-dir", Programs.buildDirectory])
    #expect(run.code == 0, "\(run.text) \(run.errors)")
  }

  @Test(.enabled(if: Programs.has("bash"), "needs bash"))
  func wrongUsageIsRefused() throws {
    let scratch = try Scratch()
    for (script, arguments) in [
      ("operators-day", ["--objects", "some"]), ("operators-day", ["--nonsense"]), ("captures", ["--nonsense"]),
      ("picture", ["--nonsense"]),
      ("manual", ["--nonsense"]), ("documentation", ["--nonsense"]), ("documentation", ["--output"]),
    ] {
      #expect(try scratch.runProgram(Programs.root + "/Tools/\(script)", arguments).code == 64, "\(script)")
      #expect(
        try scratch.runProgram(Programs.root + "/Tools/\(script)", ["--help"]).text.hasPrefix("usage: Tools/\(script)"))
    }
  }
}
