/// Read operations of transactions and snapshots.
///
/// Entity and property names are those of the model. Unless documented otherwise, operations throw `unknownEntity` or
/// `unknownProperty` for names that the model does not define, `objectNotFound` for ids without an object, and
/// `corrupted` for bytes that fail verification.
public protocol ObjectReading: ~Copyable {
  /// Passes the session to extensions of the library.
  @_documentation(visibility: private)
  borrowing func _withSession<R, E: Error>(_ body: (borrowing Session) throws(E) -> R) throws(E) -> R
}
