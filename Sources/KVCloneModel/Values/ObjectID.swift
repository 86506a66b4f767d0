/// Identifies an object for the lifetime of its store: a 16-bit root-entity code and a 48-bit serial.
///
/// Ids are ordered by root entity, then by age, because serials increase per root entity and are never reused. The
/// value 0 identifies no object: root codes and serials both start at 1.
@frozen
public struct ObjectID: RawRepresentable, Hashable, Comparable, Sendable, Codable {
  /// The root-entity code in the high 16 bits, the serial in the low 48 bits.
  public let rawValue: UInt64

  /// The maximum serial: 2^48 − 1.
  @inlinable
  public static var maximumSerial: UInt64 { 0xFFFF_FFFF_FFFF }

  /// Creates an id from its 64-bit form. Every value is accepted, even if the object does not exist.
  @inlinable
  public init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// Creates an id from its two parts.
  ///
  /// - Precondition: `serial` is at most ``maximumSerial``.
  @inlinable
  public init(rootCode: UInt16, serial: UInt64) {
    precondition(serial <= ObjectID.maximumSerial, "a serial has 48 bits")
    rawValue = UInt64(rootCode) << 48 | serial
  }

  /// The code of the topmost entity in the object's inheritance hierarchy.
  @inlinable
  public var rootCode: UInt16 { UInt16(truncatingIfNeeded: rawValue >> 48) }

  /// The object's number among all objects that its root entity ever had, starting at 1.
  @inlinable
  public var serial: UInt64 { rawValue & ObjectID.maximumSerial }

  /// Orders ids by root entity, then by age.
  @inlinable
  public static func < (left: ObjectID, right: ObjectID) -> Bool { left.rawValue < right.rawValue }

  /// Decodes the 64-bit form.
  public init(from decoder: any Decoder) throws {
    rawValue = try decoder.singleValueContainer().decode(UInt64.self)
  }

  /// Encodes the 64-bit form.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}

extension ObjectID: CustomStringConvertible {
  /// The id as `rootCode/serial`. An id does not contain the entity's name; the store can print it with the name.
  public var description: String { "\(rootCode)/\(serial)" }
}
