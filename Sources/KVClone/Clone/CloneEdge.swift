public import KVCloneModel

/// One edge that a clone is about to decide about: a link from an object that is cloned to another one (R30).
public struct CloneEdge: Sendable, Hashable {
  /// What the edge leads to, and what would be cloned.
  public let source: ObjectID
  /// The relationship of ``parent``.
  public let relationship: String
  /// The object that the edge comes from; it is cloned.
  public let parent: ObjectID
  /// What the rules say of the edge: `follow` or `reference`. Returning it changes nothing.
  public let rule: RelationshipCloneRule.Override
}

/// The state that is cloned, for the hook that is asked about edges: objects as they were when the plan began, or, inside
/// a write transaction, as they are in it.
public struct CloneSource: ~Copyable, ObjectReading {
  /// A hook's view lives as long as the call that it is lent to, and the session longer.
  private let session: UnsafePointer<Session>

  private init(_ session: UnsafePointer<Session>) {
    self.session = session
  }

  /// Lends a session's state to `body`.
  static func lend<R>(_ session: borrowing Session, _ body: (borrowing CloneSource) throws -> R) rethrows -> R {
    try withUnsafePointer(to: session) { pointer in
      try body(CloneSource(pointer))
    }
  }

  /// Lends the session to the library's own extensions.
  @_documentation(visibility: private)
  public borrowing func _withSession<R, E: Error>(_ body: (borrowing Session) throws(E) -> R) throws(E) -> R {
    try body(session.pointee)
  }
}
