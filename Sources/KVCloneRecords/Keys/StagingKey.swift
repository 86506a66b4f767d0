/// Names in `metadata` of incomplete staged uploads: `staged-%016x` (blob serial) → u64, the stager's byte.
///
/// The name exists exactly as long as the blob's description says pending, so that a sweep finds abandoned uploads
/// without scanning all blobs.
package enum StagingKey {
  package static let prefix = "staged-"

  package static func name(blobSerial: UInt64) -> String {
    let digits = String(blobSerial, radix: 16)
    return prefix + String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// The blob serial in a name's bytes; nil for other names.
  package static func blobSerial(_ key: [UInt8]) -> UInt64? {
    guard key.count == prefix.utf8.count + 16, key.starts(with: prefix.utf8) else { return nil }
    var serial: UInt64 = 0
    for byte in key[prefix.utf8.count...] {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): serial = serial << 4 | UInt64(byte - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): serial = serial << 4 | UInt64(byte - UInt8(ascii: "a") + 10)
      default: return nil
      }
    }
    return serial
  }
}
