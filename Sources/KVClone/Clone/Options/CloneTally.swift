import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The counters of a stream.
struct CloneTally {
  var objects = 0
  /// By entity code.
  var counts: [Int]
  var blobsShared = 0
  var bytesShared: UInt64 = 0
  var bytesCopied: UInt64 = 0
  var bytesWritten: UInt64 = 0
  /// The outside objects that gained links.
  var touched = ObjectSet()

  init(entityCount: Int) {
    counts = Array(repeating: 0, count: entityCount + 1)
  }

  /// The size of a provenance entry, with its key; longer with the UUID of another store.
  static func provenanceBytes(isForeign: Bool) -> UInt64 { isForeign ? 64 : 48 }

  /// The size of a list in full chunks, with their keys, in bytes.
  static func listBytes(_ count: Int) -> UInt64 {
    let chunks = (count + FormatLimits.chunkCapacity - 1) / FormatLimits.chunkCapacity
    return UInt64(8 * count + chunks * (ListChunk.length(count: 0) + LinkKey.length))
  }

  /// Multiplies the cost of one copy by `copies`.
  mutating func multiply(by copies: Int) {
    if copies == 1 { return }
    func times(_ value: Int) -> Int {
      let (product, overflows) = value.multipliedReportingOverflow(by: copies)
      return overflows ? .max : product
    }
    objects = times(objects)
    for code in counts.indices { counts[code] = times(counts[code]) }
    blobsShared = times(blobsShared)
    bytesShared = bytesShared.saturatingMultiply(UInt64(copies))
    bytesCopied = bytesCopied.saturatingMultiply(UInt64(copies))
    bytesWritten = bytesWritten.saturatingMultiply(UInt64(copies))
  }

  mutating func share(byteCount: UInt64) {
    blobsShared += 1
    bytesShared = bytesShared.saturatingAdd(byteCount)
  }
}

extension CloneTally {
  func countsByName(_ schema: Schema) -> [String: Int] {
    var named: [String: Int] = [:]
    for (code, count) in counts.enumerated() where count > 0 {
      named[schema.entity(code: UInt16(code))?.name ?? String(code)] = count
    }
    return named
  }

  /// The first 100 affected objects by id.
  var firstTouched: [ObjectID] {
    var first: [ObjectID] = []
    first.reserveCapacity(min(touched.count, 100))
    touched.forEach { id in
      first.append(id)
      return first.count < 100
    }
    return first
  }
}
