import Glibc

/// What this process holds in memory.
package enum ProcessMemory {
  /// Bytes of anonymous memory (RssAnon of /proc/self/status): heap and stacks, without the pages of the map. Nil where
  /// /proc does not say.
  package static var anonymousBytes: Int? {
    field("RssAnon:")
  }

  private static func field(_ name: String) -> Int? {
    guard let text = FileSystem.smallTextFile("/proc/self/status") else { return nil }
    for line in text.split(separator: "\n") where line.hasPrefix(name) {
      // "RssAnon:      1234 kB"
      let words = line.dropFirst(name.count).split(whereSeparator: { $0 == " " || $0 == "\t" })
      return words.first.flatMap { Int($0) }.map { $0 * 1024 }
    }
    return nil
  }
}
