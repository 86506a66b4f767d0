import Foundation
import Synchronization

/// Figures of the kernel about this process and others.
package enum Measuring {
  /// A value in kilobytes from a process's status file, in bytes.
  package static func status(_ name: String, _ path: String = "/proc/self/status") -> Int { number(path, name) * 1024 }

  /// A value from /proc/self/io; 0 if the kernel does not provide it.
  package static func io(_ name: String) -> Int { number("/proc/self/io", name) }

  /// The processor time of this process in seconds.
  package static func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }

  /// The processor time of ended child processes in seconds.
  package static func processorSecondsOfChildren() -> Double {
    var usage = rusage()
    getrusage(RUSAGE_CHILDREN.rawValue, &usage)
    return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) * 1e-6 }
  }

  /// The processor time of this thread in seconds, which excludes other work on the machine.
  package static func threadSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }

  private static func number(_ path: String, _ name: String) -> Int {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return 0 }
    let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
    return line.flatMap { Int($0.dropFirst(name.count + 1).filter(\.isNumber)) } ?? 0
  }

  /// The anonymous memory of this process in bytes: resident memory without shared pages of files.
  package static func anonymousBytes() -> Int {
    let file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return 0 }
    defer { close(file) }
    return withUnsafeTemporaryAllocation(byteCount: 128, alignment: 1) { buffer in
      let count = read(file, buffer.baseAddress, buffer.count)
      guard count > 0 else { return 0 }
      let words = String(decoding: UnsafeRawBufferPointer(rebasing: buffer[..<count]), as: UTF8.self).split(
        separator: " ")
      guard words.count > 2, let resident = Int(words[1]), let shared = Int(words[2]) else { return 0 }
      return (resident - shared) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
  }

  /// The maximum growth of anonymous memory while `body` runs, sampled every 2 ms by another thread.
  package static func peakAnonymousBytes<R>(_ body: () throws -> R) rethrows -> (result: R, bytes: Int) {
    // Memory that earlier work freed but the allocator kept would hide growth.
    returnFreeMemory()
    let before = anonymousBytes()
    let peak = PeakSampler()
    defer { peak.stop() }
    let result = try body()
    return (result, max(peak.stop(), anonymousBytes()) - before)
  }

  /// Calls glibc's malloc_trim, which Swift's module of glibc omits; does nothing with other C libraries.
  package static func returnFreeMemory() {
    guard let symbol = dlsym(dlopen(nil, RTLD_LAZY), "malloc_trim") else { return }
    _ = unsafeBitCast(symbol, to: (@convention(c) (Int) -> Int32).self)(0)
  }

  /// The duration of `body` in seconds.
  package static func seconds(_ body: () throws -> Void) rethrows -> Double {
    try ContinuousClock().measure(body).seconds
  }

  package static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return 0 }
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }
}

/// Samples this process's anonymous memory every 2 ms until it is stopped.
///
/// It reads /proc/self/statm, which is one short line, so that 500 reads do not slow down a clone of a second.
package final class PeakSampler: Sendable {
  private let peak = Atomic<Int>(0)
  private let isStopped = Atomic<Bool>(false)
  private let isDone = Atomic<Bool>(false)

  package init() {
    let thread = Thread { [self] in run() }
    thread.start()
  }

  private func run() {
    while !isStopped.load(ordering: .acquiring) {
      let bytes = Measuring.anonymousBytes()
      if bytes > peak.load(ordering: .relaxed) { peak.store(bytes, ordering: .relaxed) }
      usleep(2_000)
    }
    isDone.store(true, ordering: .releasing)
  }

  /// Stops the sampling.
  ///
  /// - Returns: the maximum anonymous memory in bytes.
  @discardableResult
  package func stop() -> Int {
    isStopped.store(true, ordering: .releasing)
    while !isDone.load(ordering: .acquiring) { usleep(100) }
    return peak.load(ordering: .relaxed)
  }
}

extension Duration {
  package var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}

extension String {
  /// The text padded on the left to a column.
  package func right(_ width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}

/// A number with a fixed count of fraction digits.
package func fixed(_ value: Double, _ digits: Int = 0) -> String { String(format: "%.\(digits)f", value) }

/// Bytes as MiB.
package func mebibytes(_ bytes: Int) -> String { fixed(Double(bytes) / 1_048_576, 1) }

/// Prints a line unbuffered, so that it appears at once in a redirected output.
package func report(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
