/// The head of a to-many list in a record: its count, and where its members are.
///
/// In the record: u64, the count in the low 48 bits, flags in the high 16.
@usableFromInline
package struct ListHead: Hashable, Sendable {
  @usableFromInline package var rawValue: UInt64

  @inlinable @inline(__always)
  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// - Precondition: `count` is in 0…2^48−1.
  @inlinable
  package init(count: Int, isChunked: Bool = false, hasMemberIndex: Bool = false, hasDirectory: Bool = false) {
    precondition(count >= 0 && count < 1 << 48, "a list's count has 48 bits")
    rawValue =
      UInt64(count) | (isChunked ? Self.chunkedBit : 0) | (hasMemberIndex ? Self.memberIndexBit : 0)
      | (hasDirectory ? Self.directoryBit : 0)
  }

  @inlinable static var chunkedBit: UInt64 { 1 << 48 }
  @inlinable static var memberIndexBit: UInt64 { 2 << 48 }
  @inlinable static var directoryBit: UInt64 { 4 << 48 }

  /// The number of members.
  @inlinable @inline(__always)
  package var count: Int { Int(rawValue & 0xFFFF_FFFF_FFFF) }

  /// Whether the members are in `links` instead of the record.
  @inlinable @inline(__always)
  package var isChunked: Bool { rawValue & Self.chunkedBit != 0 }

  /// Whether `links` maps members to chunks (ordered lists).
  @inlinable
  package var hasMemberIndex: Bool { rawValue & Self.memberIndexBit != 0 }

  /// Whether `links` maps ordinal numbers to chunks (ordered lists).
  @inlinable
  package var hasDirectory: Bool { rawValue & Self.directoryBit != 0 }

  /// The number of ids in the record.
  @inlinable @inline(__always)
  var inlineCount: Int { isChunked ? 0 : count }

  /// Whether only defined flags are set, the index flags only with `chunked`, and inline lists are within their limit.
  @inlinable @inline(__always)
  var isValid: Bool {
    let flags = rawValue >> 48
    return flags & 1 != 0 ? flags <= 7 : rawValue <= FormatLimits.inlineIDLimit
  }
}
