import BenchmarkSupport
import Foundation

/// Compares the workloads of a service with those of SQLite and of C on LMDB.
///
///     ServiceComparison service STORES OUTPUT [--quick] [--only ROW,…] [--tool KVCLONE]
///     ServiceComparison syncs PEER TASKS FOLDER
///     ServiceComparison clone PEER STORE ROOT WARM
///     ServiceComparison drop STORE
///
/// `Benchmarks/run` builds and calls the first; the first calls the others, the second one under strace.
@main
enum ServiceComparison {
  static func main() async {
    var words = Array(CommandLine.arguments.dropFirst())
    do {
      if words.count == 4, words[0] == "syncs" {
        guard let peer = ServiceSyncs.PeerName(rawValue: words[1]), let tasks = Int(words[2]) else {
          fail("there is no peer \(words[1]), or \(words[2]) is not a number", 64)
        }
        return try await ServiceSyncs.work(peer, tasks: tasks, in: words[3])
      }
      if words.count == 5, words[0] == "clone" {
        guard let peer = CloneProcess.Peer(rawValue: words[1]) else { fail("there is no peer \(words[1])", 64) }
        return try CloneProcess.work(peer, toClone: words[3], in: words[2], warmingUpIn: words[4])
      }
      if words.count == 2, words[0] == "drop" { return StoreFiles.settle(words[1], cold: true) }
      let only = words.take(option: "--only")?.split(separator: ",").map(String.init)
      let tool = words.take(option: "--tool")
      let quick = words.take(flag: "--quick")
      guard words.count == 3, words[0] == "service" else {
        fail("usage: ServiceComparison service STORES OUTPUT [--quick] [--only ROW,…] [--tool KVCLONE]", 64)
      }
      let run = ServiceRun(
        folder: words[1] + "/service-\(getpid())", output: words[2], isQuick: quick, only: only, tool: tool)
      try await run.run()
    } catch {
      fail("the comparison failed: \(error)", 1)
    }
  }
}
