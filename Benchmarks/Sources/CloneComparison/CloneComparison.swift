import BenchmarkSupport
import Foundation

/// Compares clones of the library with those of its peers.
///
///     CloneComparison compare STORES OUTPUT [--quick] [--only GRAPH,…]
///     CloneComparison peer JSON
///
/// `Benchmarks/run` builds and calls the first; the first calls the second, once for each run of each peer.
@main
enum CloneComparison {
  static func main() {
    var words = Array(CommandLine.arguments.dropFirst())
    if words.count == 2, words[0] == "peer" { PeerServer.run(words[1]) }
    var only: [String]?
    if let place = words.firstIndex(of: "--only"), place + 1 < words.count {
      only = words[place + 1].split(separator: ",").map(String.init)
      words.removeSubrange(place...place + 1)
    }
    let quick = words.contains("--quick")
    words.removeAll { $0 == "--quick" }
    guard words.count == 3, words[0] == "compare" else {
      return fail("usage: CloneComparison compare STORES OUTPUT [--quick] [--only GRAPH,…]", 64)
    }
    do {
      try Comparison(stores: words[1], output: words[2], isQuick: quick, only: only).run()
    } catch {
      fail("the comparison failed: \(error)", 1)
    }
  }

  private static func fail(_ message: String, _ code: Int32) {
    FileHandle.standardError.write(Data((message + "\n").utf8))
    exit(code)
  }
}
