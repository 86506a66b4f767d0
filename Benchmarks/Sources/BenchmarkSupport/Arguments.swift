import Foundation

extension [String] {
  /// Removes an option from a program's arguments.
  ///
  /// - Returns: the value of the option; nil without the option.
  package mutating func take(option name: String) -> String? {
    guard let place = firstIndex(of: name), place + 1 < count else { return nil }
    defer { removeSubrange(place...place + 1) }
    return self[place + 1]
  }

  /// Removes a flag from a program's arguments.
  ///
  /// - Returns: whether the flag was present.
  package mutating func take(flag name: String) -> Bool {
    defer { removeAll { $0 == name } }
    return contains(name)
  }
}

/// Ends the program with a message on standard error.
package func fail(_ message: String, _ code: Int32) -> Never {
  FileHandle.standardError.write(Data((message + "\n").utf8))
  exit(code)
}
