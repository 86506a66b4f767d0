import Foundation
import KVClone
import Synchronization

/// A bar on stderr with rate and time left: on a terminal only. With --json, a status line a second instead.
final class ProgressBar: Sendable {
  private let title: String
  private let unit: String
  private let total: UInt64?
  private let mode: Mode
  private let start = ContinuousClock.now
  private let lastShown: Mutex<ContinuousClock.Instant>

  private enum Mode { case silent, bar, json }

  init(_ title: String, unit: String, total: UInt64?, _ global: GlobalOptions) {
    self.title = title
    self.unit = unit
    self.total = total
    let isWanted = !global.quiet && !global.noProgress
    mode = !isWanted ? .silent : global.json ? .json : isatty(2) == 1 ? .bar : .silent
    lastShown = Mutex(start)
  }

  func update(_ done: UInt64) {
    if mode == .silent { return }
    let now = ContinuousClock.now
    let pause: Duration = mode == .json ? .seconds(1) : .milliseconds(100)
    let isDue = lastShown.withLock { last in
      if now - last < pause { return false }
      last = now
      return true
    }
    guard isDue else { return }
    let elapsed = (now - start).inSeconds
    let rate = elapsed > 0 ? Double(done) / elapsed : 0
    if mode == .json {
      var json = JSONWriter()
      json.beginObject()
      json.member("message_type", "status")
      json.member("command", title)
      json.member("done", done)
      if let total { json.member("total", total) }
      json.member("unit", unit)
      json.member("seconds", elapsed)
      json.endObject()
      StandardError.write(json.text + "\n")
    } else {
      StandardError.write("\r\u{1B}[K" + barText(done, rate))
    }
  }

  private func barText(_ done: UInt64, _ rate: Double) -> String {
    let speed = unit == "bytes" ? Text.bytes(UInt64(rate)) + "/s" : "\(Int(rate)) \(unit)/s"
    guard let total, total > 0 else { return "\(title) \(done) \(unit)  \(speed)" }
    let share = min(Double(done) / Double(total), 1)
    let filled = Int(share * 30)
    let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: 30 - filled)
    let left = rate > 0 ? Text.seconds(Double(total - min(done, total)) / rate) : "?"
    return "\(title) \(bar) \(Int(share * 100)) %  \(speed)  \(left) left"
  }

  func finish() {
    if mode == .bar { StandardError.write("\r\u{1B}[K") }
  }
}
