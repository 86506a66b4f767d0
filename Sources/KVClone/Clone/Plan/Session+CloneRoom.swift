import KVCloneCore

extension Session {
  /// Whether the bytes of a clone have to be counted before it may write. Copying everything that there is, the links of
  /// those outside included, takes less than twice the file, and so does every further copy; only blobs may be copied more
  /// often than they are stored.
  borrowing func isRoomTight(for context: CloneContext) throws(StoreError) -> Bool {
    let options = context.book.options
    // What cannot be found out is no obstacle: the write finds out.
    guard let facts = (try? storage.space()?.facts()) ?? (try? engine?.facts()) else { return false }
    let free = min(facts.freeMapBytes, facts.freeDiskBytes)
    if free == .max { return false }
    let fileBytes = UInt64(facts.pageCount) * UInt64(facts.pageSize)
    return options.blobs == .copy || free / 2 < fileBytes.saturatingMultiply(UInt64(context.copies))
  }
}
