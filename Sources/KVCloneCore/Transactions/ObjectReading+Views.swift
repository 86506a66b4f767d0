public import KVCloneModel

extension ObjectReading where Self: ~Copyable {
  /// Calls `body` with a view of an object, without copying the object.
  ///
  /// - Returns: the result of `body`.
  /// - Throws: `objectNotFound`, `corrupted`, and the error of `body`.
  public borrowing func withObject<Result>(_ id: ObjectID, _ body: (ObjectView) throws -> Result) throws -> Result {
    try _withSession { session in try session.withObject(id, body) }
  }

  /// Calls `body` with a view of each object of an entity in ascending order of serials, until `body` returns false.
  ///
  /// Objects are not copied.
  ///
  /// - Throws: `unknownEntity`, `corrupted`, and the error of `body`.
  public borrowing func forEachView(
    of entity: String, includesSubentities: Bool = true, _ body: (ObjectView) throws -> Bool
  ) throws {
    var failure: (any Error)?
    try _withSession { (session) throws(StoreError) in
      let entity = try session.schema.entity(entity)
      try session.forEachRecord(of: entity, includesSubentities: includesSubentities) {
        (id, record) throws(StoreError) in
        let view = try ObjectView(copy record, id: id, session.schema, transients: session.transients(of: id))
        do { return try body(view) } catch { failure = error }
        return false
      }
    }
    if let failure { throw failure }
  }
}

extension Session {
  /// Hands on an object that has to exist without copying it.
  @inline(__always)
  borrowing func withObject<Result>(_ id: ObjectID, _ body: (ObjectView) throws -> Result) throws -> Result {
    try body(try ObjectView(try existingRecord(id), id: id, schema, transients: transients(of: id)))
  }
}
