/// A type that owns the session of a transaction while it works on it.
package protocol SessionOwner: ~Copyable {
  init(_ session: consuming Session)

  /// Returns the session.
  consuming func finish() -> Session
}

extension SessionOwner where Self: ~Copyable {
  /// Moves a session into an owner while `body` runs, and back afterwards, even if `body` throws.
  package static func own<R, E: Error>(
    _ session: inout Session, _ body: (inout Self) throws(E) -> R
  ) throws(E) -> R {
    var owner = Self(session)
    do throws(E) {
      let result = try body(&owner)
      session = owner.finish()
      return result
    } catch {
      session = owner.finish()
      throw error
    }
  }
}
