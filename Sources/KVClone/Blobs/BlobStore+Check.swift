import KVCloneModel
import KVCloneRecords

extension StorageTransaction {
  /// Every rule of blobs that this one breaks, in words; empty for a sound blob.
  ///
  /// - Parameters:
  ///   - expectedReferences: The referrers that a walk over the store counted; nil to leave them unchecked.
  ///   - readData: Whether to read and verify the bytes too, and not only which chunks there are.
  /// - Throws: what the engine throws; damage is reported, not thrown.
  borrowing func checkBlob(_ tables: BlobTables, _ serial: UInt64, expectedReferences: UInt64?, readData: Bool)
    throws(StoreError) -> [String]
  {
    var problems: [String] = []
    do throws(StoreError) {
      guard let info = try blobInfo(tables, serial) else { throw tables.damaged(serial, "It is not there.") }
      if let expectedReferences, expectedReferences != info.referenceCount {
        problems.append(
          "blob \(serial): it has \(expectedReferences) referrers, and \(info.referenceCount) are counted")
      }
      if info.state == .complete {
        problems += try checkChunks(tables, serial, info)
        if readData { try checkDigest(tables, serial, info) }
      }
    } catch {
      guard error.kind == .damaged else { throw error }
      problems.append(error.message)
    }
    return problems
  }

  /// The chunks that are there are those that have to be.
  private borrowing func checkChunks(_ tables: BlobTables, _ serial: UInt64, _ info: BlobInfo) throws(StoreError)
    -> [String]
  {
    var expected: UInt32 = 0
    var problem: String?
    let start = ShortKey.blobChunk(serial, chunk: 0)
    try scan(tables.blobs, from: start.bytes) { (key, value) throws(StoreError) in
      let found: (number: UInt64, part: UInt32)
      do throws(RecordError) {
        found = try NumberKey.numberAndPart(key)
      } catch {
        throw tables.damaged(serial, error.description)
      }
      guard found.number == serial else { return false }
      if found.part != expected || found.part >= info.chunkCount {
        problem = "blob \(serial): chunk \(found.part) is there where chunk \(expected) of \(info.chunkCount) should be"
        return false
      }
      if value.byteCount != FormatLimits.envelopeLength + BlobTables.length(of: found.part, in: info) {
        problem = "blob \(serial): chunk \(found.part) has not the length that it should have"
      }
      expected += 1
      return true
    }
    if problem == nil, expected != info.chunkCount {
      problem = "blob \(serial): \(expected) of \(info.chunkCount) chunks are there"
    }
    return problem.map { [$0] } ?? []
  }

  private borrowing func checkDigest(_ tables: BlobTables, _ serial: UInt64, _ info: BlobInfo) throws(StoreError) {
    var digest = XXH64Stream(seed: 0)
    for number in 0..<info.chunkCount { digest.update(try blobChunk(tables, serial, number, info)) }
    guard digest.finalize() == info.digest else {
      throw tables.damaged(serial, "Its bytes are not those of its digest.")
    }
  }
}
