extension Session {
  /// Asks for room before a large write that takes at least so many bytes. Only this one is looked at: what the
  /// transaction has written before may be deleted again, and its pages used again.
  ///
  /// - Throws: `diskFull` or `mapFull`, where it is certain that there is not so much.
  package borrowing func makeRoom(for byteCount: UInt64) throws(StoreError) {
    try checkFileLimit(adding: byteCount)
    try storage.space()?.makeRoom(for: byteCount)
  }
}
