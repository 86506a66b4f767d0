import BenchmarkSupport
import Foundation
import KVClone

/// Runs one benchmark: `CloneBenchmark speed|images|deep|structures|snapshots|branches|migration DIRECTORY [--quick]`.
/// `Benchmarks/run` builds and calls it.
@main
enum CloneBenchmark {
  static func main() {
    let arguments = CommandLine.arguments.dropFirst()
    if arguments.first == "watch", arguments.count > 1 { return watch(Array(arguments.dropFirst())) }
    if arguments.first == "memory" { return memory(Array(arguments.dropFirst())) }
    let quick = arguments.contains("--quick")
    let words = arguments.filter { $0 != "--quick" }
    guard words.count == 2, let name = words.first, let directory = words.last else {
      return fail(
        "usage: CloneBenchmark speed|images|deep|structures|snapshots|branches|migration DIRECTORY [--quick]", 64)
    }
    do {
      switch name {
      case "speed": try SpeedBenchmark.run(in: directory, quick: quick)
      case "images": try ImagesBenchmark.run(in: directory, quick: quick)
      case "structures": try StructuresBenchmark.run(in: directory, quick: quick)
      case "snapshots": try SnapshotsBenchmark.run(in: directory, quick: quick)
      case "branches": try BranchesBenchmark.run(in: directory, quick: quick)
      case "migration": try MigrationBenchmark.run(in: directory, quick: quick)
      case "deep": try DeepBenchmark.run(in: directory, quick: quick)
      default: fail("there is no benchmark \(name)", 64)
      }
    } catch {
      fail("\(name) failed: \(error)", 1)
    }
  }

  private static func watch(_ command: [String]) {
    do { exit(try Watch.run(command)) } catch { fail("\(command[0]) could not be run: \(error)", 1) }
  }

  private static func memory(_ words: [String]) {
    if words.count == 4, let workload = LargeStoreWorkload(rawValue: words[0]), let mebibytes = Int(words[3]) {
      return largeStore(workload, words[1], words[2], mebibytes)
    }
    guard words.count == 4, let workload = MemoryWorkload(rawValue: words[0]), let count = Int(words[3]) else {
      let names = MemoryWorkload.allCases.map(\.rawValue) + LargeStoreWorkload.allCases.map(\.rawValue)
      return fail("usage: CloneBenchmark memory \(names.joined(separator: "|")) prepare|run DIRECTORY COUNT", 64)
    }
    do {
      if words[1] == "prepare" { return try workload.prepare(count, in: words[2]) }
      report(try workload.run(count, in: words[2]))
    } catch {
      fail("\(words[0]) failed: \(error)", 1)
    }
  }

  private static func largeStore(
    _ workload: LargeStoreWorkload, _ operation: String, _ directory: String, _ mebibytes: Int
  ) {
    do {
      if operation == "prepare" { return try workload.prepare(mebibytes, in: directory) }
      report(try workload.run(operation, in: directory))
    } catch {
      fail("\(workload.rawValue) \(operation) failed: \(error)", 1)
    }
  }

  private static func fail(_ message: String, _ code: Int32) {
    FileHandle.standardError.write(Data((message + "\n").utf8))
    exit(code)
  }
}
