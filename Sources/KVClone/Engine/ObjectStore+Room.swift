/// Runs a transaction that the store itself begins, and once more where it met the map's end: by then the map has grown, if
/// nobody else was using it. Never for a caller's closure, which may have done more than write here.
///
/// - Parameter times: how often: the map is doubled each time.
func onceMoreIfMapFull<R, E: Error>(times: Int = 1, _ body: () throws(E) -> R) throws(E) -> R {
  for _ in 0..<times {
    do throws(E) {
      return try body()
    } catch {
      guard (error as? StoreError)?.kind == .mapFull else { throw error }
    }
  }
  return try body()
}

extension ObjectStore {
  /// Less than this, freed or needed, is not worth a commit.
  private static var worthReusing: UInt64 { 1 << 20 }

  /// Lets a large write use the pages that the last commit freed, which LMDB gives to the next commit but one: a small
  /// commit comes between them. Otherwise a clone right after the delete of another one would make the file grow by its
  /// whole size.
  ///
  /// - Parameter byteCount: what the write will take at least.
  /// - Returns: how many commits were made.
  func makeFreedPagesUsable(for byteCount: UInt64, dryRun reasons: PlanReasons? = nil) throws -> UInt64 {
    guard reasons == nil, byteCount >= Self.worthReusing, try engine.lastFreedByteCount() >= Self.worthReusing else {
      return 0
    }
    var session = try writeSession(label: "clone")
    session.changes.isEmpty = false
    try commit(session)
    return 1
  }
}

extension Session {
  /// Asks for room before a large write that takes at least so many bytes. Only this one is looked at: what the
  /// transaction has written before may be deleted again, and its pages used again.
  ///
  /// - Throws: `diskFull` or `mapFull`, where it is certain that there is not so much.
  borrowing func makeRoom(for byteCount: UInt64) throws(StoreError) {
    try checkFileLimit(adding: byteCount)
    try storage.makeRoom(for: byteCount)
  }

  /// Whether the bytes of a clone have to be counted before it may write. Copying everything that there is, the links of
  /// those outside included, takes less than twice the file, and so does every further copy; only blobs may be copied more
  /// often than they are stored.
  borrowing func isRoomTight(for context: CloneContext) throws(StoreError) -> Bool {
    let options = context.book.options
    // What cannot be found out is no obstacle: the write finds out.
    guard let facts = (try? storage.facts()) ?? (try? engine?.facts()) else { return false }
    let free = min(facts.freeMapBytes, facts.freeDiskBytes)
    if free == .max { return false }
    let fileBytes = UInt64(facts.pageCount) * UInt64(facts.pageSize)
    return options.blobs == .copy || free / 2 < fileBytes.saturatingMultiply(UInt64(context.copies))
  }
}
