import Foundation

/// What a process is at that does not answer: whether it works, waits for another one, or for the machine.
enum LateProcess {
  /// Of all threads: state, processor seconds, and what they wait for in the kernel, as `/proc` has it.
  static func description(of id: pid_t) -> String {
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/task")) ?? []
    return threads.sorted().map { thread in
      let place = "/proc/\(id)/task/\(thread)"
      return "thread \(thread): \(state(place)), in \(line(place + "/wchan")), call \(line(place + "/syscall"))"
    }.joined(separator: "; ")
  }

  /// Whether a thread waits for a disk or for memory, which no signal ends, and goes on waiting: one that reads and writes without end does
  /// so now and then, too, but works in between.
  static func waitsForMachine(_ id: pid_t) -> Bool {
    var waiting = waitingThreads(id)
    for _ in 1..<samples where !waiting.isEmpty {
      usleep(interval)
      let later = waitingThreads(id)
      waiting = waiting.filter { later[$0.key] == $0.value }
    }
    return !waiting.isEmpty
  }

  /// So many looks show that it does nothing else, a quarter of a second apart.
  private static let (samples, interval): (Int, UInt32) = (9, 250_000)

  /// Threads that wait so, and the processor time that each has had.
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

  /// Of `stat`, those behind the program's name, which may have blanks.
  private static func fields(_ place: String) -> [Substring] {
    let text = line(place + "/stat")
    return (text.lastIndex(of: ")").map { text[text.index(after: $0)...] } ?? "").split(separator: " ")
  }

  private static func line(_ path: String) -> String {
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? "-"
    return String(text.split(separator: "\n").first ?? "-")
  }
}
