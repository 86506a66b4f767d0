import KVCloneCore
import KVCloneRecords

/// Checks whether the bytes of a blob are complete.
enum BlobCheck {
  /// Returns all problems of a blob, with the chunks in which they are.
  ///
  /// - Parameter readData: Whether to read and verify the bytes too, instead of only checking which chunks exist.
  /// - Throws: Errors of the engine. Corruption is returned, not thrown.
  static func problems(
    of serial: UInt64, _ tables: BlobTables, in storage: borrowing StorageTransaction, readData: Bool
  ) throws(StoreError) -> [BlobProblem] {
    do throws(StoreError) {
      guard let info = try storage.blobInfo(tables, serial) else { throw tables.corrupted(serial, "It is missing.") }
      return try problems(of: serial, info, tables, in: storage, readData: readData)
    } catch {
      guard error.kind == .corrupted else { throw error }
      return [BlobProblem(message: error.message)]
    }
  }

  /// Checks a blob with a description that may be stored elsewhere.
  static func problems(
    of serial: UInt64, _ info: BlobInfo, _ tables: BlobTables, in storage: borrowing StorageTransaction, readData: Bool
  ) throws(StoreError) -> [BlobProblem] {
    guard info.state == .complete else { return [] }
    return try checkChunks(of: serial, info, tables, in: storage, readData: readData)
  }

  /// Checks that exactly the required chunks exist, and, with `readData`, that their bytes are intact. One scan: an
  /// engine that reads files keeps no more than a chunk of it.
  private static func checkChunks(
    of serial: UInt64, _ info: BlobInfo, _ tables: BlobTables, in storage: borrowing StorageTransaction, readData: Bool
  ) throws(StoreError) -> [BlobProblem] {
    var expected: UInt32 = 0
    var problems: [BlobProblem] = []
    var digest = XXH64Stream(seed: 0)
    let start = ShortKey.blobChunk(serial, chunk: 0)
    let end = ShortKey.blobChunk(serial &+ 1, chunk: 0)
    try storage.scan(tables.blobs, from: start.bytes, before: end.bytes) { (key, value) throws(StoreError) in
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

/// A problem of a blob.
struct BlobProblem {
  let message: String
  /// The affected chunk, if it is a single one.
  var chunk: UInt32?
}
