import Foundation
import KVClone
import KVCloneExplorer
import Synchronization

/// The progress of a command, on stderr: a bar with rate and remaining time on a terminal, in a single line; otherwise
/// an occasional line for long operations; with --json a status line a second; with --quiet nothing.
final class ProgressBar: Sendable {
  let title: String
  private let unit: String
  private let total: UInt64?
  private let mode: Mode
  private let pause: Duration
  private let state: Mutex<State>

  private enum Mode { case silent, bar, lines, json }

  private struct State {
    var phase: String?
    /// The start of the phase: the rate is that of the current phase.
    var start = ContinuousClock.now
    var lastShown = ContinuousClock.now
  }

  init(_ title: String, unit: String, total: UInt64?, _ global: GlobalOptions) {
    self.title = title
    self.unit = unit
    self.total = total
    let isWanted = !global.quiet && !global.noProgress
    mode = !isWanted ? .silent : global.json ? .json : isatty(2) == 1 ? .bar : .lines
    pause =
      switch mode {
      case .silent, .bar: .milliseconds(100)
      case .json: .seconds(1)
      // A log is read afterwards, by people.
      case .lines: global.verbose ? .seconds(1) : .seconds(10)
      }
    state = Mutex(State())
  }

  /// - Parameters:
  ///   - phase: the current phase of a command with several; each counts from 0.
  ///   - total: the total of the phase, if known; else the command's.
  func update(_ done: UInt64, phase: String? = nil, of total: UInt64? = nil) {
    if mode == .silent { return }
    let now = ContinuousClock.now
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
    if mode == .json { return writeStatus(done, phase, total, elapsed) }
    let title = phase.map { "\(self.title): \($0)" } ?? self.title
    // A phase without a count, like waiting, has no rate.
    let isCounting = phase == nil || done > 0
    let text = ProgressText(title: title, unit: unit, done: done, total: total, elapsed: elapsed)
    if mode == .bar {
      let width = Terminal.width(ofDescriptor: 2) ?? 80
      StandardError.writeBar(isCounting ? text.bar(width: width) : Text.cut(title, width - 1))
    } else {
      StandardError.offer((isCounting ? text.line : title) + "\n")
    }
  }

  /// Shows the progress of an operation of the library.
  @Sendable func update(_ progress: OperationProgress) {
    update(UInt64(progress.completed), phase: progress.phase.rawValue, of: progress.total.map { UInt64($0) })
  }

  private func writeStatus(_ done: UInt64, _ phase: String?, _ total: UInt64?, _ elapsed: Double) {
    let json = JSONWriter.object { json in
      json.member("message_type", "status")
      json.member("command", title)
      json.member("phase", phase)
      json.member("done", done)
      if let total { json.member("total", total) }
      json.member("unit", unit)
      json.member("seconds", elapsed)
    }
    StandardError.offer(json + "\n")
  }

  func finish() {
    if mode == .bar { StandardError.writeBar("") }
  }
}

/// The text of a progress bar, as far as it fits.
private struct ProgressText {
  private static let greatestBar = 30
  private static let smallestBar = 6

  let title: String
  let unit: String
  let done: UInt64
  let total: UInt64?
  let elapsed: Double

  /// Units per second; limited to what the column can show, however short the time was.
  private var rate: Double { elapsed > 0 ? min(Double(done) / elapsed, 1e15) : 0 }

  private func speed(isShort: Bool = false) -> String {
    if unit == "bytes" { return Text.bytes(UInt64(rate)) + "/s" }
    let number = rate < 10 ? String(format: "%.1f", rate) : "\(Int(rate))"
    return isShort ? "\(number)/s" : "\(number) \(unit)/s"
  }

  private var amount: String { unit == "bytes" ? Text.bytes(done) : "\(done) \(unit)" }

  /// Share and remaining time; nil if the total is unknown.
  private var parts: (percent: Int, share: Double, left: String)? {
    guard let total, total > 0 else { return nil }
    let share = min(Double(done) / Double(total), 1)
    let left = rate > 0 ? Self.span(Double(total - min(done, total)) / rate) : "?"
    return (Int(share * 100), share, left)
  }

  /// Formats an estimated duration.
  private static func span(_ seconds: Double) -> String {
    switch seconds {
    case ..<60: "\(Int(seconds.rounded(.up))) s"
    case ..<3600: "\(Int(seconds / 60)) min"
    case ..<360_000: String(format: "%.1f h", seconds / 3600)
    default: "days"
    }
  }

  /// A line for a log.
  var line: String {
    guard let parts else { return "\(title): \(amount), \(speed())" }
    return "\(title): \(parts.percent) %, \(speed()), \(parts.left) left"
  }

  /// At most a column less than the terminal's width, because a full line may wrap. The bar gets the remaining space.
  func bar(width: Int) -> String {
    let room = width - 1
    guard let parts else { return Text.cut("\(title) \(amount)  \(speed())", room) }
    let facts = "\(parts.percent) %  \(speed())  \(parts.left) left"
    let length = min(Self.greatestBar, room - title.count - facts.count - 2)
    guard length < Self.smallestBar else {
      let filled = Int(parts.share * Double(length))
      let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: length - filled)
      return "\(title) \(bar) \(facts)"
    }
    let plain = "\(title) \(facts)"
    if plain.count <= room { return plain }
    return Text.cut("\(title) \(parts.percent) %  \(speed(isShort: true))  \(parts.left) left", room)
  }
}
