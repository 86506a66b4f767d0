import Foundation

/// Runs `KVClonePeer` on file systems that a test mounts, in a separate mount namespace.
package enum MountedPeer {
  package static let canMount = (try? run("mount -t tmpfs none /mnt && echo yes", "/mnt")) == ["yes"]

  /// Runs a shell script and returns the lines it prints. `$1` is the peer, `$2` an empty directory.
  package static func script(_ text: String) throws -> [String] {
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    return try run(text, root)
  }

  private static func run(_ text: String, _ root: String) throws -> [String] {
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    let peer = (tests as NSString).deletingLastPathComponent + "/KVClonePeer"
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["unshare", "--mount", "/bin/sh", "-euc", text, "sh", peer, root]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
  }
}
