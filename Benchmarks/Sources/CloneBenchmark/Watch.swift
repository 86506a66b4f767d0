import BenchmarkSupport
import Foundation

/// Runs a program and samples its anonymous memory every 5 ms: `CloneBenchmark watch PROGRAM ARGUMENT…`.
///
/// The peak is the whole anonymous memory of the process, an upper bound for its growth. The last line on standard
/// error is `peak BYTES seconds SECONDS status STATUS`; the status is the exit status, or the negative number of the
/// signal that ended the program.
enum Watch {
  static func run(_ command: [String]) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: command[0])
    process.arguments = Array(command.dropFirst())
    let clock = ContinuousClock()
    let start = clock.now
    try process.run()
    let path = "/proc/\(process.processIdentifier)/status"
    var peak = 0
    while process.isRunning {
      peak = max(peak, Measuring.status("RssAnon", path))
      usleep(5_000)
    }
    process.waitUntilExit()
    let status = process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
    let seconds = fixed((clock.now - start).seconds, 2)
    FileHandle.standardError.write(Data("peak \(peak) seconds \(seconds) status \(status)\n".utf8))
    return status == 0 ? 0 : 1
  }
}
