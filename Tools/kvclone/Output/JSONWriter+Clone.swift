import KVClone
import KVCloneExplorer

extension JSONWriter {
  /// Writes the members of the document of a completed clone.
  mutating func cloneResult(_ result: CloneResult, roots: [String], touched: [String], deleted: [String] = []) {
    member("root", roots.first)
    member("roots", roots)
    cloneFacts(
      objects: result.objectCount, counts: result.counts, affectedObjectCount: result.affectedObjectCount,
      touched: touched,
      blobsShared: result.blobsShared, bytes: (result.bytesShared, result.bytesCopied, result.bytesWritten),
      duration: result.duration)
    member("committed", true)
    if result.isRepeated {
      member("repeated", true)
      member("deleted", deleted)
    }
  }

  mutating func cloneFacts(
    objects: Int, counts: [String: Int], affectedObjectCount: Int, touched: [String], blobsShared: Int,
    bytes: (shared: UInt64, copied: UInt64, written: UInt64), duration: Duration
  ) {
    member("objects", objects)
    member("counts", counts)
    member("touchedCount", affectedObjectCount)
    member("touched", touched)
    member("blobsShared", blobsShared)
    member("bytesShared", bytes.shared)
    member("bytesCopied", bytes.copied)
    member("bytesWritten", bytes.written)
    member("seconds", duration.inSeconds)
  }
}
