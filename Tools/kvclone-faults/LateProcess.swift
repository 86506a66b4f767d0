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

  /// Whether a thread waits for a disk or for memory, which no signal ends: nothing that the process itself does.
  static func waitsForMachine(_ id: pid_t) -> Bool {
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/task")) ?? []
    return threads.contains { fields("/proc/\(id)/task/\($0)").first == "D" }
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
