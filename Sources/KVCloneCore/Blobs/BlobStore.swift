package import KVCloneRecords

/// The two tables of blobs. A blob is immutable: content in chunks of `FormatLimits.blobChunkLength` bytes (the last
/// one may be shorter), and a description with its reference count; both are deleted with the last reference.
package struct BlobTables: Hashable, Sendable {
  package let blobs: StorageTable
  package let blobinfo: StorageTable

  package init(blobs: StorageTable, blobinfo: StorageTable) {
    self.blobs = blobs
    self.blobinfo = blobinfo
  }

  package func missing(_ serial: UInt64) -> StoreError {
    StoreError(
      .objectNotFound,
      "there is no blob \(serial); it was deleted with its last referrer, or belongs to another store; read the object "
        + "again")
  }

  package func corrupted(_ serial: UInt64, _ what: String) -> StoreError {
    StoreError(.corrupted, "blob \(serial) is corrupted: \(what) Restore from a backup, or run `salvage`")
  }

  /// The length of one chunk of a blob.
  package static func length(of chunk: UInt32, in info: BlobInfo) -> Int {
    let full = UInt64(FormatLimits.blobChunkLength)
    let start = UInt64(chunk) * full
    return start >= info.byteCount ? 0 : Int(min(full, info.byteCount - start))
  }
}

extension SchemaTables {
  package var ofBlobs: BlobTables { BlobTables(blobs: blobs, blobinfo: blobinfo) }
}

/// Reads blobs and counts their references.
extension StorageTransaction {
  /// The blob's description; nil if it does not exist.
  package borrowing func blobInfo(_ tables: BlobTables, _ serial: UInt64) throws(StoreError) -> BlobInfo? {
    let key = ShortKey.blobInfo(serial)
    guard let value = try get(tables.blobinfo, key.bytes) else { return nil }
    do throws(RecordError) {
      return try BlobInfo(stored: value, seed: ValueEnvelope.seed(tableCode: tables.blobinfo.code, key: key))
    } catch {
      throw tables.corrupted(serial, error.description)
    }
  }

  /// The description of a blob; throws if it does not exist.
  package borrowing func existingBlobInfo(_ tables: BlobTables, _ serial: UInt64) throws(StoreError) -> BlobInfo {
    guard let info = try blobInfo(tables, serial) else { throw tables.missing(serial) }
    return info
  }

  /// Passes the blob's bytes to `body` in order, in parts of at most a chunk, each verified and valid during the call.
  ///
  /// - Parameter range: The wanted bytes; nil for all.
  /// - Throws: `objectNotFound`, `invalidIndex` for a range beyond the end, `corrupted`, and errors of `body`.
  borrowing func readBlob(
    _ tables: BlobTables, _ serial: UInt64, range: Range<UInt64>? = nil, _ body: (RawSpan) throws -> Void
  ) throws {
    let info = try existingBlobInfo(tables, serial)
    guard info.state == .complete else { throw tables.missing(serial) }
    let range = range ?? 0..<info.byteCount
    guard range.upperBound <= info.byteCount else {
      throw StoreError(
        .invalidIndex, "a read up to byte \(range.upperBound) exceeds blob \(serial), which has \(info.byteCount) bytes"
      )
    }
    guard !range.isEmpty else { return }
    let full = UInt64(FormatLimits.blobChunkLength)
    for number in UInt32(range.lowerBound / full)...UInt32((range.upperBound - 1) / full) {
      let start = UInt64(number) * full
      try readScope {
        let chunk = try blobChunk(tables, serial, number, info)
        let lower = range.lowerBound > start ? Int(range.lowerBound - start) : 0
        let upper = Int(min(UInt64(chunk.byteCount), range.upperBound - start))
        try body(chunk.extracting(lower..<upper))
      }
    }
  }

  /// The verified bytes of one chunk.
  @_lifetime(borrow self)
  package borrowing func blobChunk(_ tables: BlobTables, _ serial: UInt64, _ number: UInt32, _ info: BlobInfo)
    throws(StoreError) -> RawSpan
  {
    let key = ShortKey.blobChunk(serial, chunk: number)
    guard let value = try get(tables.blobs, key.bytes) else {
      throw tables.corrupted(serial, "Chunk \(number) is missing.")
    }
    do throws(RecordError) {
      let seed = ValueEnvelope.seed(tableCode: tables.blobs.code, key: key)
      let bytes = try ValueEnvelope.payload(of: value, seed: seed)
      guard bytes.byteCount == BlobTables.length(of: number, in: info) else { throw .wrongLength }
      return bytes
    } catch {
      throw tables.corrupted(serial, error.description)
    }
  }

  /// Adds references.
  package mutating func addReferences(_ tables: BlobTables, _ serial: UInt64, count: UInt64 = 1) throws(StoreError) {
    guard count > 0 else { return }
    var info = try existingBlobInfo(tables, serial)
    guard try backend.countsReferences(toBlob: serial) else { return }
    let (sum, overflow) = info.referenceCount.addingReportingOverflow(count)
    guard !overflow else { throw tables.corrupted(serial, "Its reference count is out of range.") }
    info.referenceCount = sum
    try store(tables, serial, info)
  }

  /// Adds references to many blobs; ascending serials modify each page once.
  package mutating func addReferences(_ tables: BlobTables, _ counts: [(serial: UInt64, count: UInt64)])
    throws(StoreError)
  {
    for (serial, count) in counts { try addReferences(tables, serial, count: count) }
  }

  /// Deletes all existing chunks, regardless of the description.
  package mutating func deleteBlobChunks(_ tables: BlobTables, _ serial: UInt64) throws(StoreError) {
    var limit = Int.max
    _ = try deleteBlobChunks(tables, serial, limit: &limit)
  }

  /// Deletes at most `limit` existing chunks, and subtracts them from the limit; returns whether none is left.
  mutating func deleteBlobChunks(_ tables: BlobTables, _ serial: UInt64, limit: inout Int) throws(StoreError) -> Bool {
    let start = ShortKey.blobChunk(serial, chunk: 0)
    while true {
      // One by one: a chunk is on overflow pages, compared to which a seek is free.
      guard let found = try firstChunk(tables, atOrAfter: start), found.number == serial else { return true }
      guard limit > 0 else { return false }
      limit -= 1
      let key = ShortKey.blobChunk(serial, chunk: found.part)
      try delete(tables.blobs, key.bytes)
    }
  }

  private borrowing func firstChunk(_ tables: BlobTables, atOrAfter start: ShortKey) throws(StoreError)
    -> (number: UInt64, part: UInt32)?
  {
    guard let entry = try seek(tables.blobs, start.bytes, .atOrAfter) else { return nil }
    do throws(RecordError) {
      return try NumberKey.numberAndPart(entry.key)
    } catch {
      throw StoreError(.corrupted, "the key of a blob chunk is corrupted: \(error) Run `check` to see the extent")
    }
  }

  /// Stores a blob's description.
  package mutating func store(_ tables: BlobTables, _ serial: UInt64, _ info: BlobInfo) throws(StoreError) {
    let key = ShortKey.blobInfo(serial)
    let value = info.encoded(seed: ValueEnvelope.seed(tableCode: tables.blobinfo.code, key: key))
    try put(tables.blobinfo, key.bytes, value.span.bytes)
  }
}
