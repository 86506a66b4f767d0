/// Keys of entries in `overlays`: layer u32 | table code u16 | the original key.
///
/// A layer is what one branch wrote over one base. Keys of a layer are in the order of their tables, and of their
/// original keys. A second range, under the branch's own number, contains what the branch has for all of its layers.
package enum OverlayKey {
  package static let prefixLength = 6

  /// The greatest length of an original key: preimages of a branch are entries of it, too.
  package static let maximumKeyLength =
    PreimageKey.prefixLength + FormatLimits.maximumKeyLength + PreimageKey.suffixLength

  /// - Precondition: `key` has at most `maximumKeyLength` bytes.
  package static func encode(layer: UInt32, table: TableCode, key: RawSpan) -> [UInt8] {
    let bytes = ReusedBytes()
    key.withUnsafeBytes { write(layer: layer, table: table, key: $0, to: bytes) }
    return Array(bytes.bytes)
  }

  /// Writes the key over the content of `bytes`, of which `key` must not be a part.
  package static func write(layer: UInt32, table: TableCode, key: UnsafeRawBufferPointer, to bytes: ReusedBytes) {
    precondition(key.count <= maximumKeyLength, "a key has at most \(maximumKeyLength) bytes")
    bytes.set(layer, table.rawValue, key)
  }

  /// Writes the first key behind those of a table of a layer over the content of `bytes`, or makes it empty if no key
  /// can be behind them.
  package static func writeEnd(layer: UInt32, table: TableCode, to bytes: ReusedBytes) {
    bytes.removeAll()
    let prefix = UInt64(layer) << 16 | UInt64(table.rawValue)
    guard prefix < 0xFFFF_FFFF_FFFF else { return }
    bytes.appendBigEndian(UInt32(truncatingIfNeeded: (prefix + 1) >> 16))
    bytes.appendBigEndian(UInt16(truncatingIfNeeded: prefix + 1))
  }

  /// Whether an entry belongs to a table of a layer.
  @inline(__always)
  package static func isOf(layer: UInt32, table: TableCode, _ key: UnsafeRawBufferPointer) -> Bool {
    guard key.count > prefixLength else { return false }
    return key.loadUnaligned(as: UInt32.self) == layer.bigEndian
      && key.loadUnaligned(fromByteOffset: 4, as: UInt16.self) == table.rawValue.bigEndian
  }

  /// - Throws: `badKey`.
  package static func layer(of bytes: RawSpan) throws(RecordError) -> UInt32 {
    try check(bytes)
    return UInt32(bigEndian: bytes.unsafeLoadUnaligned(as: UInt32.self))
  }

  /// - Throws: `badKey`.
  package static func table(of bytes: RawSpan) throws(RecordError) -> TableCode {
    try check(bytes)
    return TableCode(
      rawValue: UInt16(bigEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: 4, as: UInt16.self)))
  }

  /// The original key.
  ///
  /// - Throws: `badKey`.
  @_lifetime(copy bytes)
  package static func key(of bytes: RawSpan) throws(RecordError) -> RawSpan {
    try check(bytes)
    return bytes.extracting(prefixLength..<bytes.byteCount)
  }

  /// The original key of an entry that ``isOf(layer:table:_:)`` has checked.
  @inline(__always)
  package static func key(of bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[prefixLength...])
  }

  /// The beginning of the keys under a number.
  package static func prefix(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

  /// The blob that an entry describes, or that the preimage in it may describe; nil for other entries.
  package static func blob(describedBy bytes: RawSpan) -> UInt64? {
    guard let table = try? table(of: bytes), let inner = try? key(of: bytes) else { return nil }
    if table == .blobInfo { return try? NumberKey.blobSerial(inner) }
    guard table == .preimages, (try? PreimageKey.table(of: inner)) == .blobInfo,
      let saved = try? PreimageKey.key(of: inner)
    else { return nil }
    return try? NumberKey.blobSerial(saved)
  }

  private static func check(_ bytes: RawSpan) throws(RecordError) {
    let length = bytes.byteCount - prefixLength
    guard length >= 1, length <= maximumKeyLength else { throw .badKey }
    // Numbers count from 1, and so do tables.
    guard bytes.unsafeLoadUnaligned(as: UInt32.self) != 0,
      bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: 4, as: UInt16.self) != 0
    else { throw .badKey }
  }
}
