import Foundation

/// A second process that holds a store's write lock from its initializer to `release()`, or until it is killed.
final class LockHolder {
  private let process = Process()
  private let input = Pipe()

  var pid: Int32 { process.processIdentifier }

  init(_ store: String, label: String) throws {
    let folder = (Scratch.executable as NSString).deletingLastPathComponent
    process.executableURL = URL(fileURLWithPath: folder + "/KVClonePeer")
    process.arguments = ["hold", store, label]
    let output = Pipe()
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    // It prints a line once it holds the lock, and none if it fails.
    guard !output.fileHandleForReading.availableData.isEmpty else { throw CocoaError(.fileReadUnknown) }
  }

  /// Aborts the transaction and waits for the end of the process.
  func release() throws {
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
}
