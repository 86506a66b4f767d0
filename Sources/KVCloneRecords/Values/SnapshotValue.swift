/// A named snapshot; its key is the name's UTF-8.
///
/// flags u32 | hold count u32 | epoch u64 | commit u64 | created f64 | expires f64 (NaN: never) | object count u64 |
/// next blob serial u64 | model number u16 | next layout id u16 | next index id u16 | next entity code u16 |
/// watermarks: count u32, (root u16, next serial u64)* | holds: (length u32, UTF-8)* | user info: length u32, JSON |
/// with flag 4: layer count u32.
package struct SnapshotValue: ValueCodec, Hashable {
  package struct Watermark: Hashable, Sendable {
    package var rootCode: UInt16
    /// Objects with this serial or a higher one were inserted later.
    package var nextSerial: UInt64

    package init(rootCode: UInt16, nextSerial: UInt64) {
      self.rootCode = rootCode
      self.nextSerial = nextSerial
    }
  }

  /// Whether the store made it (before a rollback or a migration) instead of a user.
  package var isAutomatic = false
  /// Whether it was made within a transaction with earlier changes: no commit has checked the model's rules for its
  /// state.
  package var isUnfinished = false
  /// Whether it was made for branches: it has no name of a user's, and is deleted with the last layer on it.
  package var isHidden = false
  /// Whether it is the base of clones that can be merged into their sources; its user info describes them.
  package var isDraft = false
  /// The epoch that began with it: it needs the preimages of this epoch and later ones.
  package var epoch: UInt64
  /// The last commit that it includes.
  package var commit: UInt64
  /// Seconds since 2001.
  package var created: Double
  /// Seconds since 2001, or nil.
  package var expires: Double?
  /// The number of objects in it.
  package var objectCount: UInt64
  package var nextBlobSerial: UInt64
  /// The number of the model version in `metadata`.
  package var modelNumber: UInt16
  package var nextLayoutID: UInt16
  package var nextIndexID: UInt16
  package var nextEntityCode: UInt16
  /// One per root entity, ascending by code.
  package var watermarks: [Watermark]
  /// Tags that prevent its deletion.
  package var holds: [String] = []
  /// JSON, or empty.
  package var userInfo: [UInt8] = []
  /// The number of layers of branches that it is the base of. It cannot be deleted while there are any.
  package var layerCount: UInt32 = 0

  package init(
    epoch: UInt64, commit: UInt64, created: Double, expires: Double? = nil, objectCount: UInt64,
    nextBlobSerial: UInt64, modelNumber: UInt16, nextLayoutID: UInt16, nextIndexID: UInt16, nextEntityCode: UInt16,
    watermarks: [Watermark]
  ) {
    self.epoch = epoch
    self.commit = commit
    self.created = created
    self.expires = expires
    self.objectCount = objectCount
    self.nextBlobSerial = nextBlobSerial
    self.modelNumber = modelNumber
    self.nextLayoutID = nextLayoutID
    self.nextIndexID = nextIndexID
    self.nextEntityCode = nextEntityCode
    self.watermarks = watermarks
  }

  package func write(to writer: inout ByteWriter) {
    writer.put32(
      (isAutomatic ? 1 : 0) | (isUnfinished ? 2 : 0) | (layerCount > 0 ? 4 : 0) | (isHidden ? 8 : 0)
        | (isDraft ? 16 : 0))
    writer.put32(UInt32(holds.count))
    writer.put64(epoch)
    writer.put64(commit)
    writer.putDouble(created)
    writer.putDouble(expires ?? .nan)
    writer.put64(objectCount)
    writer.put64(nextBlobSerial)
    writer.put16(modelNumber)
    writer.put16(nextLayoutID)
    writer.put16(nextIndexID)
    writer.put16(nextEntityCode)
    writer.put32(UInt32(watermarks.count))
    for watermark in watermarks {
      writer.put16(watermark.rootCode)
      writer.put64(watermark.nextSerial)
    }
    for hold in holds { writer.putString(hold) }
    writer.putBytes(userInfo)
    if layerCount > 0 { writer.put32(layerCount) }
  }

  package init(from reader: inout ByteReader) throws(RecordError) {
    let flags = try reader.get32()
    guard flags <= 31 else { throw .badFlag }
    isAutomatic = flags & 1 != 0
    isUnfinished = flags & 2 != 0
    isHidden = flags & 8 != 0
    isDraft = flags & 16 != 0
    let holdCount = try reader.getCount(width: 4)
    epoch = try reader.get64()
    commit = try reader.get64()
    // As for counters: adding cannot overflow.
    guard epoch <= UInt64(Int64.max), commit <= UInt64(Int64.max) else { throw .outOfRange }
    created = try reader.getDouble()
    expires = try reader.getOptionalDouble()
    objectCount = try reader.get64()
    guard objectCount <= UInt64(Int64.max) else { throw .outOfRange }
    nextBlobSerial = try reader.get64()
    guard nextBlobSerial <= UInt64(Int64.max) else { throw .outOfRange }
    modelNumber = try reader.get16()
    nextLayoutID = try reader.get16()
    nextIndexID = try reader.get16()
    nextEntityCode = try reader.get16()
    watermarks = []
    for _ in 0..<(try reader.getCount(width: 10)) {
      let watermark = Watermark(rootCode: try reader.get16(), nextSerial: try reader.get64())
      guard watermark.nextSerial <= FormatLimits.maximumSerial + 1 else { throw .outOfRange }
      if let last = watermarks.last, last.rootCode >= watermark.rootCode { throw .badOrder }
      watermarks.append(watermark)
    }
    for _ in 0..<holdCount { holds.append(try reader.getString()) }
    userInfo = try reader.getBytes()
    if flags & 4 != 0 {
      layerCount = try reader.get32()
      // One form for each value.
      guard layerCount > 0 else { throw .badFlag }
    }
  }
}

extension ByteReader {
  /// A number, or nil for NaN.
  mutating func getOptionalDouble() throws(RecordError) -> Double? {
    let value = try getDouble()
    guard !value.isNaN else {
      // One form for each value, so that decoding and encoding returns the same bytes.
      guard value.bitPattern == Double.nan.bitPattern else { throw .badFlag }
      return nil
    }
    return value
  }
}

/// The borrowed preimage of a key: checksum u64 | state u8 | the stored value, its own checksum included.
package struct PreimageView: ~Escapable {
  /// Whether the key had a value, to be verified with the key's own seed.
  package let isPresent: Bool
  private let previous: RawSpan

  @_lifetime(copy bytes)
  package init(_ bytes: RawSpan, seed: UInt64) throws(RecordError) {
    let payload = try ValueEnvelope.payload(of: bytes, seed: seed)
    guard payload.byteCount >= 1 else { throw .tooShort }
    switch payload.unsafeLoad(fromUncheckedByteOffset: 0, as: UInt8.self) {
    case 0: isPresent = false
    case 1: isPresent = true
    default: throw .badFlag
    }
    previous = payload.extracting(1..<payload.byteCount)
    guard isPresent || previous.byteCount == 0 else { throw .trailingBytes }
  }

  /// The preimage's value with its envelope; empty if there was none.
  package var value: RawSpan {
    @_lifetime(copy self)
    get { previous }
  }

  /// Encodes the preimage of a key that had this value, or none.
  package static func encode(_ value: RawSpan?, seed: UInt64) -> [UInt8] {
    let bytes = ReusedBytes()
    if let value {
      value.withUnsafeBytes { write($0, seed: seed, to: bytes) }
    } else {
      write(nil, seed: seed, to: bytes)
    }
    return Array(bytes.bytes)
  }

  /// Writes the preimage over the content of `bytes`.
  package static func write(_ value: UnsafeRawBufferPointer?, seed: UInt64, to bytes: ReusedBytes) {
    bytes.removeAll()
    bytes.appendBigEndian(0 as UInt64)
    bytes.append(value == nil ? 0 : 1)
    if let value { bytes.append(value) }
    ValueEnvelope.seal(bytes.mutableBytes, seed: seed)
  }

  /// The value of a stored preimage, of which only the outer form is checked: the value has a checksum of its own,
  /// which its reader verifies. A tombstone has none, so it is verified here.
  ///
  /// - Returns: nil if the key did not exist.
  package static func value(
    of stored: UnsafeRawBufferPointer, _ seed: () -> UInt64
  ) throws(RecordError) -> UnsafeRawBufferPointer? {
    let header = FormatLimits.envelopeLength + 1
    guard stored.count >= header else { throw .tooShort }
    if stored[header - 1] == 1 { return UnsafeRawBufferPointer(rebasing: stored[header...]) }
    guard ValueEnvelope.isIntact(stored, seed: seed()) else { throw .checksumMismatch }
    guard stored.count == header, stored[header - 1] == 0 else { throw .badFlag }
    return nil
  }
}
