public import KVCloneModel

/// A key of the `links` table: owner u64 | relationship u16 | kind u8 | position u64, all big-endian.
@usableFromInline
package struct LinkKey: Hashable, Sendable {
  @usableFromInline package static let length = 19

  @usableFromInline
  package enum Kind: UInt8, Sendable {
    /// A chunk of a list. Position: the first id (unordered) or the chunk's order label (ordered).
    case chunk = 0
    /// The chunk of a member in a long ordered list. Position: the member's id; value: the label of its chunk.
    case memberIndex = 1
    /// A page of the directory from ordinal numbers to chunks. Position: the first label it lists.
    case positionDirectory = 2
  }

  @usableFromInline package var owner: ObjectID
  @usableFromInline package var relationship: UInt16
  @usableFromInline package var kind: Kind
  @usableFromInline package var position: UInt64

  @inlinable
  package init(owner: ObjectID, relationship: UInt16, kind: Kind, position: UInt64) {
    self.owner = owner
    self.relationship = relationship
    self.kind = kind
    self.position = position
  }

  /// - Throws: `badKey`.
  @inlinable
  package init(_ bytes: RawSpan) throws(RecordError) {
    guard bytes.byteCount == Self.length,
      let kind = Kind(rawValue: bytes.unsafeLoad(fromUncheckedByteOffset: 10, as: UInt8.self))
    else { throw .badKey }
    owner = ObjectID(rawValue: bytes.bigEndian64(0))
    relationship = UInt16(
      bigEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: 8, as: UInt16.self))
    self.kind = kind
    position = bytes.bigEndian64(11)
  }
}

/// Decodes keys that are numbers.
@usableFromInline
package enum NumberKey {
  /// The id in a key of a table of objects, of `provenance` and of `redirects`.
  @inlinable
  package static func objectID(_ bytes: RawSpan) throws(RecordError) -> ObjectID {
    guard bytes.byteCount == 8 else { throw .badKey }
    return ObjectID(rawValue: bytes.bigEndian64(0))
  }

  /// The serial in a key of `blobinfo`.
  @inlinable
  package static func blobSerial(_ bytes: RawSpan) throws(RecordError) -> UInt64 {
    guard bytes.byteCount == 8 else { throw .badKey }
    return bytes.bigEndian64(0)
  }

  /// The number and part in a key of `blobs` (serial, chunk) and of `changes` (commit, part).
  @inlinable
  package static func numberAndPart(_ bytes: RawSpan) throws(RecordError) -> (number: UInt64, part: UInt32) {
    guard bytes.byteCount == 12 else { throw .badKey }
    let part = bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: 8, as: UInt32.self)
    return (bytes.bigEndian64(0), UInt32(bigEndian: part))
  }
}

/// Keys of preimages in `preimages`: table code u16 | the original key | epoch u64.
///
/// The keys of a saved table are never prefixes of each other, so preimages are in the order of their keys, and those
/// of one key in the order of their epochs.
package enum PreimageKey {
  package static let prefixLength = 2
  package static let suffixLength = 8

  /// - Precondition: `key` has at most `FormatLimits.maximumKeyLength` bytes.
  package static func encode(table: TableCode, key: RawSpan, epoch: UInt64) -> [UInt8] {
    let bytes = ReusedBytes()
    key.withUnsafeBytes { write(table: table, key: $0, epoch: epoch, to: bytes) }
    return Array(bytes.bytes)
  }

  /// Writes the key over the content of `bytes`, of which `key` may be a part.
  package static func write(table: TableCode, key: UnsafeRawBufferPointer, epoch: UInt64, to bytes: ReusedBytes) {
    precondition(key.count <= FormatLimits.maximumKeyLength, "a key has at most 480 bytes")
    bytes.set(table.rawValue, key, epoch)
  }

  package static func epoch(of bytes: RawSpan) throws(RecordError) -> UInt64 {
    try check(bytes)
    return bytes.bigEndian64(bytes.byteCount - suffixLength)
  }

  package static func table(of bytes: RawSpan) throws(RecordError) -> TableCode {
    try check(bytes)
    return TableCode(rawValue: UInt16(bigEndian: bytes.unsafeLoadUnaligned(as: UInt16.self)))
  }

  /// The original key.
  @_lifetime(copy bytes)
  package static func key(of bytes: RawSpan) throws(RecordError) -> RawSpan {
    try check(bytes)
    return bytes.extracting(prefixLength..<bytes.byteCount - suffixLength)
  }

  /// Whether two of these keys are equal except for their epochs.
  package static func isOfSameKey(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    guard left.count == right.count, left.count >= suffixLength else { return false }
    let length = left.count - suffixLength
    var offset = 0
    while offset + 8 <= length {
      let word = left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      if word != right.loadUnaligned(fromByteOffset: offset, as: UInt64.self) { return false }
      offset += 8
    }
    while offset < length {
      if left[offset] != right[offset] { return false }
      offset += 1
    }
    return true
  }

  private static func check(_ bytes: RawSpan) throws(RecordError) {
    let length = bytes.byteCount - prefixLength - suffixLength
    guard length >= 1, length <= FormatLimits.maximumKeyLength else { throw .badKey }
    // Lists of saved keys are in the same table, under a code that no table has.
    guard bytes.unsafeLoadUnaligned(as: UInt16.self) != 0 else { throw .badKey }
  }
}

/// Keys of the lists of saved keys in `preimages`: 0 u16 | epoch u64 | commit u64 | part u32.
package struct SavedKeysKey: Hashable, Sendable {
  package static let length = 22

  package var epoch: UInt64
  package var commit: UInt64
  package var part: UInt32

  package init(epoch: UInt64, commit: UInt64, part: UInt32) {
    self.epoch = epoch
    self.commit = commit
    self.part = part
  }

  /// - Throws: `badKey`.
  package init(_ bytes: RawSpan) throws(RecordError) {
    guard bytes.byteCount == Self.length, Self.isOne(bytes) else { throw .badKey }
    epoch = bytes.bigEndian64(2)
    commit = bytes.bigEndian64(10)
    part = UInt32(bigEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: 18, as: UInt32.self))
  }

  /// Whether a key of `preimages` belongs to a list of saved keys instead of a preimage.
  package static func isOne(_ bytes: RawSpan) -> Bool {
    bytes.byteCount >= 2 && bytes.unsafeLoadUnaligned(as: UInt16.self) == 0
  }

  /// The key to search for the next list; nil after the greatest possible one. A file may contain any number.
  package var following: SavedKeysKey? {
    if part < .max { return SavedKeysKey(epoch: epoch, commit: commit, part: part + 1) }
    if commit < .max { return SavedKeysKey(epoch: epoch, commit: commit + 1, part: 0) }
    return epoch < .max ? SavedKeysKey(epoch: epoch + 1, commit: 0, part: 0) : nil
  }

  package var bytes: ShortKey {
    ShortKey(
      epoch >> 16, epoch << 48 | commit >> 16, commit << 48 | UInt64(part) << 16, count: Self.length)
  }
}

/// Names in the `metadata` table; each key is the name's UTF-8.
package enum MetadataKey {
  package static let format = "format"
  package static let commitCounter = "commit"
  package static let epoch = "epoch"
  /// The name of the youngest snapshot; absent without snapshots.
  package static let youngestSnapshot = "youngest-snapshot"
  package static let blobSerial = "blob-serial"
  /// The commit after which the history of changes is complete; absent if history is disabled.
  package static let history = "history"
  /// The catalog: codes of entities, properties, layouts and indexes (JSON of the store).
  package static let catalog = "catalog"
  /// The last number that a branch or a layer of a branch has got.
  package static let layer = "layer"
  /// The commit of a backup that left branches out.
  package static let withoutBranches = "without-branches"
  /// The description of an incremental backup; absent in stores.
  package static let increment = "increment"
  /// The expressions that the derived attributes were computed by.
  package static let derivations = "derivations"

  /// The next serial of a root entity.
  package static func serial(rootCode: UInt16) -> String { "serial-" + hexadecimal(rootCode) }

  /// A record layout.
  package static func layout(_ id: UInt16) -> String { "layout-" + hexadecimal(id) }

  /// A model version: its entity descriptions.
  package static func model(_ number: UInt16) -> String { "model-" + hexadecimal(number) }

  package static func bytes(_ name: String) -> [UInt8] { Array(name.utf8) }

  /// The key of one of the short names, without heap allocation; nil for names of more than 24 bytes.
  package static func short(_ name: String) -> ShortKey? { ShortKey(name.utf8) }

  /// The key of `commitCounter`.
  package static let commitKey = ShortKey(0x636F_6D6D_6974_0000, 0, 0, count: 6)

  /// The key of `youngestSnapshot`, which every write transaction looks up.
  package static let youngestSnapshotKey = ShortKey(
    0x796F_756E_6765_7374, 0x2D73_6E61_7073_686F, 0x7400_0000_0000_0000, count: 17)

  /// The key of `history`.
  package static let historyKey = ShortKey(0x6869_7374_6F72_7900, 0, 0, count: 7)

  /// The key of `serial(rootCode:)`, without building the name.
  package static func serialKey(rootCode: UInt16) -> ShortKey {
    // "serial-" and four hexadecimal digits, of which the first is in the first word.
    var digits: UInt64 = 0
    for place in 0..<4 {
      let digit = UInt64(rootCode >> (12 - 4 * place) & 0xF)
      digits = digits << 8 | (digit < 10 ? 48 + digit : 87 + digit)
    }
    return ShortKey(0x7365_7269_616C_2D00 | digits >> 24, digits << 40, 0, count: 11)
  }
}

/// Ranges of keys.
package enum KeyRange {
  /// The first key after all that begin with `prefix`; nil if none exists (only 0xFF bytes).
  package static func end(ofPrefix prefix: [UInt8]) -> [UInt8]? {
    guard let last = prefix.lastIndex(where: { $0 != 0xFF }) else { return nil }
    var end = Array(prefix[...last])
    end[last] += 1
    return end
  }
}

extension RawSpan {
  /// The big-endian number at `offset`, which the caller has checked.
  @inlinable @inline(__always)
  func bigEndian64(_ offset: Int) -> UInt64 {
    UInt64(bigEndian: unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self))
  }
}
