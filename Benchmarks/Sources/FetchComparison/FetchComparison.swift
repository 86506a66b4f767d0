import BenchmarkSupport
import Foundation
import ItemPeers

/// Compares fetches and writes of the library with those of SQLite.
///
///     FetchComparison fetch STORES OUTPUT [--quick] [--only TASK,…] [--objects N]
///     FetchComparison syncs kvclone|sqlite FOLDER
///
/// `Benchmarks/run` builds and calls the first; the first calls the second under strace.
@main
enum FetchComparison {
  static func main() {
    var words = Array(CommandLine.arguments.dropFirst())
    do {
      if words.count == 3, words[0] == "syncs" { return try syncs(words[1], in: words[2]) }
      let only = words.take(option: "--only")?.split(separator: ",").map(String.init)
      let objects = words.take(option: "--objects").map { Int($0) ?? 0 }
      let quick = words.take(flag: "--quick")
      let itemCount = objects ?? (quick ? 200_000 : 1_000_000)
      guard words.count == 3, words[0] == "fetch", itemCount >= 1_000 else {
        fail("usage: FetchComparison fetch STORES OUTPUT [--quick] [--only TASK,…] [--objects N, from 1000]", 64)
      }
      let run = FetchRun(
        folder: words[1] + "/fetch-\(getpid())", output: words[2], isQuick: quick, only: only, itemCount: itemCount)
      guard try run.run() else { fail("the peers' results differ", 1) }
    } catch {
      fail("the comparison failed: \(error)", 1)
    }
  }

  private static func syncs(_ name: String, in folder: String) throws {
    switch name {
    case "kvclone": try SyncCount.work(KVClonePeer.self, in: folder)
    case "sqlite": try SyncCount.work(SQLitePeer.self, in: folder)
    default: fail("there is no peer \(name)", 64)
    }
  }
}
