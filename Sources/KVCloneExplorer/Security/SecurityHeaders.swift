/// The headers of every response.
enum SecurityHeaders {
  /// Nothing is loaded from elsewhere, no script or style is inline, and no page is in a frame.
  static let contentSecurityPolicy =
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    + "base-uri 'none'; frame-ancestors 'none'"

  private static let fixed: [(name: String, value: String)] = [
    ("X-Content-Type-Options", "nosniff"),
    // Other sites get no referrer. With `no-referrer`, forms of the explorer would have the origin `null`.
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("X-Frame-Options", "DENY"),
  ]

  static func apply(to response: inout ExplorerResponse) {
    // A page may restrict its policy further, for bytes of the store: browsers enforce all policies of the list.
    let own = response.headers.filter { isNamed($0.name, "content-security-policy") }.map(\.value)
    let names = fixed.map { $0.name.lowercased() } + ["content-security-policy"]
    response.headers.removeAll { field in names.contains { isNamed(field.name, $0) } }
    if !response.headers.contains(where: { isNamed($0.name, "cache-control") }) {
      response.headers.append(("Cache-Control", "no-store"))
    }
    response.headers.append(("Content-Security-Policy", ([contentSecurityPolicy] + own).joined(separator: ", ")))
    response.headers += fixed
    for index in response.headers.indices { response.headers[index].value = singleLine(response.headers[index].value) }
  }

  private static func isNamed(_ name: String, _ lowercased: String) -> Bool {
    name.utf8.count == lowercased.utf8.count && name.lowercased() == lowercased
  }

  /// Removes control characters: a line end in a value, such as in the name of a file, would begin another header.
  private static func singleLine(_ value: String) -> String {
    if value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) { return value }
    return String(value.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F })
  }
}
