import KVCloneModel
package import KVCloneRecords

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
      if let expectedReferences, let info = try blobInfo(tables, serial), info.referenceCount != expectedReferences {
        problems.append(
          "blob \(serial): it has \(expectedReferences) referrers, and its reference count is \(info.referenceCount)")
      }
    } catch {
      guard error.kind == .corrupted else { throw error }
    }
    return problems + (try findProblems(tables, serial, readData: readData).map(\.message))
  }

  /// The same without the count of referrers, and with the chunks in which the problems are.
  package borrowing func findProblems(_ tables: BlobTables, _ serial: UInt64, readData: Bool) throws(StoreError)
    -> [BlobProblem]
  {
    do throws(StoreError) {
      guard let info = try blobInfo(tables, serial) else { throw tables.corrupted(serial, "It is missing.") }
      return try findProblems(tables, serial, info, readData: readData)
    } catch {
      guard error.kind == .corrupted else { throw error }
      return [BlobProblem(message: error.message)]
    }
  }

  /// The same of a blob that may be described elsewhere.
  package borrowing func findProblems(_ tables: BlobTables, _ serial: UInt64, _ info: BlobInfo, readData: Bool)
    throws(StoreError) -> [BlobProblem]
  {
    guard info.state == .complete else { return [] }
    return try checkChunks(tables, serial, info, readData: readData)
  }

  /// The chunks that are there are those that have to be, and, where `readData` asks for it, have the bytes that they
  /// had. One scan: an engine that reads files keeps no more than a chunk of it.
  private borrowing func checkChunks(
    _ tables: BlobTables, _ serial: UInt64, _ info: BlobInfo, readData: Bool
  ) throws(StoreError) -> [BlobProblem] {
    var expected: UInt32 = 0
    var problems: [BlobProblem] = []
    var digest = XXH64Stream(seed: 0)
    let start = ShortKey.blobChunk(serial, chunk: 0)
    let end = ShortKey.blobChunk(serial &+ 1, chunk: 0)
    try scan(tables.blobs, from: start.bytes, before: end.bytes) { (key, value) throws(StoreError) in
      let found: (number: UInt64, part: UInt32)
      do throws(RecordError) {
        found = try NumberKey.numberAndPart(key)
      } catch {
        throw tables.corrupted(serial, error.description)
      }
      guard found.number == serial else { return false }
      func note(_ what: String) {
        problems.append(BlobProblem(message: "blob \(serial): chunk \(found.part) \(what)", chunk: found.part))
      }
      if found.part != expected || found.part >= info.chunkCount {
        note("is in the place of chunk \(expected) of \(info.chunkCount)")
        return false
      }
      expected += 1
      if value.byteCount != FormatLimits.envelopeLength + BlobTables.length(of: found.part, in: info) {
        note("has a wrong length")
      } else if readData {
        do throws(RecordError) {
          let seed = ValueEnvelope.seed(tableCode: tables.blobs.code, key: copy key)
          digest.update(try ValueEnvelope.payload(of: copy value, seed: seed))
        } catch {
          note("is corrupted: \(error.description)")
        }
      }
      return true
    }
    if problems.isEmpty, expected != info.chunkCount {
      problems.append(BlobProblem(message: "blob \(serial): only \(expected) of \(info.chunkCount) chunks exist"))
    }
    if problems.isEmpty, readData, digest.finalize() != info.digest {
      problems.append(
        BlobProblem(message: tables.corrupted(serial, "Its bytes do not match its digest.").message))
    }
    return problems
  }
}

/// A rule that a blob breaks.
package struct BlobProblem {
  package let message: String
  /// The chunk that breaks it, where it is one.
  package var chunk: UInt32?
}
