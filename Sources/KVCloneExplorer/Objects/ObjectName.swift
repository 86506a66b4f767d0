/// The name of an object, in its parts.
struct ObjectName: Sendable, Hashable {
  var entity: String
  var serial: UInt64

  init(entity: String, serial: UInt64) {
    self.entity = entity
    self.serial = serial
  }

  /// - Parameter name: such as `Note/12`.
  init?(_ name: String) {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let serial = UInt64(parts[1]) else { return nil }
    self.init(entity: String(parts[0]), serial: serial)
  }

  var text: String { "\(entity)/\(serial)" }

  /// The segments of paths.
  var segments: [String] { [entity, String(serial)] }
}
