import Foundation

/// Colours on terminals; plain text everywhere else.
struct Style {
  let isColored: Bool

  /// - Parameter isFile: Whether the text is written to a file, which has no colours.
  init(_ global: GlobalOptions, isFile: Bool = false) {
    let environment = ProcessInfo.processInfo.environment
    let isRefused = global.noColor || !(environment["NO_COLOR"] ?? "").isEmpty || environment["TERM"] == "dumb"
    isColored = !isRefused && !isFile && isatty(1) == 1
  }

  func bold(_ text: String) -> String { wrap(text, "1") }
  func dim(_ text: String) -> String { wrap(text, "2") }
  func red(_ text: String) -> String { wrap(text, "31") }
  func green(_ text: String) -> String { wrap(text, "32") }
  func cyan(_ text: String) -> String { wrap(text, "36") }

  private func wrap(_ text: String, _ code: String) -> String {
    isColored && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }
}
