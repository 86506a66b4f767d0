import BenchmarkSupport
import Foundation
import KVClone
import KVClonePostgres

/// Runs benchmarks of stores in a PostgreSQL cluster: `ClusterBenchmark clone|latency|throughput DIRECTORY [--quick]`.
/// `Benchmarks/run cluster` builds it, starts a server, and calls it.
@main
enum ClusterBenchmark {
  static func main() {
    var words = Array(CommandLine.arguments.dropFirst())
    let isQuick = words.take(flag: "--quick")
    let objects = words.take(option: "--objects").flatMap { Int($0) }
    guard words.count == 2, let address = ProcessInfo.processInfo.environment["KVCLONE_POSTGRES"] else {
      fail("usage: KVCLONE_POSTGRES=ADDRESS ClusterBenchmark clone|latency|throughput DIRECTORY [--quick]", 64)
    }
    let server = Server(address: address)
    do {
      let cluster = PostgresCluster(address)
      try cluster.install()
      cluster.close()
      switch words[0] {
      case "clone":
        let objects = objects ?? (isQuick ? 100_000 : 1_000_000)
        show(try CloneRow.run(server, words[1], objects: objects, rounds: isQuick ? 2 : 3))
      case "latency":
        show(try LatencyRow.run(server, words[1], objects: objects ?? 100_000, rounds: isQuick ? 1 : 3))
      case "throughput": show(try ThroughputRow.run(server, words[1], seconds: isQuick ? 3 : 10))
      default: fail("no benchmark \(words[0])", 64)
      }
    } catch {
      fail("\(words[0]) failed: \(error)", 1)
    }
  }

  private static func show(_ targets: [Target]) { report(targets.section()) }
}
