extension ObjectStore {
  /// Less than this, freed or needed, is not worth a commit.
  private static var worthReusing: UInt64 { 1 << 20 }

  /// Lets a large write use the pages that the last commit freed, which LMDB gives to the next commit but one: a small
  /// commit comes between them. Otherwise a clone right after the delete of another one would make the file grow by its
  /// whole size.
  ///
  /// - Parameter byteCount: what the write will take at least.
  /// - Returns: how many commits were made.
  package func makeFreedPagesUsable(for byteCount: UInt64, dryRun reasons: PlanReasons? = nil) throws -> UInt64 {
    guard reasons == nil, byteCount >= Self.worthReusing, let space = engine.space,
      try space.lastFreedByteCount() >= Self.worthReusing
    else {
      return 0
    }
    var session = try writeSession(label: "clone")
    session.changes.isEmpty = false
    try WriteTransaction(session).commit(self)
    return 1
  }
}
