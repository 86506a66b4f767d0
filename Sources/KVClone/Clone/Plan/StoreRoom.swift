package import KVCloneCore
import KVCloneRecords

/// The space that a store has for a large write, according to its engine.
package struct StoreRoom {
  private let facts: StorageFacts
  /// The limit of the store's file.
  private let limit: UInt64?

  /// Nil if the space is unknown, which is not an error: the write fails if it does not fit.
  package init?(of session: borrowing Session) {
    guard let facts = (try? session.storage.space()?.facts()) ?? (try? session.engine?.facts()) else { return nil }
    self.facts = facts
    limit = session.limits?.fileBytes
  }

  private var fileBytes: UInt64 { UInt64(facts.pageCount).saturatingMultiply(UInt64(facts.pageSize)) }

  /// Whether the bytes of a clone have to be counted before it may write. Copying everything, with the links of outside
  /// objects, takes less than twice the file, and so does every further copy; only blobs may be copied more often than
  /// they are stored.
  func isTight(for context: CloneContext) -> Bool {
    let free = min(facts.freeMapBytes, facts.freeDiskBytes)
    if free == .max { return false }
    return context.book.options.blobs == .copy
      || free / 2 < fileBytes.saturatingMultiply(UInt64(context.copies))
  }

  /// Whether only writing shows if this many more bytes fit.
  ///
  /// At most every page of the trees is written again, and a second time for preimages, and new pages are at least a
  /// third full. What fits even then needs no further check.
  package func isNearLimit(adding byteCount: UInt64) -> Bool {
    let growth = byteCount.saturatingMultiply(3).saturatingAdd(fileBytes.saturatingMultiply(2)).saturatingAdd(1 << 20)
    // With a write-ahead log, every page is written twice.
    if facts.freeDiskBytes != .max, growth.saturatingMultiply(2) > facts.freeDiskBytes { return true }
    return limit.map { fileBytes.saturatingAdd(growth) > $0 } ?? false
  }
}
