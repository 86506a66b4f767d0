import Foundation

/// The state of a process that does not answer: working, waiting for another process, or waiting for the machine.
enum LateProcess {
  /// The state, processor seconds, and kernel wait channel of all threads, from `/proc`.
  static func description(of id: pid_t) -> String {
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/task")) ?? []
    return threads.sorted().map { thread in
      let place = "/proc/\(id)/task/\(thread)"
      return "thread \(thread): \(state(place)), in \(line(place + "/wchan")), call \(line(place + "/syscall"))"
    }.joined(separator: "; ")
  }

  /// Whether a thread stays in uninterruptible sleep for disk or memory. A thread with heavy I/O is in this state at
  /// times, too, but uses processor time between samples.
  static func waitsForMachine(_ id: pid_t) -> Bool {
    var waiting = waitingThreads(id)
    for _ in 1..<samples where !waiting.isEmpty {
      usleep(interval)
      let later = waitingThreads(id)
      waiting = waiting.filter { later[$0.key] == $0.value }
    }
    return !waiting.isEmpty
  }

  /// The number and interval of samples that show continuous waiting.
  private static let (samples, interval): (Int, UInt32) = (9, 250_000)

  /// Threads in uninterruptible sleep, with the processor time of each.
  private static func waitingThreads(_ id: pid_t) -> [String: [Substring]] {
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/task")) ?? []
    return threads.reduce(into: [:]) { waiting, thread in
      let fields = fields("/proc/\(id)/task/\(thread)")
      if fields.first == "D", fields.count > 12 { waiting[thread] = Array(fields[11...12]) }
    }
  }

  private static func state(_ place: String) -> String {
    let fields = fields(place)
    guard fields.count > 12 else { return "ended" }
    let ticks = (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0)
    return "state \(fields[0]), \(Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))) s of processor time"
  }

  /// The fields of `stat` after the program's name, which may contain spaces.
  private static func fields(_ place: String) -> [Substring] {
    let text = line(place + "/stat")
    return (text.lastIndex(of: ")").map { text[text.index(after: $0)...] } ?? "").split(separator: " ")
  }

  private static func line(_ path: String) -> String {
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? "-"
    return String(text.split(separator: "\n").first ?? "-")
  }
}
