public import KVCloneModel

/// A key of at most 24 bytes without heap allocation. Sorts like its bytes.
@usableFromInline
package struct ShortKey: Hashable, Comparable, Sendable {
  /// The key's bytes as big-endian words, zero after ``count``: comparing words compares bytes.
  @usableFromInline var words: InlineArray<3, UInt64>
  @usableFromInline package let count: Int

  /// The bytes of the three words, the first byte in the top bits of `word0`; all after `count` must be zero.
  @inlinable @inline(__always)
  init(_ word0: UInt64, _ word1: UInt64, _ word2: UInt64, count: Int) {
    words = [word0.bigEndian, word1.bigEndian, word2.bigEndian]
    self.count = count
  }

  /// The bytes of a text, or nil if they are more than 24.
  init?(_ text: String.UTF8View) {
    var words: InlineArray<3, UInt64> = [0, 0, 0]
    var count = 0
    for byte in text {
      guard count < 24 else { return nil }
      words[count / 8] |= UInt64(byte) << UInt64(56 - 8 * (count % 8))
      count += 1
    }
    self.init(words[0], words[1], words[2], count: count)
  }

  /// The key's bytes; they live as long as this value is borrowed.
  @inlinable
  package var bytes: RawSpan {
    @_lifetime(borrow self)
    get { words.span.bytes.extracting(first: count) }
  }

  @inlinable
  package func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try bytes.withUnsafeBytes(body)
  }

  package var array: [UInt8] {
    withUnsafeBytes { Array($0) }
  }

  @inlinable
  package static func == (left: Self, right: Self) -> Bool {
    left.count == right.count && left.words[0] == right.words[0] && left.words[1] == right.words[1]
      && left.words[2] == right.words[2]
  }

  @inlinable
  package static func < (left: Self, right: Self) -> Bool {
    for index in 0..<3 where left.words[index] != right.words[index] {
      return left.words[index].bigEndian < right.words[index].bigEndian
    }
    return left.count < right.count
  }

  @usableFromInline
  package func hash(into hasher: inout Hasher) {
    hasher.combine(count)
    hasher.combine(words[0])
    hasher.combine(words[1])
    hasher.combine(words[2])
  }
}

extension ShortKey {
  /// The key of an object's record, its provenance and its redirect: the id.
  @inlinable @inline(__always)
  package static func object(_ id: ObjectID) -> ShortKey {
    ShortKey(id.rawValue, 0, 0, count: 8)
  }

  /// Writes an object's key into eight bytes of memory.
  @inlinable @inline(__always)
  package static func writeObject(_ id: ObjectID, to memory: UnsafeMutableRawPointer) {
    memory.storeBytes(of: id.rawValue.bigEndian, as: UInt64.self)
  }

  /// The key of a blob's description.
  @inlinable @inline(__always)
  package static func blobInfo(_ serial: UInt64) -> ShortKey {
    ShortKey(serial, 0, 0, count: 8)
  }

  /// The key of one chunk of a blob.
  @inlinable @inline(__always)
  package static func blobChunk(_ serial: UInt64, chunk: UInt32) -> ShortKey {
    ShortKey(serial, UInt64(chunk) << 32, 0, count: 12)
  }

  /// The key of one part of a commit's history.
  @inlinable @inline(__always)
  package static func change(commit: UInt64, part: UInt32) -> ShortKey {
    ShortKey(commit, UInt64(part) << 32, 0, count: 12)
  }

  /// A key of the `links` table.
  @inlinable @inline(__always)
  package static func link(_ key: LinkKey) -> ShortKey {
    ShortKey(
      key.owner.rawValue,
      UInt64(key.relationship) << 48 | UInt64(key.kind.rawValue) << 40 | key.position >> 24,
      key.position << 40, count: LinkKey.length)
  }

  /// The common prefix of all keys of an owner's lists.
  @inlinable
  package static func linkPrefix(owner: ObjectID) -> ShortKey {
    ShortKey(owner.rawValue, 0, 0, count: 8)
  }

  /// The common prefix of all keys of one list.
  @inlinable
  package static func linkPrefix(owner: ObjectID, relationship: UInt16) -> ShortKey {
    ShortKey(owner.rawValue, UInt64(relationship) << 48, 0, count: 10)
  }

  /// The common prefix of all keys of one kind of one list.
  @inlinable
  package static func linkPrefix(owner: ObjectID, relationship: UInt16, kind: LinkKey.Kind) -> ShortKey {
    ShortKey(owner.rawValue, UInt64(relationship) << 48 | UInt64(kind.rawValue) << 40, 0, count: 11)
  }
}
