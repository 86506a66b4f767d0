/// A file of the explorer itself, the same for all stores.
struct Asset: Sendable {
  /// The name in the path.
  let name: String
  let contentType: String
  let text: String
  /// A hash of the text, which a link has in its query.
  let version: String

  /// The path below the base path, with the query.
  var path: String { "/assets/\(name)?v=\(version)" }

  init(_ name: String, _ contentType: String, _ text: String) {
    self.name = name
    self.contentType = contentType
    self.text = text
    // FNV-1a: it only distinguishes versions.
    let hash = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    version = String(hash, radix: 16)
  }
}
