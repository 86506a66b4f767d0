/// A list of keys that a transaction has saved preimages of: the content of an epoch, without scanning all preimages.
///
/// bytes u64 | count u32 | (table code u16, length u16, key)*. *Bytes* is the size of these preimages: keys, values,
/// and the blobs that only they keep.
package struct PreimageKeys: ~Copyable {
  private var writer = ByteWriter()
  package private(set) var count = 0
  /// The size of the preimages in bytes.
  package private(set) var byteCount: UInt64 = 0
  private static let headerLength = 12
  /// A list is written as a value at about this length, so that no value grows with the transaction.
  private static let fullLength = 64 << 10

  package init() { begin() }

  package var isEmpty: Bool { count == 0 }
  package var isFull: Bool { writer.bytes.count >= Self.fullLength }

  private mutating func begin() {
    writer.bytes.removeAll(keepingCapacity: true)
    for _ in 0..<FormatLimits.envelopeLength + Self.headerLength { writer.put8(0) }
    count = 0
    byteCount = 0
  }

  /// - Parameter byteCount: the size of the preimage.
  package mutating func append(_ table: TableCode, _ key: UnsafeRawBufferPointer, byteCount: UInt64) {
    writer.put16(table.rawValue)
    writer.put16(UInt16(truncatingIfNeeded: key.count))
    writer.putRaw(key)
    count += 1
    self.byteCount = self.byteCount.addingReportingOverflow(byteCount).partialValue
  }

  /// The size of the list so far, in bytes.
  package var listByteCount: Int { writer.bytes.count }

  /// The list so far, for ``restore(_:)``.
  package struct State {
    fileprivate let bytes: [UInt8]
    fileprivate let count: Int
    fileprivate let byteCount: UInt64
  }

  package var state: State { State(bytes: writer.bytes, count: count, byteCount: byteCount) }

  /// Restores an earlier state of the list.
  package mutating func restore(_ state: State) {
    writer.bytes = state.bytes
    (count, byteCount) = (state.count, state.byteCount)
  }

  /// Calls `body` with the encoded list, and starts a new one.
  package mutating func take<E: Error>(seed: UInt64, _ body: (RawSpan) throws(E) -> Void) throws(E) {
    let (count, byteCount) = (UInt32(count), byteCount)
    writer.bytes.withUnsafeMutableBytes { bytes in
      let start = FormatLimits.envelopeLength
      bytes.storeBytes(of: byteCount.littleEndian, toByteOffset: start, as: UInt64.self)
      bytes.storeBytes(of: count.littleEndian, toByteOffset: start + 8, as: UInt32.self)
      ValueEnvelope.seal(bytes, seed: seed)
    }
    try body(writer.bytes.span.bytes)
    begin()
  }
}

/// A stored list of saved keys, borrowed.
package struct SavedKeysView: ~Escapable {
  package let byteCount: UInt64
  package let count: Int
  private let entries: RawSpan

  /// - Throws: what is wrong with the list; checks all of it.
  @_lifetime(copy bytes)
  package init(_ bytes: RawSpan, seed: UInt64) throws(RecordError) {
    let payload = try ValueEnvelope.payload(of: bytes, seed: seed)
    var reader = ByteReader(payload)
    byteCount = try reader.get64()
    count = try reader.getCount(width: 5)
    entries = payload.extracting(12..<payload.byteCount)
    var offset = 0
    for _ in 0..<count {
      guard entries.byteCount - offset >= 4 else { throw .tooShort }
      let length = Int(number(at: offset + 2))
      guard number(at: offset) != 0, length >= 1, length <= FormatLimits.maximumKeyLength else { throw .badKey }
      guard entries.byteCount - offset - 4 >= length else { throw .tooShort }
      offset += 4 + length
    }
    guard offset == entries.byteCount else { throw .trailingBytes }
  }

  private func number(at offset: Int) -> UInt16 {
    UInt16(littleEndian: entries.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt16.self))
  }

  /// Calls `body` with the keys in the order in which they were saved.
  package func forEach<E: Error>(_ body: (TableCode, RawSpan) throws(E) -> Void) throws(E) {
    var offset = 0
    for _ in 0..<count {
      let length = Int(number(at: offset + 2))
      try body(TableCode(rawValue: number(at: offset)), entries.extracting(offset + 4..<offset + 4 + length))
      offset += 4 + length
    }
  }
}
