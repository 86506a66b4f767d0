import Foundation

/// Runs programs.
package enum Command {
  package struct Result {
    /// The exit status, or the negative number of the signal that ended the program.
    package var status: Int32
    package var output: Data
    package var errors: String
    package var seconds: Double
  }

  /// Runs a program until it exits, or ends it after `timeout` seconds.
  package static func run(_ words: [String], timeout: Double = 1_800) throws -> Result {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    process.standardInput = FileHandle.nullDevice
    let clock = ContinuousClock()
    let start = clock.now
    try process.run()
    let identifier = process.processIdentifier
    let isOver = Outcome()
    let watch = Thread {
      let end = Date(timeIntervalSinceNow: timeout)
      while !isOver.value, Date() < end { usleep(100_000) }
      if !isOver.value { kill(identifier, SIGKILL) }
    }
    watch.start()
    // Reads both pipes concurrently, because a program blocks when one of them is full.
    let errorText = Collected()
    let reader = Thread { errorText.set(errors.fileHandleForReading.readDataToEndOfFile()) }
    reader.start()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let seconds = (clock.now - start).seconds
    isOver.value = true
    let status = process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
    return Result(
      status: status, output: data, errors: String(decoding: errorText.get(), as: UTF8.self), seconds: seconds)
  }

  /// The path of a program; nil if it is not in PATH.
  package static func find(_ name: String) -> String? {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    for folder in path.split(separator: ":").map(String.init) + ["/usr/sbin", "/sbin"] {
      let program = folder + "/" + name
      if access(program, X_OK) == 0 { return program }
    }
    return nil
  }

  /// The output of a program; empty if it is missing or cannot be run.
  package static func answer(_ words: [String]) -> String {
    guard let program = find(words[0]), let result = try? run([program] + words.dropFirst(), timeout: 20) else {
      return ""
    }
    return String(decoding: result.output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }
}

/// Data read by another thread.
private final class Collected: @unchecked Sendable {
  private let condition = NSCondition()
  private var data: Data?

  func set(_ value: Data) {
    condition.lock()
    data = value
    condition.signal()
    condition.unlock()
  }

  func get() -> Data {
    condition.lock()
    defer { condition.unlock() }
    while true {
      if let data { return data }
      condition.wait()
    }
  }
}

/// A flag shared by two threads.
private final class Outcome: @unchecked Sendable {
  private let lock = NSLock()
  private var isSet = false

  var value: Bool {
    get { lock.withLock { isSet } }
    set { lock.withLock { isSet = newValue } }
  }
}
