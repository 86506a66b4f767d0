import KVCloneRecords

/// A read transaction: a consistent view of the store at the last commit before it began.
///
/// It lives as long as the closure of `ObjectStore.read`. Object ids and ``ManagedObject``s may leave the closure.
public struct ReadTransaction: ~Copyable, ObjectReading {
  /// Boxed, because a session has some hundred bytes, which would be copied wherever the transaction is borrowed.
  private let place: Box<Session>

  package var session: Session { _read { yield place.value } }

  package init(_ session: consuming Session) {
    place = Box(session)
  }

  /// Passes the session to extensions of the library.
  @_documentation(visibility: private)
  public borrowing func _withSession<R, E: Error>(_ body: (borrowing Session) throws(E) -> R) throws(E) -> R {
    try body(place.value)
  }
}

/// A write transaction: all of its changes are committed, or none.
///
/// Returning from the closure of `ObjectStore.write` commits; throwing rolls back. An operation that fails before its
/// first change, such as one with an unknown name or a value of the wrong type, leaves the transaction usable. An
/// operation that fails after a change makes the transaction abort-only: later changes and the commit throw
/// `transactionAborted`. A ``savepoint(_:)`` limits both to a part of the transaction.
public struct WriteTransaction: ~Copyable, ObjectReading {
  /// Boxed, because reading applies deferred changes, which is not observable to readers. Nothing is borrowed from the
  /// session at that time: only changes defer work, and no read is in progress during a change.
  private let place: Box<Session>

  package var session: Session {
    _read { yield place.value }
    _modify { yield &place.value }
  }

  package init(_ session: consuming Session) {
    place = Box(session)
  }

  /// Passes the session to extensions of the library.
  @_documentation(visibility: private)
  public borrowing func _withSession<R, E: Error>(_ body: (borrowing Session) throws(E) -> R) throws(E) -> R {
    if !place.value.isSettled {
      do throws(StoreError) {
        try place.value.settle()
      } catch {
        // If the error cannot be thrown here, reading continues; the commit reports it.
        if let error = error as? E { throw error }
      }
    }
    return try body(place.value)
  }

  /// Moves the session out for the commit.
  package consuming func takeSession() -> Session { place.take() }

  /// Writes the deferred inverse links and index entries of inserted objects, for callers that use the session
  /// directly.
  package mutating func settle() throws(StoreError) { try session.settle() }

  /// Runs a change. An error before the first written byte leaves the transaction usable; a later one makes it
  /// abort-only.
  package mutating func change<R, E: Error>(_ body: (inout Session) throws(E) -> R) throws -> R {
    if let failure = session.changes.failure { throw failure }
    try session.settle()
    let before = session.storage.changeCount
    do {
      return try body(&session)
    } catch {
      if session.storage.changeCount != before { session.changes.fail(error) }
      throw error
    }
  }

  /// Like `change`, for changes that only throw `StoreError`.
  ///
  /// - Parameter settles: whether deferred links and index entries of inserted objects are written first; only inserts
  ///   may pass false.
  package mutating func changeObjects<R>(settles: Bool = true, _ body: (inout Session) throws(StoreError) -> R)
    throws(StoreError) -> R
  {
    if let failure = session.changes.failure { throw failure }
    if settles { try session.settle() }
    let before = session.storage.changeCount
    do throws(StoreError) {
      return try body(&session)
    } catch {
      if session.storage.changeCount != before { session.changes.fail(error) }
      throw error
    }
  }
}

extension SessionOwner where Self: ~Copyable {
  /// Changes the objects of a transaction through this owner of its session; see `changeObjects`.
  package static func change<R>(
    in transaction: inout WriteTransaction, _ body: (inout Self) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try transaction.changeObjects { (session) throws(StoreError) in try own(&session, body) }
  }
}
