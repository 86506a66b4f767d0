public import KVCloneCore
public import KVCloneModel

/// A link from a cloned object to another object, which a clone decides about (R30).
public struct CloneEdge: Sendable, Hashable {
  /// The object that the edge leads to.
  public let source: ObjectID
  /// The name of the relationship, a property of ``parent``.
  public let relationship: String
  /// The cloned object that the edge comes from.
  public let parent: ObjectID
  /// The decision of the rules: `follow` or `reference`. Returning it changes nothing.
  public let rule: CloneRule
}

/// A read-only view of the state that is cloned, for ``CloneOptions/willClone``.
///
/// It shows the objects at the start of the plan. Inside a write transaction, it shows the current state of the
/// transaction.
public struct CloneSource: ~Copyable, ObjectReading {
  /// Valid: a hook's view lives as long as the call that it is passed to, and the session longer.
  private let session: UnsafePointer<Session>

  private init(_ session: UnsafePointer<Session>) {
    self.session = session
  }

  /// Passes a view of a session's state to `body`.
  static func lend<R>(_ session: borrowing Session, _ body: (borrowing CloneSource) throws -> R) rethrows -> R {
    try withUnsafePointer(to: session) { pointer in
      try body(CloneSource(pointer))
    }
  }

  /// Passes the session to extensions of the library.
  @_documentation(visibility: private)
  public borrowing func _withSession<R, E: Error>(_ body: (borrowing Session) throws(E) -> R) throws(E) -> R {
    try body(session.pointee)
  }
}
