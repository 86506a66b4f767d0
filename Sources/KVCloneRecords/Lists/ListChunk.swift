public import KVCloneModel

/// A chunk of a to-many list, borrowed: checksum u64 | count u16 | flags u16 (0) | ids u64 × count (1…128).
///
/// In an unordered list the ids ascend, and the first one is the position in the chunk's key; in an ordered list
/// they are in the list's order, and the position is the chunk's order label.
@usableFromInline
package struct ListChunk: ~Escapable {
  @inlinable package static var headerLength: Int { 12 }

  @usableFromInline package let ids: ObjectIDList

  /// Checks a stored chunk.
  ///
  /// - Parameter position: the position in the key of an unordered list's chunk; nil for an ordered list.
  @inlinable
  @_lifetime(copy bytes)
  package init(_ bytes: RawSpan, seed: UInt64, unorderedAt position: UInt64?) throws(RecordError) {
    let buffer = bytes.withUnsafeBytes { $0 }
    guard let base = buffer.baseAddress, buffer.count >= Self.headerLength else { throw .tooShort }
    guard ValueEnvelope.isIntact(buffer, seed: seed) else { throw .checksumMismatch }
    let count = Int(base.number(at: 8, UInt16.self))
    guard base.number(at: 10, UInt16.self) == 0 else { throw .badFlag }
    guard count >= 1, count <= FormatLimits.chunkCapacity else { throw .badCount }
    guard buffer.count == Self.headerLength &+ 8 &* count else { throw .wrongLength }
    let ids = ObjectIDList(base: base + Self.headerLength, count: count)
    if let position {
      guard ids[unchecked: 0].rawValue == position, ids.isStrictlyAscending else { throw .badOrder }
    }
    self.ids = _overrideLifetime(ids, copying: bytes)
  }

  /// The length of a stored chunk.
  @inlinable
  package static func length(count: Int) -> Int { headerLength &+ 8 &* count }

  /// Writes a chunk into memory of `length(count:)` bytes that LMDB has reserved.
  ///
  /// - Precondition: 1…128 ids.
  @inlinable
  package static func write(_ ids: Span<ObjectID>, seed: UInt64, to memory: UnsafeMutableRawBufferPointer) {
    precondition(ids.count >= 1 && ids.count <= FormatLimits.chunkCapacity, "a chunk has 1 to 128 ids")
    guard let base = memory.baseAddress, memory.count == length(count: ids.count) else {
      preconditionFailure("the memory is as long as the chunk")
    }
    base.set(UInt16(truncatingIfNeeded: ids.count), at: 8)
    base.set(0 as UInt16, at: 10)
    #if _endian(little)
      ids.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: memory[headerLength...]).copyMemory(from: $0) }
    #else
      for index in 0..<ids.count { base.set(ids[index].rawValue, at: headerLength &+ 8 &* index) }
    #endif
    ValueEnvelope.seal(memory, seed: seed)
  }

  /// Encodes a chunk.
  package static func encode(_ ids: [ObjectID], seed: UInt64) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: length(count: ids.count)) { memory, count in
      write(ids.span, seed: seed, to: UnsafeMutableRawBufferPointer(memory))
      count = memory.count
    }
  }
}

/// The chunk of a member in a long ordered list, by its label.
@usableFromInline
package struct MemberIndexValue: ValueCodec, Hashable {
  package var label: UInt64

  package init(label: UInt64) {
    self.label = label
  }

  package func write(to writer: inout ByteWriter) { writer.put64(label) }
  package init(from reader: inout ByteReader) throws(RecordError) { label = try reader.get64() }
}

/// A page of the directory of a long ordered list: the number of members in each chunk, in the order of labels.
///
/// count u16 | flags u16 (0) | per chunk: label u64, members u32. The first label is the position in the page's key.
package struct DirectoryPage: ValueCodec, Hashable {
  package struct Entry: Hashable, Sendable {
    package var label: UInt64
    package var memberCount: UInt32

    package init(label: UInt64, memberCount: UInt32) {
      self.label = label
      self.memberCount = memberCount
    }
  }

  package var entries: [Entry]

  /// - Precondition: 1…128 entries with ascending labels.
  package init(_ entries: [Entry]) {
    self.entries = entries
  }

  package func write(to writer: inout ByteWriter) {
    precondition((1...FormatLimits.directoryCapacity).contains(entries.count), "a page has 1 to 128 entries")
    writer.put16(UInt16(entries.count))
    writer.put16(0)
    for entry in entries {
      writer.put64(entry.label)
      writer.put32(entry.memberCount)
    }
  }

  package init(from reader: inout ByteReader) throws(RecordError) {
    let count = Int(try reader.get16())
    guard try reader.get16() == 0 else { throw .badFlag }
    guard (1...FormatLimits.directoryCapacity).contains(count) else { throw .badCount }
    entries = []
    for _ in 0..<count {
      let entry = Entry(label: try reader.get64(), memberCount: try reader.get32())
      if let last = entries.last, last.label >= entry.label { throw .badOrder }
      entries.append(entry)
    }
  }
}
