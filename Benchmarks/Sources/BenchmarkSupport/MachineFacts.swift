import Foundation

/// The properties of the machine that affect the results.
package struct MachineFacts {
  private let lines: [(String, String)]

  /// - Parameter sqlite: the version of SQLite that the benchmark is linked with.
  package init(stores: String, sqlite: String?) {
    let cpu =
      (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8))?.split(separator: "\n")
      .first { $0.hasPrefix("model name") }?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) }
    let memory = Measuring.status("MemTotal", "/proc/meminfo")
    let disk =
      Command.answer(["df", "--output=fstype,source", stores]).split(separator: "\n").last.map(String.init) ?? "?"
    let system =
      (try? String(contentsOfFile: "/etc/os-release", encoding: .utf8))?.split(separator: "\n")
      .first { $0.hasPrefix("PRETTY_NAME=") }?.split(separator: "\"").last.map(String.init)
    let grdb = Self.pinned("grdb.swift")
    var lines: [(String, String)] = [
      ("date", ISO8601DateFormatter().string(from: Date())),
      ("processor", "\(cpu ?? "?"), \(ProcessInfo.processInfo.activeProcessorCount) cores"),
      ("memory", bytes(Double(memory))),
      ("system", "\(system ?? "?"), Linux \(Command.answer(["uname", "-r"]))"),
      ("load average before", Self.loadAverage),
      ("file system of the stores", disk.split(separator: " ").joined(separator: " on ")),
      ("read-ahead of its disk", Self.readAhead(stores).map { "\($0) KiB" } ?? "?"),
      (
        "Swift",
        Command.answer(["swift", "--version"]).split(separator: "\n").first { $0.contains("Swift") }.map(String.init)
          ?? "?"
      ),
      ("SQLite", "\(sqlite ?? "?"), GRDB \(grdb)"),
    ]
    for (title, package) in [("LMDB", "liblmdb0"), ("RocksDB", "librocksdb-dev")] {
      let version = Command.answer(["dpkg-query", "-W", "-f", "${Version}", package])
      lines.append((title, version.isEmpty ? "?" : version))
    }
    self.lines = lines
  }

  /// A table of the properties.
  ///
  /// - Parameter seconds: the duration of the run.
  package func table(seconds: Double) -> String {
    var table = MarkdownTable(["machine", ""], wordColumns: 2)
    table.rows = lines.map { [$0.0, $0.1] }
    table.rows += [["load average after", Self.loadAverage], ["this run", fixed(seconds / 60, 1) + " minutes"]]
    return table.text + "\n"
  }

  /// The load of the last 1, 5 and 15 minutes.
  private static var loadAverage: String {
    (try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8))?.split(separator: " ").prefix(3)
      .joined(separator: ", ") ?? "?"
  }

  /// `read_ahead_kb` of the disk that contains a folder; nil if it is not on a disk.
  package static func readAhead(_ folder: String) -> Int? {
    var status = stat()
    guard stat(folder, &status) == 0 else { return nil }
    // The encoding of makedev(3).
    let device = UInt64(status.st_dev)
    let (major, minor) = (device >> 8 & 0xFFF, device & 0xFF | device >> 12 & 0xFFF00)
    let disk = "/sys/dev/block/\(major):\(minor)"
    // A partition uses the queue of its disk.
    let text = [disk + "/queue", disk + "/../queue"].lazy.compactMap {
      try? String(contentsOfFile: $0 + "/read_ahead_kb", encoding: .utf8)
    }.first
    return text.flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
  }

  /// The resolved version of a dependency.
  private static func pinned(_ identity: String) -> String {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Package.resolved")
    struct Pins: Codable {
      struct Pin: Codable {
        struct State: Codable { var version: String? }
        var identity: String
        var state: State
      }
      var pins: [Pin]
    }
    guard let data = try? Data(contentsOf: file), let pins = try? JSONDecoder().decode(Pins.self, from: data) else {
      return "?"
    }
    return pins.pins.first { $0.identity == identity }?.state.version ?? "?"
  }
}
