import BenchmarkSupport
import Foundation

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
      let only = option("--only", &words)?.split(separator: ",").map(String.init)
      let objects = option("--objects", &words).map { Int($0) ?? 0 }
      let quick = words.contains("--quick")
      words.removeAll { $0 == "--quick" }
      let itemCount = objects ?? (quick ? 200_000 : 1_000_000)
      guard words.count == 3, words[0] == "fetch", itemCount >= 1_000 else {
        return fail("usage: FetchComparison fetch STORES OUTPUT [--quick] [--only TASK,…] [--objects N, from 1000]", 64)
      }
      let run = FetchRun(
        folder: words[1] + "/fetch-\(getpid())", output: words[2], isQuick: quick, only: only, itemCount: itemCount)
      guard try run.run() else { return fail("the peers' results differ", 1) }
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

  /// The word after an option, both of which are taken out.
  private static func option(_ name: String, _ words: inout [String]) -> String? {
    guard let place = words.firstIndex(of: name), place + 1 < words.count else { return nil }
    defer { words.removeSubrange(place...place + 1) }
    return words[place + 1]
  }

  private static func fail(_ message: String, _ code: Int32) {
    FileHandle.standardError.write(Data((message + "\n").utf8))
    exit(code)
  }
}
