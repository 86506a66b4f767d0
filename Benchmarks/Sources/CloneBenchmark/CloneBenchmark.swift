import Foundation
import KVClone

/// Runs one benchmark: `CloneBenchmark speed|images|deep DIRECTORY [--quick]`. `Benchmarks/run` builds and calls it.
@main
enum CloneBenchmark {
  static func main() {
    let arguments = CommandLine.arguments.dropFirst()
    let quick = arguments.contains("--quick")
    let words = arguments.filter { $0 != "--quick" }
    guard words.count == 2, let name = words.first, let directory = words.last else {
      return fail("usage: CloneBenchmark speed|images|deep DIRECTORY [--quick]", 64)
    }
    do {
      switch name {
      case "speed": try SpeedBenchmark.run(in: directory, quick: quick)
      case "images": try ImagesBenchmark.run(in: directory, quick: quick)
      case "deep": try DeepBenchmark.run(in: directory, quick: quick)
      default: fail("there is no benchmark \(name)", 64)
      }
    } catch {
      fail("\(name) failed: \(error)", 1)
    }
  }

  private static func fail(_ message: String, _ code: Int32) {
    FileHandle.standardError.write(Data((message + "\n").utf8))
    exit(code)
  }
}
