import Foundation

/// A disk that is really full, of several kinds and sizes. It takes a superuser to mount one, in a mount namespace of its
/// own that goes with the process.
enum FullDiskFaults: FaultClass {
  static let name = "full-disk"
  static let number = "G6"

  private struct Disk: Sendable {
    let id: String
    let kibibytes: Int
    /// Nil for tmpfs.
    let format: String?
  }

  private static let disks = [
    Disk(id: "tmpfs-64k", kibibytes: 64, format: nil), Disk(id: "tmpfs-1m", kibibytes: 1024, format: nil),
    Disk(id: "tmpfs-4m", kibibytes: 4096, format: nil), Disk(id: "tmpfs-9m", kibibytes: 9000, format: nil),
    Disk(id: "ext4-4m", kibibytes: 4096, format: "ext4"), Disk(id: "ext4-8m", kibibytes: 8192, format: "ext4"),
    Disk(id: "ext4-16m", kibibytes: 16384, format: "ext4"),
  ]
  private static let quickDisks: Set<String> = ["tmpfs-64k", "tmpfs-1m", "ext4-4m"]

  static func groups(_ campaign: Campaign) throws -> [TrialGroup] {
    let context = try campaign.context()
    let chosen = disks.filter { !campaign.isQuick || quickDisks.contains($0.id) }
    return [nil, "ext4"].map { format in
      let disks = chosen.filter { $0.format == format }
      let kind = format ?? "tmpfs"
      let reason = obstacle(format, campaign)
      return TrialGroup(
        title: "full disk, \(kind)", trials: reason == nil ? disks.map { trial(context, $0) } : [],
        note: reason.map { "skipped: \($0)" })
    }
  }

  /// Why such a disk cannot be had here, or nil.
  private static func obstacle(_ format: String?, _ campaign: Campaign) -> String? {
    guard getuid() == 0 else { return "only a superuser may mount" }
    let place = campaign.scratch + "/mount-probe"
    let script = "set -e; mkdir -p \(place)\n" + mountScript(Disk(id: "probe", kibibytes: 4096, format: format), place)
    let isPossible = (try? shell(script, in: campaign.scratch + "/mount-probe-log")) == .exit(0)
    return isPossible ? nil : "\(format.map { "a loop-mounted \($0)" } ?? "tmpfs") cannot be mounted here"
  }

  private static func trial(_ context: TrialContext, _ disk: Disk) -> Trial {
    Trial(id: disk.id) { lane in
      let place = lane.directory + "/disk"
      try Scratch.empty(place)
      let root = place + "/root"
      let words = [context.executable, "fill", "--root", root] + context.workload.arguments
      let program = "mkdir \(root)\nexec " + words.joined(separator: " ")
      let ending = try shell("set -e\n" + mountScript(disk, place) + program, in: lane.directory + "/fill")
      guard ending == .exit(0) else {
        let last = try Scratch.text(lane.directory + "/fill.err").split(separator: "\n").last.map(String.init) ?? ""
        return "the process ended with \(ending): \(last)"
      }
      return nil
    }
  }

  private static func mountScript(_ disk: Disk, _ place: String) -> String {
    guard let format = disk.format else { return "mount -t tmpfs -o size=\(disk.kibibytes)k none \(place)\n" }
    return """
      truncate -s \(disk.kibibytes)k \(place).img
      mkfs.\(format) -q \(place).img
      mount -o loop \(place).img \(place)

      """
  }

  /// Runs a script where its mounts are its own.
  private static func shell(_ script: String, in log: String) throws -> ChildProcess.Ending {
    var environment = ProcessInfo.processInfo.environment
    environment["SWIFT_BACKTRACE"] = "enable=no"
    return try ChildProcess.run(
      "/usr/bin/env", ["unshare", "--mount", "--", "sh", "-c", script], environment: environment,
      output: log + ".out", errors: log + ".err")
  }
}
