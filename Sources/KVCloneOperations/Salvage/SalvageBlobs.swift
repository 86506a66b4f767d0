import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// Copies the blobs that records reference, and rebuilds lost descriptions. Omits incomplete blobs.
struct SalvageBlobs {
  private let copied: SalvageCopy
  private let tables: BlobTables

  init(_ copied: SalvageCopy) {
    self.copied = copied
    tables = copied.schema.tables.ofBlobs
  }

  func copy() throws(StoreError) {
    let (writer, source, run) = (copied.writer, copied.source, copied.run)
    let wanted = try Self.tally(writer.backend, copied.schema)
    try source.scan(.blobs) { (key, value) throws(StoreError) in
      guard let place = try? NumberKey.numberAndPart(copy key), wanted.count(place.number) > 0 else { return true }
      run.steps.advance(value.byteCount)
      guard ValueEnvelope.isIntact(copy value, seed: ValueEnvelope.seed(tableCode: .blobs, key: copy key)) else {
        return true
      }
      try writer.append(tables.blobs, unsafePointers(copy key), unsafePointers(copy value))
      return true
    }
    // A serial is reused only if a transaction that wrote chunks was killed; the digest decides.
    var mended: Set<UInt64> = []
    let hasLosses = copied.lost.codes.contains(.blobs)
    try copied.findHidden(hasLosses ? [.blobs] : [], includingFree: true) { (_, entry) throws(StoreError) in
      guard copied.lost.contains(.blobs, entry.key),
        let place = try? NumberKey.numberAndPart(RawSpan(_unsafeBytes: entry.key)),
        wanted.count(place.number) > 0, let value = entry.value(),
        ValueEnvelope.isIntact(value, seed: ValueEnvelope.seed(tableCode: .blobs, key: entry.key))
      else { return }
      mended.insert(place.number)
      try writer.put(tables.blobs, entry.key, value)
    }
    try writer.flush()
    try describe(wanted, mended)
    try writer.flush()
  }

  /// The number of references to each blob in the records.
  ///
  /// - Parameter includingRetired: whether records of removed entities count, which snapshots need.
  static func tally(
    _ backend: any StorageBackend, _ schema: Schema, includingRetired: Bool = false
  ) throws(StoreError) -> BlobTally {
    var tally = BlobTally()
    let retired = includingRetired ? schema.codes.former?.rootCodes ?? [] : []
    for rootCode in schema.rootCodes + retired {
      guard let table = schema.tables.objects[rootCode] else { continue }
      let first: [UInt8] = [0]
      try backend.scan(table, from: unsafePointers(first.span.bytes), before: .noBytes) {
        (key, value) throws(StoreError) in
        let view = try schema.view(of: copy value, id: try schema.objectID(key))
        for field in 0..<view.layout.fieldCount where view.layout.kind(field).mayBeBlob && !view.isNull(field) {
          if let blob = view.blobReference(field) { tally.add(blob.id) }
        }
        return true
      }
    }
    return tally
  }

  // MARK: Descriptions

  /// - Parameter mended: blobs with unreferenced chunks.
  private func describe(_ wanted: BlobTally, _ mended: Set<UInt64>) throws(StoreError) {
    let (writer, run) = (copied.writer, copied.run)
    var next: UInt64? = 1
    while let start = next {
      try run.steps.check()
      guard let serial = try firstBlob(atOrAfter: start) else { break }
      next = serial < .max ? serial + 1 : nil
      if let info = try description(of: serial, count: wanted.count(serial), isMended: mended.contains(serial)) {
        try store(info, serial)
      } else {
        var storage = StorageTransaction(lookingInto: writer.backend)
        try storage.deleteBlobChunks(tables, serial)
      }
    }
    // Empty blobs have no chunks.
    try copied.source.scan(.blobInfo) { (key, value) throws(StoreError) in
      let seed = ValueEnvelope.seed(tableCode: .blobInfo, key: copy key)
      guard let serial = try? NumberKey.blobSerial(copy key), wanted.count(serial) > 0,
        var info = try? BlobInfo(stored: copy value, seed: seed), info.state == .complete, info.byteCount == 0
      else { return true }
      info.referenceCount = wanted.count(serial)
      try store(info, serial)
      return true
    }
  }

  private func store(_ info: BlobInfo, _ serial: UInt64) throws(StoreError) {
    let key = ShortKey.blobInfo(serial)
    let value = info.encoded(seed: ValueEnvelope.seed(tableCode: .blobInfo, key: key))
    try copied.writer.put(tables.blobinfo, unsafePointers(key.bytes), unsafePointers(value.span.bytes))
  }

  private func firstBlob(atOrAfter serial: UInt64) throws(StoreError) -> UInt64? {
    let key = ShortKey.blobChunk(serial, chunk: 0)
    guard let entry = try copied.writer.backend.seek(tables.blobs, unsafePointers(key.bytes), .atOrAfter) else {
      return nil
    }
    return try? NumberKey.numberAndPart(RawSpan(_unsafeBytes: entry.key)).number
  }

  /// The description of a blob; nil if it is incomplete.
  private func description(of serial: UInt64, count: UInt64, isMended: Bool) throws(StoreError) -> BlobInfo? {
    let told = try? StorageTransaction(lookingInto: copied.source.backend).blobInfo(tables, serial)
    var found: (chunks: UInt32, bytes: UInt64, isWhole: Bool) = (0, 0, true)
    var digest = XXH64Stream(seed: 0)
    let isKnown = told?.state == .complete
    let (start, end) = (ShortKey.blobChunk(serial, chunk: 0), ShortKey.blobChunk(serial &+ 1, chunk: 0))
    try copied.writer.backend.scan(tables.blobs, from: unsafePointers(start.bytes), before: unsafePointers(end.bytes)) {
      (key, value) throws(StoreError) in
      guard let place = try? NumberKey.numberAndPart(copy key), place.number == serial else { return false }
      let length = value.byteCount - FormatLimits.envelopeLength
      // Every chunk but the last is full.
      if place.part != found.chunks || found.bytes % UInt64(FormatLimits.blobChunkLength) != 0 || length <= 0
        || length > FormatLimits.blobChunkLength
      {
        found.isWhole = false
        return false
      }
      found.chunks += 1
      found.bytes += UInt64(length)
      if !isKnown || isMended { digest.update(value.extracting(FormatLimits.envelopeLength..<value.byteCount)) }
      return true
    }
    guard found.isWhole, found.chunks > 0 else { return nil }
    if var told, isKnown {
      guard told.byteCount == found.bytes, told.chunkCount == found.chunks else { return nil }
      if isMended, told.digest != digest.finalize() { return nil }
      told.referenceCount = count
      return told
    }
    return BlobInfo(chunkCount: found.chunks, referenceCount: count, byteCount: found.bytes, digest: digest.finalize())
  }
}
