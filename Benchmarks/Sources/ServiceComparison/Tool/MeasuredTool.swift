import BenchmarkSupport
import Foundation
import Synchronization

/// The command line tool as a measured process.
struct MeasuredTool {
  let program: String

  /// Runs the tool until it exits.
  ///
  /// - Parameter output: a file for its standard output; nil to discard it.
  /// - Returns: its elapsed and processor seconds, and the peak of its anonymous memory.
  func run(_ words: [String], output: String? = nil) throws -> Sample {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = words
    if let output {
      guard FileManager.default.createFile(atPath: output, contents: nil),
        let file = FileHandle(forWritingAtPath: output)
      else { throw PeerFailure("\(output) cannot be written to") }
      process.standardOutput = file
    } else {
      process.standardOutput = FileHandle.nullDevice
    }
    let errors = Pipe()
    process.standardError = errors
    process.standardInput = FileHandle.nullDevice
    let processorBefore = Measuring.processorSecondsOfChildren()
    let start = ContinuousClock.now
    try process.run()
    let memory = ProcessMemory(of: process.processIdentifier)
    // The output is a few lines, which fit into the pipe until the process ends.
    process.waitUntilExit()
    let seconds = (ContinuousClock.now - start).seconds
    let peak = memory.stop()
    guard process.terminationReason == .exit, process.terminationStatus == 0 else {
      let text = String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self)
      throw PeerFailure("kvclone \(words.joined(separator: " ")) failed: \(text)")
    }
    return Sample(
      operations: 1, seconds: seconds, processorSeconds: Measuring.processorSecondsOfChildren() - processorBefore,
      anonymousBytes: peak)
  }
}

/// Samples the anonymous memory of another process every 5 ms.
private final class ProcessMemory: Sendable {
  private let peak = Atomic<Int>(0)
  private let isStopped = Atomic<Bool>(false)
  private let done = DispatchSemaphore(value: 0)

  init(of process: Int32) {
    let path = "/proc/\(process)/status"
    Thread { [self] in
      while !isStopped.load(ordering: .acquiring) {
        let bytes = Measuring.status("RssAnon", path)
        if bytes > peak.load(ordering: .relaxed) { peak.store(bytes, ordering: .relaxed) }
        usleep(5_000)
      }
      done.signal()
    }.start()
  }

  /// Stops the sampling.
  ///
  /// - Returns: the maximum anonymous memory in bytes.
  func stop() -> Int {
    isStopped.store(true, ordering: .releasing)
    done.wait()
    return peak.load(ordering: .relaxed)
  }
}
