import Foundation
import Synchronization

/// Figures that the system keeps about this process and others.
package enum Measuring {
  /// A number of kilobytes in a process's status file, in bytes.
  package static func status(_ name: String, _ path: String = "/proc/self/status") -> Int { number(path, name) * 1024 }

  /// A number in /proc/self/io; 0 where the system does not tell.
  package static func io(_ name: String) -> Int { number("/proc/self/io", name) }

  /// Seconds that this process has kept processors busy.
  package static func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }

  /// Seconds that ended processes, which this one started, kept processors busy.
  package static func processorSecondsOfChildren() -> Double {
    var usage = rusage()
    getrusage(RUSAGE_CHILDREN.rawValue, &usage)
    return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) * 1e-6 }
  }

  /// Seconds that this thread has kept a processor busy: other work on the machine does not show.
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

  /// This process's anonymous memory in bytes: what is resident without what is shared with files.
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

  /// The greatest growth of anonymous memory while `body` runs, looked at every 2 ms by another thread.
  package static func peakAnonymousBytes<R>(_ body: () throws -> R) rethrows -> (result: R, bytes: Int) {
    // What earlier work freed, but the allocator kept, would hide growth.
    returnFreeMemory()
    let before = anonymousBytes()
    let peak = PeakSampler()
    defer { peak.stop() }
    let result = try body()
    return (result, max(peak.stop(), anonymousBytes()) - before)
  }

  /// glibc's malloc_trim, which Swift's module of it leaves out; nothing where there is none.
  package static func returnFreeMemory() {
    guard let symbol = dlsym(dlopen(nil, RTLD_LAZY), "malloc_trim") else { return }
    _ = unsafeBitCast(symbol, to: (@convention(c) (Int) -> Int32).self)(0)
  }

  package static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return 0 }
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }
}

/// Looks at this process's anonymous memory every 2 ms until it is stopped.
///
/// It reads /proc/self/statm, which is one short line: a clone of a second is not disturbed by 500 such reads.
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

  /// Ends it.
  ///
  /// - Returns: the greatest anonymous memory seen, in bytes.
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
  /// Padded on the left to a column.
  package func right(_ width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}

/// A number with a fixed count of fraction digits.
package func fixed(_ value: Double, _ digits: Int = 0) -> String { String(format: "%.\(digits)f", value) }

/// Bytes as MiB.
package func mebibytes(_ bytes: Int) -> String { fixed(Double(bytes) / 1_048_576, 1) }

/// Prints a line at once, also where the output is a file that somebody watches.
package func report(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
