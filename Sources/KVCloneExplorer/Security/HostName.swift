/// The host and port of a `Host` header, an `Origin` header or an option, in a form that can be compared.
package struct HostName: Hashable, Sendable {
  /// In lower case, without a dot at the end; an IPv6 address in brackets.
  let name: String
  /// Nil for the port of the scheme.
  let port: UInt16?

  /// Returns nil if the text is not `name`, `name:port`, `[address]` or `[address]:port`.
  package init?(_ text: some StringProtocol) {
    var name = text.lowercased()[...]
    var port: Substring?
    if name.hasPrefix("[") {
      guard let end = name.firstIndex(of: "]") else { return nil }
      let rest = name[name.index(after: end)...]
      guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
      if !rest.isEmpty { port = rest.dropFirst() }
      name = name[...end]
      guard name.utf8.dropFirst().dropLast().allSatisfy(Self.isAddress) else { return nil }
    } else {
      if let colon = name.firstIndex(of: ":") {
        port = name[name.index(after: colon)...]
        name = name[..<colon]
      }
      if name.hasSuffix(".") { name.removeLast() }
      guard name.utf8.allSatisfy(Self.isName) else { return nil }
    }
    guard !name.isEmpty, name != "[]" else { return nil }
    self.name = String(name)
    guard let port else {
      self.port = nil
      return
    }
    // `UInt16(_:)` accepts a plus sign.
    guard !port.isEmpty, port.utf8.allSatisfy(Self.isDigit), let number = UInt16(port) else { return nil }
    self.port = number
  }

  /// Whether both are the same server under a scheme: a missing port is 80 or 443.
  func matches(_ other: HostName) -> Bool {
    guard name == other.name else { return false }
    if port == other.port { return true }
    guard let given = port ?? other.port, port == nil || other.port == nil else { return false }
    return given == 80 || given == 443
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

  private static func isAddress(_ byte: UInt8) -> Bool {
    isDigit(byte) || (byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "f")) || byte == UInt8(ascii: ":")
      || byte == UInt8(ascii: ".")
  }

  private static func isName(_ byte: UInt8) -> Bool {
    isDigit(byte) || (byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z")) || byte == UInt8(ascii: "-")
      || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
  }
}
