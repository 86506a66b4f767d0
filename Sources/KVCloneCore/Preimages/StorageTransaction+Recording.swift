import KVCloneRecords

extension StorageTransaction {
  /// The recorder of preimages in this write transaction, or nil if the store has no snapshots.
  package var recorder: PreimageRecorder? { backend as? PreimageRecorder }

  /// Records preimages from now on, if the store has snapshots.
  package mutating func record(
    _ schema: Schema, commit: UInt64, droppedIndexes: Set<UInt16> = []
  ) throws(StoreError) {
    guard let youngest = try Snapshots.youngest(self, schema.tables) else { return }
    let horizon = SnapshotHorizon(youngest, schema.orderedLists)
    interpose {
      PreimageRecorder(
        $0, preimages: schema.tables.preimages, commit: commit, horizon, droppedIndexes: droppedIndexes)
    }
  }

  /// Ends the recording of preimages, at the end of a commit in the middle of the transaction.
  mutating func endRecording() throws(StoreError) {
    try removeDecorator(PreimageRecorder.self) { (recorder) throws(StoreError) in try recorder.flush() }
  }

  /// Removes references to a blob, and with the last one the blob.
  ///
  /// The chunks of a blob that a snapshot or a branch may show remain until the last one that needs them is deleted.
  ///
  /// - Returns: whether the blob was deleted.
  /// - Throws: `corrupted` if the blob has fewer references than are removed.
  @discardableResult
  package mutating func releaseReference(_ schema: SchemaTables, _ serial: UInt64, count: UInt64 = 1)
    throws(StoreError) -> Bool
  {
    let tables = schema.ofBlobs
    guard var info = try blobInfo(tables, serial) else {
      throw tables.corrupted(serial, "A referrer was deleted, but the blob is missing.")
    }
    guard try backend.countsReferences(toBlob: serial) else { return false }
    guard info.referenceCount >= count else {
      throw tables.corrupted(serial, "It has more referrers than its reference count.")
    }
    info.referenceCount -= count
    guard info.referenceCount == 0 else {
      try store(tables, serial, info)
      return false
    }
    let isShown = try recorder?.keepsBlob(serial) == true
    let key = ShortKey.blobInfo(serial)
    try delete(tables.blobinfo, key.bytes)
    if isShown { return true }
    // Without branches, only snapshots could need the chunks.
    if try BlobDescriptions.hasLayers(schema, in: self), try BlobDescriptions.exist(of: serial, schema, in: self) {
      return true
    }
    try deleteBlobChunks(tables, serial)
    return true
  }
}
