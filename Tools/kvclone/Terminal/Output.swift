import Foundation
import KVClone
import KVCloneExplorer
import Synchronization

/// The buffered output of results; a full disk at stdout is an error.
final class Output {
  private static let flushSize = 1 << 16
  private var bytes: [UInt8] = []

  func write(_ text: String) throws {
    bytes.append(contentsOf: text.utf8)
    if bytes.count >= Output.flushSize { try flush() }
  }

  func line(_ text: String = "") throws {
    try write(text + "\n")
  }

  /// Writes a sentence, wrapped to the terminal's width.
  ///
  /// - Parameter hanging: the additional indentation of lines after the first.
  func paragraph(_ text: String, hanging: Int = 2) throws {
    try line(Text.folded(text, to: Terminal.width(ofDescriptor: 1), hanging: hanging))
  }

  func write(_ piece: RawSpan) throws {
    piece.withUnsafeBytes { bytes.append(contentsOf: $0) }
    if bytes.count >= Output.flushSize { try flush() }
  }

  func flush() throws {
    try StandardOutput.write(bytes)
    bytes.removeAll(keepingCapacity: true)
  }

  /// Returns the buffered output, to be written elsewhere.
  func takeBuffered() -> [UInt8] {
    defer { bytes = [] }
    return bytes
  }

  /// Writes a JSON document, which is an object, and a line feed.
  func json(_ body: (inout JSONWriter) throws -> Void) throws {
    try write(JSONWriter.object(body))
    try line()
    try flush()
  }
}

/// All output that is not a result.
enum StandardError {
  private static let eraseLine = "\r\u{1B}[K"
  /// Whether the last line on the terminal is a progress bar, which the next text replaces.
  private static let isBarShown = Mutex(false)

  static func write(_ text: String) {
    if text.isEmpty { return }
    isBarShown.withLock { isShown in
      put(isShown ? eraseLine + text : text)
      isShown = false
    }
  }

  /// Writes a line of progress, unless the reader of standard error is slow: the write lock may be held, and must not
  /// wait for a terminal.
  static func offer(_ text: String) {
    if isReady { write(text) }
  }

  /// Whether a short text can be written without waiting. A pipe is ready when it has space for 4,096 bytes; a terminal
  /// that was stopped, by Control-S for example, is not.
  private static var isReady: Bool {
    var request = pollfd(fd: 2, events: Int16(POLLOUT), revents: 0)
    return poll(&request, 1, 0) == 1 && Int32(request.revents) & POLLOUT != 0
  }

  /// Writes a last message, and ends the process: no output of another thread follows.
  static func end(_ text: String, code: Int32) -> Never {
    isBarShown.withLock { isShown in
      put(isShown ? eraseLine + text : text)
      _exit(code)
    }
  }

  /// Replaces the progress bar; an empty text removes it. A bar that cannot be written immediately is omitted.
  static func writeBar(_ text: String) {
    if !text.isEmpty, !isReady { return }
    isBarShown.withLock { isShown in
      if text.isEmpty, !isShown { return }
      put(eraseLine + text)
      isShown = !text.isEmpty
    }
  }

  private static func put(_ text: String) {
    try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
  }
}

extension Text {
  static func padded(_ text: String, _ width: Int) -> String {
    text.count >= width ? text : text + String(repeating: " ", count: width - text.count)
  }

  /// Wraps at spaces; lines after the first are indented by `hanging` more. A longer word is not split.
  static func folded(_ text: String, to width: Int?, hanging: Int = 2) -> String {
    guard let width, text.count > width else { return text }
    let indentation = String(text.prefix { $0 == " " })
    var lines: [String] = []
    var line = ""
    for word in text.dropFirst(indentation.count).split(separator: " ", omittingEmptySubsequences: false) {
      if line.isEmpty {
        line = indentation + word
      } else if line.count + 1 + word.count > width {
        lines.append(line)
        line = indentation + String(repeating: " ", count: hanging) + word
      } else {
        line += " \(word)"
      }
    }
    return (lines + [line]).joined(separator: "\n")
  }
}
