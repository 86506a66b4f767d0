import Foundation
import Testing

/// A terminal of a certain size, by tmux: what a person would see, and every byte that came on the way.
///
/// It has a server of its own, so that nobody's sessions and settings play a part.
final class TerminalSession {
  static let isPossible = Programs.has("tmux", "sh")
  private static let patience = 120.0

  private let scratch: Scratch
  private let socket = "kvclone-\(UUID().uuidString.prefix(12))"
  private let log: String
  private var commandCount = 0

  init(columns: Int, rows: Int = 30, in scratch: Scratch) throws {
    self.scratch = scratch
    log = "terminal.\(socket).log"
    try scratch.write("", to: log)
    try tmux(
      "-f", "/dev/null", "new-session", "-d", "-x", "\(columns)", "-y", "\(rows)", "-c", scratch.path,
      "env -u KVCLONE_STORE PS1='$ ' TERM=screen PATH=\(quoted(Scratch.environmentWithTool["PATH"] ?? "")) sh")
    try tmux("pipe-pane", "-o", "cat >> \(quoted(scratch.file(log)))")
  }

  deinit { _ = try? tmux("kill-server") }

  private func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "'\\''") + "'" }

  @discardableResult
  private func tmux(_ arguments: String...) throws -> String {
    let tmux = try #require(Programs.path("tmux"))
    let run = try scratch.runProgram(tmux, ["-L", socket] + arguments)
    return run.text
  }

  /// Types a command, which tells its exit code to a file when it ends.
  func type(_ command: String) throws {
    commandCount += 1
    let file = codeFile
    try tmux("send-keys", "-l", "\(command); echo $? > \(file).part; mv \(file).part \(file)")
    try tmux("send-keys", "Enter")
  }

  private var codeFile: String { "code.\(socket).\(commandCount)" }

  func interrupt() throws { try tmux("send-keys", "C-c") }

  /// The exit code of the command that was typed last, once it has one.
  var code: Int32? {
    guard let data = try? scratch.read(codeFile) else { return nil }
    return Int32(String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
  }

  /// Waits for the end of the command that was typed last.
  func end(_ location: SourceLocation = #_sourceLocation) throws -> Int32 {
    try wait("the end of a command", location) { code != nil }
    return try #require(code)
  }

  /// Waits until something is so, or a command that should have come to it has ended.
  func wait(_ what: String, _ location: SourceLocation = #_sourceLocation, until isSo: () throws -> Bool) throws {
    let end = Date.now.addingTimeInterval(Self.patience)
    while try !isSo() {
      if Date.now > end {
        Issue.record("\(what) did not come; the screen: \(try screen())", sourceLocation: location)
        return
      }
      Thread.sleep(forTimeInterval: 0.01)
    }
  }

  /// The screen's lines, without spaces at their ends, and what has scrolled off above it.
  func screen() throws -> [String] {
    try tmux("capture-pane", "-p", "-S", "-").split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// Every state of the line that a bar stood in, one after the other.
  func bars() throws -> [String] {
    let text = String(decoding: try scratch.read(log), as: UTF8.self)
    let pieces = text.split(separator: "\r\u{1B}[K", omittingEmptySubsequences: false).dropFirst()
    // Output and newlines come after the last bar is erased.
    return pieces.map { String($0.prefix { !$0.isNewline && $0 != "\u{1B}" }) }.filter { !$0.isEmpty }
  }
}
