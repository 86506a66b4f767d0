import Foundation
import Testing

/// `Tools/faults` runs, and finds injected faults. These are the smallest campaigns that can fail; campaigns that test
/// the store are run by `Tools/faults` itself.
@Suite struct FaultTests {
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path
  private static let buildDirectory = (Scratch.executable as NSString).deletingLastPathComponent

  private static let isPossible: Bool = {
    let manager = FileManager.default
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    let hasCompiler = ["clang", "cc", "gcc"].contains { name in
      folders.contains { manager.isExecutableFile(atPath: "\($0)/\(name)") }
    }
    return hasCompiler && manager.isExecutableFile(atPath: buildDirectory + "/KVCloneFaultTool")
  }()

  private func run(_ arguments: [String]) throws -> ToolRun {
    try Scratch().runProgram(Self.root + "/Tools/faults", ["--build-dir", Self.buildDirectory] + arguments)
  }

  @Test(.enabled(if: isPossible, "needs a C compiler for the shim, and KVCloneFaultTool beside the tests"))
  func killsAndPowerLossesOfASmallWorkloadHold() throws {
    let run = try run(["--quick", "--commits", "3", "--class", "kill", "--class", "power-loss"])
    #expect(run.code == 0, "\(run.errors)")
    #expect(run.text.contains("| G2 | SIGKILL before each I/O call of clone |"))
    #expect(run.text.contains("| SIGKILL before each I/O call of creating and deleting snapshots |"))
    #expect(run.text.contains("| power loss after a forced spill, before its commit is acknowledged |"))
    #expect(!run.text.contains("| 0 |"))
  }

  @Test(.enabled(if: isPossible, "needs a C compiler for the shim, and KVCloneFaultTool beside the tests"))
  func plantedMistakesAreFound() throws {
    // A smaller workload does not contain every operation that can fail.
    let run = try run(["--quick", "--self-test"])
    #expect(run.code == 0, "\(run.errors)")
    let rows = run.text.split(separator: "\n").filter { $0.hasPrefix("| G16 | planted:") }
    #expect(rows.count == 30, "\(run.text)")
    #expect(rows.allSatisfy { $0.contains("found by") })
  }

  @Test(.enabled(if: isPossible, "needs a C compiler for the shim, and KVCloneFaultTool beside the tests"))
  func aTrialIsRepeatedByItsName() throws {
    let run = try run(["--quick", "--class", "power-loss", "--trial", "0:3", "--report", "/dev/stderr"])
    #expect(run.code == 0, "\(run.errors)")
    #expect(run.text.contains("| 1 | all passed | `Tools/faults --quick --seed 1 --class power-loss` |"))
  }

  @Test(.enabled(if: isPossible, "needs a C compiler for the shim, and KVCloneFaultTool beside the tests"))
  func wrongUsageIsRefused() throws {
    #expect(try run(["--class", "nonsense"]).code == 64)
    #expect(try run(["--nonsense"]).code == 64)
    #expect(try run(["--seed", "one"]).code == 64)
    #expect(try run(["--commits", "0"]).code == 64)
    #expect(try run(["--quick", "--commits", "2", "--class", "kill", "--trial", "none"]).code == 64)
    #expect(try run(["--help"]).text.hasPrefix("usage: Tools/faults"))
  }
}
