import Foundation

/// Properties of the terminal.
enum Terminal {
  /// The number of columns; nil if the descriptor is not a terminal, or unknown.
  static func width(ofDescriptor descriptor: Int32) -> Int? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 20 else { return nil }
    return Int(size.ws_col)
  }
}
