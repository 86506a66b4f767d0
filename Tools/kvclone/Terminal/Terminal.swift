import Foundation

/// What is known of the terminal.
enum Terminal {
  /// How many columns there are; nil where the descriptor is none, or does not say.
  static func width(ofDescriptor descriptor: Int32) -> Int? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 20 else { return nil }
    return Int(size.ws_col)
  }
}
