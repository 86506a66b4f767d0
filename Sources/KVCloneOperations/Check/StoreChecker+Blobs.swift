import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Checks blobs: completeness, reference counts, and owners.
extension StoreChecker {
  /// Checks the described blobs; of a branch, those that its layer describes.
  borrowing func checkBlobs(_ run: CheckRun) throws(StoreError) {
    try run.reading("the blob entries") { () throws(StoreError) in
      try session.forEachEntry(session.schema.tables.blobinfo) { (key, _) throws(StoreError) in
        guard let serial = try? NumberKey.blobSerial(copy key), serial > 0 else {
          run.report(
            .malformedKey, page: run.page(session.schema.tables.blobinfo, key),
            "the table of blob entries has a malformed key")
          return !run.isFull
        }
        if run.isOnBranch, try !session.storage.backend.countsReferences(toBlob: serial) { return true }
        try checkBlob(serial, run)
        return !run.isFull
      }
    }
  }

  /// Checks staged uploads, and chunks without a description.
  borrowing func checkUploads(_ run: CheckRun) throws(StoreError) {
    if !run.lost.any(session.schema.tables.blobinfo) {
      for serial in run.staged.keys.sorted() {
        run.report(.metadata, "a staged upload of blob \(serial) is recorded, but the blob is not pending")
      }
    }
    try run.reading("the blobs") { () throws(StoreError) in
      var last: UInt64 = 0
      let greatest = ShortKey.blobInfo(.max)
      if let entry = try session.storage.seek(session.schema.tables.blobinfo, greatest.bytes, .atOrBefore) {
        last = (try? NumberKey.blobSerial(entry.key)) ?? 0
      }
      last = max(last, try checkChunks(run))
      try checkCounter(MetadataKey.blobSerial, above: last, "blobs", run)
    }
  }

  /// Determines the owners of corrupted blobs: a further scan of all records, only if there are any.
  borrowing func nameReferrers(_ run: CheckRun) throws(StoreError) {
    for rootCode in session.schema.rootCodes where run.seeksReferrers {
      guard let table = session.schema.objectTable(rootCode: rootCode) else { continue }
      try session.forEachEntry(table) { (key, value) throws(StoreError) in
        guard let id = Self.objectID(key), id.rootCode == rootCode, !run.isUnreadable(id) else { return true }
        let view = try session.schema.view(of: copy value, id: id)
        let entity = try session.schema.entity(of: view, id: id)
        for field in 0..<view.layout.fieldCount where view.layout.kind(field).mayBeBlob && !view.isNull(field) {
          guard let blob = view.blobReference(field) else { continue }
          let name = run.propertyNames[view.layout[field].propertyCode]
          run.noteReferrer(of: blob.id, id, entity, property: name)
        }
        return run.seeksReferrers
      }
    }
  }

  private borrowing func checkBlob(_ serial: UInt64, _ run: CheckRun) throws(StoreError) {
    let found = run.references.count(serial)
    do throws(StoreError) {
      guard let info = try session.storage.blobInfo(session.blobTables, serial) else { return }
      if info.state == .pending {
        let stager = run.staged.removeValue(forKey: serial)
        if found > 0 {
          run.report(.blobCount, "\(found) objects reference blob \(serial), which is still pending")
        } else if stager != UInt64(info.stager), stager != nil || !run.lost.any(session.schema.tables.metadata) {
          run.report(.orphanBlob, "blob \(serial) is pending without a staged upload")
        }
        return
      } else {
        // References in unreadable records are unknown.
        let counted = info.referenceCount
        if found > counted || found < counted && run.readsAllObjects {
          run.report(
            found == 0 ? .orphanBlob : .blobCount, isDerived: true,
            found == 0
              ? "no object references blob \(serial)"
              : "\(found) objects reference blob \(serial), and its reference count is \(counted)")
        }
      }
    } catch {
      guard error.kind == .corrupted else { throw error }
      let page = run.pages?.page(session.blobTables.blobinfo, ShortKey.blobInfo(serial).array)
      return run.reportBlob(serial, page: page, error.message)
    }
    try checkBytes(of: serial, run)
  }

  /// Checks blobs of objects with an unreadable model: whether all of their bytes exist, and match the digest.
  borrowing func checkUnowned(_ run: CheckRun) throws(StoreError) {
    try session.forEachEntry(session.schema.tables.blobinfo) { (key, _) throws(StoreError) in
      guard let serial = try? NumberKey.blobSerial(copy key), serial > 0 else {
        run.report(
          .malformedKey, page: run.page(session.schema.tables.blobinfo, key),
          "the table of blob entries has a malformed key")
        return !run.isFull
      }
      try checkBytes(of: serial, run)
      return !run.isFull
    }
  }

  private borrowing func checkBytes(of serial: UInt64, _ run: CheckRun) throws(StoreError) {
    // Its chunks may be on a corrupted page, which was reported.
    if run.lost.intersects(session.blobTables.blobs, prefix: ShortKey.blobInfo(serial).array) { return }
    for problem in try BlobCheck.problems(
      of: serial, session.blobTables, in: session.storage, readData: run.options.readData)
    {
      let page = problem.chunk.flatMap {
        run.pages?.page(session.blobTables.blobs, ShortKey.blobChunk(serial, chunk: $0).array)
      }
      run.reportBlob(serial, page: page, problem.message)
    }
  }

  /// Checks for chunks without a description; returns the highest serial of all chunks.
  private borrowing func checkChunks(_ run: CheckRun) throws(StoreError) -> UInt64 {
    var last: UInt64 = 0
    try session.forEachEntry(session.schema.tables.blobs) { (key, _) throws(StoreError) in
      guard let serial = try? NumberKey.numberAndPart(copy key).number, serial > 0 else {
        run.report(
          .malformedKey, page: run.page(session.schema.tables.blobs, key),
          "the table of blob chunks has a malformed key")
        return !run.isFull
      }
      if serial == last { return true }
      last = serial
      let info = ShortKey.blobInfo(serial).array
      let isKnown =
        run.lost.contains(session.schema.tables.blobinfo, info) || run.lost.any(session.schema.tables.preimages)
        || run.branchTables.map { run.lost.any($0.overlays) } ?? false
      if !isKnown, run.retained.count(serial) == 0, try !session.has(session.schema.tables.blobinfo, info) {
        run.report(.orphanBlob, isDerived: true, "chunks of blob \(serial) exist without an entry of the blob")
      }
      return !run.isFull
    }
    return last
  }
}
