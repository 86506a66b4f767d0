public import KVCloneCore
public import KVCloneModel

extension ObjectReading where Self: ~Copyable {
  /// Returns the results of a request, in its order.
  ///
  /// - Throws: `unknownEntity`, `unknownProperty`, `wrongType` and `invalidPredicate`, before anything is read;
  ///   `corrupted`.
  public borrowing func fetch(_ request: FetchRequest) throws(StoreError) -> [ManagedObject] {
    try _withSession { (session) throws(StoreError) in
      try FetchExecutor.objects(try RequestResolver.resolve(request, in: session), in: session)
    }
  }

  /// Returns the ids of a request's results, in its order.
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  public borrowing func fetchIDs(_ request: FetchRequest) throws(StoreError) -> [ObjectID] {
    try _withSession { (session) throws(StoreError) in
      try FetchExecutor.ids(try RequestResolver.resolve(request, in: session), in: session)
    }
  }

  /// Returns the number of a request's results, after its offset and limit are applied. Reads only the values that the
  /// predicate needs.
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  public borrowing func count(_ request: FetchRequest) throws(StoreError) -> Int {
    try _withSession { (session) throws(StoreError) in
      try FetchExecutor.count(try RequestResolver.resolve(request, isCount: true, in: session), in: session)
    }
  }

  /// Calls `body` with each result of a request, in its order, until `body` returns false.
  ///
  /// Without a sort key, one object at a time is in memory. With one, the keys of all results are in memory, or those
  /// of as many results as the limit allows.
  ///
  /// - Throws: the errors of ``fetch(_:)``, and the error of `body`.
  public borrowing func forEachObject(matching request: FetchRequest, _ body: (ManagedObject) throws -> Bool) throws {
    try forEachView(matching: request) { try body($0.managedObject()) }
  }

  /// Returns the query plan of a request as text, one line per step, without running it.
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  public borrowing func explain(_ request: FetchRequest) throws(StoreError) -> [String] {
    try _withSession { (session) throws(StoreError) in try RequestExplanation.explain(request, in: session) }
  }
}

extension ObjectReading where Self: ~Copyable {
  /// Calls `body` with a view of each result of a request, in the order of the request, until `body` returns false.
  ///
  /// Objects are not copied.
  ///
  /// - Throws: the errors of ``fetch(_:)``, and the error of `body`.
  public borrowing func forEachView(matching request: FetchRequest, _ body: (ObjectView) throws -> Bool) throws {
    try _withSession { session in
      try FetchExecutor.forEachView(try RequestResolver.resolve(request, in: session), in: session, body)
    }
  }
}

extension FetchExecutor {
  /// Returns the results of a request, in its order.
  static func objects(
    _ request: CompiledRequest, in session: borrowing Session
  ) throws(StoreError) -> [ManagedObject] {
    let span = request.span(in: session)
    return try span.run { () throws(StoreError) in
      var objects: [ManagedObject] = []
      objects.reserveCapacity(request.found?.count ?? 0)
      try forEachResult(request, in: session) { (id, view) throws(StoreError) in
        objects.append(try session.managedObject(view, id: id))
        return true
      }
      span.noteResults(objects.count)
      return objects
    }
  }

  /// Returns the ids of a request's results, in its order.
  static func ids(_ request: CompiledRequest, in session: borrowing Session) throws(StoreError) -> [ObjectID] {
    let span = request.span(in: session)
    return try span.run { () throws(StoreError) in
      var ids: [ObjectID] = []
      ids.reserveCapacity(request.found?.count ?? 0)
      try forEachResult(request, in: session) { (id, _) throws(StoreError) in
        ids.append(id)
        return true
      }
      span.noteResults(ids.count)
      return ids
    }
  }

  /// Calls `body` with each result of a request, without copying it, until it returns false.
  static func forEachView(
    _ request: CompiledRequest, in session: borrowing Session, _ body: (ObjectView) throws -> Bool
  ) throws {
    let span = request.span(in: session)
    try span.run {
      var failure: (any Error)?
      var count = 0
      try forEachResult(request, in: session) { (id, record) throws(StoreError) in
        if span.isRecording { count += 1 }
        let view = try ObjectView(copy record, id: id, session.schema, transients: session.transients(of: id))
        do { return try body(view) } catch { failure = error }
        return false
      }
      span.noteResults(count)
      if let failure { throw failure }
    }
  }
}
