/// The description of an incremental backup, under the name `increment` of its `metadata`: its start and its end state.
///
/// flags u32 (0) | commit u64 | created f64 | epoch u64, commit u64 and created f64 of the snapshot | first commit u64
/// and part u32 of the history | count u32, (table code u16, entries u64)* | the snapshot's name.
package struct IncrementValue: ValueCodec, Hashable {
  /// The number of entries in a table of the store.
  package struct Count: Hashable, Sendable {
    package var table: TableCode
    package var entries: UInt64

    package init(table: TableCode, entries: UInt64) {
      self.table = table
      self.entries = entries
    }
  }

  /// The commit of the end state.
  package var commit: UInt64
  /// The creation time, in seconds since 2001.
  package var created: Double
  /// The snapshot of the start state: no two of a store have the same epoch.
  package var sinceName: String
  package var sinceEpoch: UInt64
  package var sinceCommit: UInt64
  package var sinceCreated: Double
  /// The first entry of `changes`: those before have been purged. The greatest number if there are no entries.
  package var firstChangeCommit: UInt64
  package var firstChangePart: UInt32
  /// Of all tables, ascending by code: what a restore has to end with.
  package var counts: [Count]

  package init(
    commit: UInt64, created: Double, sinceName: String, sinceEpoch: UInt64, sinceCommit: UInt64, sinceCreated: Double,
    firstChangeCommit: UInt64 = .max, firstChangePart: UInt32 = .max, counts: [Count]
  ) {
    self.commit = commit
    self.created = created
    self.sinceName = sinceName
    self.sinceEpoch = sinceEpoch
    self.sinceCommit = sinceCommit
    self.sinceCreated = sinceCreated
    self.firstChangeCommit = firstChangeCommit
    self.firstChangePart = firstChangePart
    self.counts = counts
  }

  package func write(to writer: inout ByteWriter) {
    writer.put32(0)
    writer.put64(commit)
    writer.putDouble(created)
    writer.put64(sinceEpoch)
    writer.put64(sinceCommit)
    writer.putDouble(sinceCreated)
    writer.put64(firstChangeCommit)
    writer.put32(firstChangePart)
    writer.put32(UInt32(counts.count))
    for count in counts {
      writer.put16(count.table.rawValue)
      writer.put64(count.entries)
    }
    writer.putString(sinceName)
  }

  package init(from reader: inout ByteReader) throws(RecordError) {
    guard try reader.get32() == 0 else { throw .badFlag }
    commit = try reader.get64()
    created = try reader.getDouble()
    sinceEpoch = try reader.get64()
    sinceCommit = try reader.get64()
    sinceCreated = try reader.getDouble()
    firstChangeCommit = try reader.get64()
    firstChangePart = try reader.get32()
    counts = []
    for _ in 0..<(try reader.getCount(width: 10)) {
      let count = Count(table: TableCode(rawValue: try reader.get16()), entries: try reader.get64())
      guard count.table.name != nil, count.table != .deletions else { throw .badKey }
      if let last = counts.last, last.table.rawValue >= count.table.rawValue { throw .badOrder }
      counts.append(count)
    }
    sinceName = try reader.getString()
    // As for counters: adding cannot overflow.
    guard max(sinceEpoch, commit) <= UInt64(Int64.max) else { throw .outOfRange }
    guard sinceEpoch > 0, sinceCommit <= commit, !sinceName.isEmpty else { throw .outOfRange }
  }
}

/// Keys in the table `deletions` of an incremental backup: table code u16 | the removed key. For `blobs` it is a serial
/// alone: all of its chunks are removed.
package enum DeletionKey {
  package static let prefixLength = 2

  package static func write(table: TableCode, key: UnsafeRawBufferPointer, to bytes: ReusedBytes) {
    bytes.removeAll()
    bytes.appendBigEndian(table.rawValue)
    bytes.append(key)
  }

  /// - Throws: `badKey`.
  package static func table(of bytes: RawSpan) throws(RecordError) -> TableCode {
    guard bytes.byteCount > prefixLength, bytes.byteCount <= prefixLength + FormatLimits.maximumKeyLength else {
      throw .badKey
    }
    return TableCode(rawValue: UInt16(bigEndian: bytes.unsafeLoadUnaligned(as: UInt16.self)))
  }

  /// The removed key.
  @_lifetime(copy bytes)
  package static func key(of bytes: RawSpan) throws(RecordError) -> RawSpan {
    _ = try table(of: bytes)
    return bytes.extracting(prefixLength..<bytes.byteCount)
  }
}
