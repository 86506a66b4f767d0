package import Foundation
import Testing

/// A second process that runs the executable `KVClonePeer`, built beside the tests, and communicates by lines.
package final class PeerProcess {
  package let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var unread = Data()

  package init(_ command: String, _ arguments: [String]) throws {
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    let path = (tests as NSString).deletingLastPathComponent + "/KVClonePeer"
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = [command] + arguments
    process.standardInput = input
    process.standardOutput = output
    try process.run()
  }

  package func tell(_ line: String) throws {
    try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
  }

  /// Waits for the next line; returns nil at the end of the output.
  package func hear() -> String? {
    while true {
      if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: unread[..<end], as: UTF8.self)
        unread = Data(unread[(end + 1)...])
        return line
      }
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { return nil }
      unread += more
    }
  }

  /// Closes the process's input, and waits for its end.
  package func finish() throws -> Int32 {
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
    return process.terminationStatus
  }

  package func kill() {
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  deinit { if process.isRunning { kill() } }
}
