import Foundation
import Testing

/// A terminal of a given size, emulated by tmux: the visible screen, and every byte that was written.
///
/// It runs a separate tmux server, so that existing sessions and settings have no influence.
final class TerminalSession {
  static let isPossible = Programs.has("tmux", "bash", "sh")
  private static let patience = 300.0

  private let scratch: Scratch
  private let socket = "kvclone-\(UUID().uuidString.prefix(12))"
  private let log: String
  private var commandCount = 0

  /// - Parameter shell: the program to run; `type` needs a shell that supports `$?`.
  init(columns: Int, rows: Int = 30, shell: String = "sh", in scratch: Scratch) throws {
    self.scratch = scratch
    log = "terminal.\(socket).log"
    try scratch.write("", to: log)
    try startServer(
      "-f", "/dev/null", "new-session", "-d", "-x", "\(columns)", "-y", "\(rows)", "-c", scratch.path,
      "env -u KVCLONE_STORE PS1='$ ' TERM=screen PATH=\(quoted(Scratch.environmentWithTool["PATH"] ?? "")) \(shell)")
    try tmux("pipe-pane", "-o", "cat >> \(quoted(scratch.file(log)))")
  }

  // A server without sessions ends. A child of the tests blocks signals, so the server cannot be killed by a signal.
  deinit { _ = try? tmux("kill-session") }

  private func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "'\\''") + "'" }

  /// Starts tmux without the descriptors that this process passes to its children, because the server would keep them
  /// open, and one of them signals the end of a child.
  private func startServer(_ arguments: String...) throws {
    let (bash, tmux) = (try #require(Programs.path("bash")), try #require(Programs.path("tmux")))
    let program = #"""
      (
        \#(Programs.closesDescriptors)
        exec "$0" "$@" </dev/null >/dev/null 2>&1
      )
      """#
    let run = try scratch.runProgram(bash, ["--norc", "-c", program, tmux, "-L", socket] + arguments)
    try #require(run.code == 0, "tmux does not start: \(run.errors)")
  }

  @discardableResult
  private func tmux(_ arguments: String...) throws -> String {
    let tmux = try #require(Programs.path("tmux"))
    let run = try scratch.runProgram(tmux, ["-L", socket] + arguments)
    return run.text
  }

  /// Types a command that writes its exit code to a file when it ends.
  func type(_ command: String) throws {
    commandCount += 1
    let file = codeFile
    try tmux("send-keys", "-l", "\(command); echo $? > \(file).part; mv \(file).part \(file)")
    try tmux("send-keys", "Enter")
  }

  /// Types text without running it, followed by a key.
  func press(_ text: String, _ key: String) throws {
    try tmux("send-keys", "-l", text)
    try tmux("send-keys", key)
  }

  private var codeFile: String { "code.\(socket).\(commandCount)" }

  func interrupt() throws { try tmux("send-keys", "C-c") }

  /// The exit code of the last typed command, or nil while it runs.
  var code: Int32? {
    guard let data = try? scratch.read(codeFile) else { return nil }
    return Int32(String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
  }

  /// Waits for the end of the last typed command.
  func end(_ location: SourceLocation = #_sourceLocation) throws -> Int32 {
    try wait("the end of a command", location) { code != nil }
    return try #require(code)
  }

  /// Waits until a condition is true, or the command that should make it true has ended.
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

  /// Returns the lines of the screen and of its scrollback, without trailing spaces.
  func screen() throws -> [String] {
    try tmux("capture-pane", "-p", "-S", "-").split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// Returns every state of the progress bar's line in order.
  func bars() throws -> [String] {
    let text = String(decoding: try scratch.read(log), as: UTF8.self)
    let pieces = text.split(separator: "\r\u{1B}[K", omittingEmptySubsequences: false).dropFirst()
    // Output and newlines follow the erasure of the last bar, and the terminal writes ^C.
    return pieces.map { piece in
      let bar = piece.prefix { !$0.isNewline && $0 != "\u{1B}" }
      return String(bar.hasSuffix("^C") ? bar.dropLast(2) : bar)
    }.filter { !$0.isEmpty }
  }
}
