public import KVCloneModel

extension ReadTransaction {
  /// Calls `body` with a view of an object, without copying the object.
  ///
  /// This overload for read transactions is faster than the generic one.
  ///
  /// - Returns: the result of `body`.
  /// - Throws: `objectNotFound`, `corrupted`, and the error of `body`.
  public borrowing func withObject<Result>(_ id: ObjectID, _ body: (ObjectView) throws -> Result) throws -> Result {
    try _withSession { session in try session.withObject(id, body) }
  }
}
