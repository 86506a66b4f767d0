public import KVCloneCore
public import KVCloneModel

extension ObjectReading where Self: ~Copyable {
  /// Calls `body` with a view of each result of a request, in the order of the request, until `body` returns false.
  ///
  /// Objects are not copied.
  ///
  /// - Throws: the errors of ``fetch(_:)``, and the error of `body`.
  public borrowing func forEachView(matching request: FetchRequest, _ body: (ObjectView) throws -> Bool) throws {
    try _withSession { session in try session.forEachView(try session.resolve(request), body) }
  }
}

extension Session {
  /// Hands on each result of a request without copying it, until `body` answers false.
  borrowing func forEachView(_ request: CompiledRequest, _ body: (ObjectView) throws -> Bool) throws {
    var failure: (any Error)?
    try forEachResult(request) { (id, record) throws(StoreError) in
      let view = try ObjectView(copy record, id: id, schema, transients: transients(of: id))
      do { return try body(view) } catch { failure = error }
      return false
    }
    if let failure { throw failure }
  }
}
