import Foundation
import KVClone
import Synchronization

/// A bar on stderr with rate and time left: on a terminal only. With --json, a status line a second instead.
final class ProgressBar: Sendable {
  private let title: String
  private let unit: String
  private let total: UInt64?
  private let mode: Mode
  private let state: Mutex<State>

  private enum Mode { case silent, bar, json }

  private struct State {
    var phase: String?
    /// Of the phase: the rate is that of what is going on now.
    var start = ContinuousClock.now
    var lastShown = ContinuousClock.now
  }

  init(_ title: String, unit: String, total: UInt64?, _ global: GlobalOptions) {
    self.title = title
    self.unit = unit
    self.total = total
    let isWanted = !global.quiet && !global.noProgress
    mode = !isWanted ? .silent : global.json ? .json : isatty(2) == 1 ? .bar : .silent
    state = Mutex(State())
  }

  /// - Parameters:
  ///   - phase: what is being done, where a command does one thing after the other; each counts from 0.
  ///   - total: of the phase, where it is known; else the command's own.
  func update(_ done: UInt64, phase: String? = nil, of total: UInt64? = nil) {
    if mode == .silent { return }
    let now = ContinuousClock.now
    let pause: Duration = mode == .json ? .seconds(1) : .milliseconds(100)
    let elapsed = state.withLock { state -> Double? in
      if state.phase != phase {
        state.phase = phase
        state.start = now
      }
      if now - state.lastShown < pause { return nil }
      state.lastShown = now
      return (now - state.start).inSeconds
    }
    guard let elapsed else { return }
    let total = total ?? self.total
    if mode == .json {
      var json = JSONWriter()
      json.beginObject()
      json.member("message_type", "status")
      json.member("command", title)
      if let phase { json.member("phase", phase) }
      json.member("done", done)
      if let total { json.member("total", total) }
      json.member("unit", unit)
      json.member("seconds", elapsed)
      json.endObject()
      StandardError.write(json.text + "\n")
    } else {
      let title = phase.map { "\(self.title): \($0)" } ?? self.title
      // A phase that counts nothing, like waiting, has no rate.
      let text = phase != nil && done == 0 ? title : barText(title, done, total, elapsed)
      StandardError.write("\r\u{1B}[K" + text)
    }
  }

  private func barText(_ title: String, _ done: UInt64, _ total: UInt64?, _ elapsed: Double) -> String {
    let rate = elapsed > 0 ? Double(done) / elapsed : 0
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
