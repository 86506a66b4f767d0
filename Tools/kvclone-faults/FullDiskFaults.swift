import Foundation

/// Disks without free space, on several file systems and of several sizes. Mounting them requires root and uses a mount
/// namespace that ends with the process.
enum FullDiskFaults: FaultClass {
  static let name = "full-disk"
  static let number = "G6"

  /// A file system, and the parameters of a small instance.
  private enum FileSystem: String, CaseIterable {
    case tmpfs, ext4, xfs, btrfs

    /// The number of disks in full mode.
    var count: Int {
      switch self {
      case .tmpfs, .ext4: 60
      case .xfs, .btrfs: 40
      }
    }

    /// The minimum size of the file system, if it exceeds the wanted free space; another file fills the rest.
    var kibibytes: Int? {
      switch self {
      case .tmpfs, .ext4: nil
      case .xfs: 300 << 10
      case .btrfs: 112 << 10
      }
    }
  }

  private struct Disk: Sendable {
    let system: FileSystem
    let kibibytes: Int

    var id: String { "\(system.rawValue)-\(kibibytes)k" }
    /// The accepted output: only a small disk may be too small for a store.
    var maySay: String { kibibytes < leastOfStores ? "too small for a store" : "full after" }
  }

  /// The size from which every file system has space for a store.
  private static let leastOfStores = 3 << 10
  /// Sizes from `least` to about 16 MiB in geometric progression.
  private static func sizes(_ count: Int, from least: Int) -> [Int] {
    (0..<count).map { number in
      let factor = pow(Double(16 << 10) / Double(least), Double(number) / Double(max(1, count - 1)))
      return Int(Double(least) * factor) + number
    }
  }

  /// The sizes in quick mode, by file system.
  private static let quickSizes: [FileSystem: [Int]] = [
    .tmpfs: [64, 1024], .ext4: [4096], .xfs: [3500], .btrfs: [3500],
  ]

  static func groups(_ campaign: Campaign) throws -> [TrialGroup] {
    let context = try campaign.context()
    return FileSystem.allCases.map { system in
      // The journal of ext4 takes some of the space.
      let all = sizes(system.count, from: system == .ext4 ? 2048 : 64)
      let disks = (campaign.isQuick ? quickSizes[system] ?? [] : all).map { Disk(system: system, kibibytes: $0) }
      let reason = obstacle(system, campaign)
      return TrialGroup(
        title: "full disk, \(system.rawValue)",
        trials: reason == nil ? disks.enumerated().map { trial(context, $1, number: $0) } : [],
        note: reason.map { "skipped: \($0)" })
    }
  }

  /// The reason why the file system is unavailable, or nil.
  private static func obstacle(_ system: FileSystem, _ campaign: Campaign) -> String? {
    guard getuid() == 0 else { return "only root may mount file systems" }
    let place = campaign.scratch + "/mount-probe"
    let script = "set -e\nmkdir -p \(place)\n" + mountScript(Disk(system: system, kibibytes: 4096), place)
    let isPossible = (try? shell(script, in: campaign.scratch + "/mount-probe-log")) == .exit(0)
    try? FileManager.default.removeItem(atPath: place + ".img")
    if isPossible { return nil }
    return
      "\(system == .tmpfs ? "tmpfs" : "a loop-mounted \(system.rawValue), made by mkfs.\(system.rawValue),") is not available here"
  }

  private static func trial(_ context: TrialContext, _ disk: Disk, number: Int) -> Trial {
    Trial(id: disk.id) { lane in
      let place = lane.directory + "/disk"
      try Scratch.empty(place)
      defer { try? FileManager.default.removeItem(atPath: place + ".img") }
      let root = place + "/root"
      // Each disk uses another seed, so that the disks fill up at different moments.
      var workload = context.workload
      workload.seed += UInt64(number)
      // Other file systems use some of their free space for themselves.
      let words =
        [context.executable, "fill", "--root", root]
        + (disk.system == .tmpfs ? ["--exact-room"] : []) + workload.arguments
      let program = "mkdir \(root) || { echo too small for a store; exit 0; }\nexec " + words.joined(separator: " ")
      let ending = try shell("set -e\n" + mountScript(disk, place) + program, in: lane.directory + "/fill")
      guard ending == .exit(0) else {
        let last = try Scratch.text(lane.directory + "/fill.err").split(separator: "\n").last.map(String.init) ?? ""
        return "the process ended with \(ending): \(last)"
      }
      let said = try Scratch.text(lane.directory + "/fill.out")
      if disk.kibibytes >= leastOfStores, said.contains(" 0 objects were deleted") { return "nothing was deleted" }
      return said.hasPrefix("full after") || said.hasPrefix(disk.maySay) ? nil : "the process reported: \(said)"
    }
  }

  /// A script that mounts a disk at an existing path.
  private static func mountScript(_ disk: Disk, _ place: String) -> String {
    let system = disk.system
    if system == .tmpfs { return "mount -t tmpfs -o size=\(disk.kibibytes)k none \(place)\n" }
    let force = system == .ext4 ? "-F" : "-f"
    let script = """
      rm -f \(place).img
      truncate -s \(system.kibibytes ?? disk.kibibytes)k \(place).img
      mkfs.\(system.rawValue) -q \(force) \(place).img >/dev/null
      mount -o loop \(place).img \(place)

      """
    if system.kibibytes == nil { return script }
    // Blocks that are allocated but never written take no space in the image file.
    return script + """
      room=$(df -k --output=avail \(place) | tail -n 1)
      fallocate -l $(((room - \(disk.kibibytes)) * 1024)) \(place)/filled

      """
  }

  /// Runs a script in its own mount namespace.
  private static func shell(_ script: String, in log: String) throws -> ChildProcess.Ending {
    var environment = ProcessInfo.processInfo.environment
    environment["SWIFT_BACKTRACE"] = "enable=no"
    return try ChildProcess.run(
      "/usr/bin/env", ["unshare", "--mount", "--", "sh", "-c", script], environment: environment,
      output: log + ".out", errors: log + ".err")
  }
}
