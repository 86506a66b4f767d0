/// Names one object of a store for the store's whole life: 16 bits of root-entity code and a serial of 48 bits.
///
/// Sorting ids sorts by root entity first and then by age, because serials are counted upwards per root entity and are
/// never reused. The value 0 names no object: root codes and serials both start at 1.
@frozen
public struct ObjectID: RawRepresentable, Hashable, Comparable, Sendable, Codable {
  /// The root-entity code in the high 16 bits, the serial in the low 48.
  public let rawValue: UInt64

  /// The largest serial that fits: 2^48 − 1.
  @inlinable
  public static var maximumSerial: UInt64 { 0xFFFF_FFFF_FFFF }

  /// Makes an id from its 64-bit form; every value is accepted, whether or not such an object exists.
  @inlinable
  public init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// Makes an id from its two parts.
  ///
  /// - Precondition: `serial` is at most ``maximumSerial``.
  @inlinable
  public init(rootCode: UInt16, serial: UInt64) {
    precondition(serial <= ObjectID.maximumSerial, "a serial has 48 bits")
    rawValue = UInt64(rootCode) << 48 | serial
  }

  /// The code of the entity at the top of the object's inheritance chain.
  @inlinable
  public var rootCode: UInt16 { UInt16(truncatingIfNeeded: rawValue >> 48) }

  /// The number of the object among all that its root entity ever had, from 1.
  @inlinable
  public var serial: UInt64 { rawValue & ObjectID.maximumSerial }

  /// Root entity first, then age.
  @inlinable
  public static func < (left: ObjectID, right: ObjectID) -> Bool { left.rawValue < right.rawValue }

  /// Reads the 64-bit form.
  public init(from decoder: any Decoder) throws {
    rawValue = try decoder.singleValueContainer().decode(UInt64.self)
  }

  /// Writes the 64-bit form.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}

extension ObjectID: CustomStringConvertible {
  /// `rootCode/serial`; the store prints the entity's name instead, which an id alone does not know.
  public var description: String { "\(rootCode)/\(serial)" }
}
