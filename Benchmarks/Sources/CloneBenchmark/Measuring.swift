import Foundation
import Synchronization

/// What one clone took.
struct Sample {
  var seconds = 0.0
  /// Processor time of the process, which other work on the machine disturbs less than the clock.
  var processorSeconds = 0.0
  var objects = 0
  /// Growth of the process's anonymous memory at its peak, in bytes.
  var anonymousBytes = 0
  /// Bytes that the process had the disk read.
  var diskBytesRead = 0

  var nanosecondsPerObject: Double { seconds * 1e9 / Double(max(1, objects)) }
  var processorNanosecondsPerObject: Double { processorSeconds * 1e9 / Double(max(1, objects)) }
}

enum Measuring {
  /// A number of kilobytes in a process's status file, in bytes.
  static func status(_ name: String, _ path: String = "/proc/self/status") -> Int { number(path, name) * 1024 }

  /// A number in /proc/self/io; 0 where the system does not tell.
  static func io(_ name: String) -> Int { number("/proc/self/io", name) }

  /// Seconds that this process has kept processors busy.
  static func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }

  /// Seconds that this thread has kept a processor busy: other work on the machine does not show.
  static func threadSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }

  private static func number(_ path: String, _ name: String) -> Int {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return 0 }
    let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
    return line.flatMap { Int($0.dropFirst(name.count + 1).filter(\.isNumber)) } ?? 0
  }

  /// The greatest growth of anonymous memory while `body` runs, looked at every 2 ms by another thread.
  static func peakAnonymousBytes<R>(_ body: () throws -> R) rethrows -> (result: R, bytes: Int) {
    // What earlier work freed, but the allocator kept, would hide growth.
    returnFreeMemory()
    let before = status("RssAnon")
    let peak = PeakSampler()
    let thread = Thread { peak.run() }
    thread.start()
    defer { peak.stop() }
    let result = try body()
    return (result, max(peak.stop(), status("RssAnon")) - before)
  }

  /// glibc's malloc_trim, which Swift's module of it leaves out; nothing where there is none.
  private static func returnFreeMemory() {
    guard let symbol = dlsym(dlopen(nil, RTLD_LAZY), "malloc_trim") else { return }
    _ = unsafeBitCast(symbol, to: (@convention(c) (Int) -> Int32).self)(0)
  }

  static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return 0 }
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }
}

/// Looks at this process's anonymous memory until it is stopped.
private final class PeakSampler: Sendable {
  private let peak = Atomic<Int>(0)
  private let isStopped = Atomic<Bool>(false)
  private let isDone = Atomic<Bool>(false)

  func run() {
    while !isStopped.load(ordering: .acquiring) {
      let bytes = Measuring.status("RssAnon")
      if bytes > peak.load(ordering: .relaxed) { peak.store(bytes, ordering: .relaxed) }
      usleep(2_000)
    }
    isDone.store(true, ordering: .releasing)
  }

  @discardableResult
  func stop() -> Int {
    isStopped.store(true, ordering: .releasing)
    while !isDone.load(ordering: .acquiring) { usleep(100) }
    return peak.load(ordering: .relaxed)
  }
}

extension Duration {
  var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}

extension String {
  /// Padded on the left to a column.
  func right(_ width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}

/// A number with a fixed count of fraction digits.
func fixed(_ value: Double, _ digits: Int = 0) -> String { String(format: "%.\(digits)f", value) }

/// Bytes as MiB.
func mebibytes(_ bytes: Int) -> String { fixed(Double(bytes) / 1_048_576, 1) }

/// Prints a line at once, also where the output is a file that somebody watches.
func report(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
