/// What every error of the library tells: what failed, on which entity, property and object, and what to do.
///
/// The families are small and belong to a phase: ``StoreError`` (opening, transactions, reading and changing objects),
/// ``ValidationError`` (what a commit refuses), ``CloneError`` (what a clone's plan refuses), ``TransferError`` (load and
/// dump). None of them ever holds a stored value.
public protocol KVCloneError: Error, Sendable, CustomStringConvertible {
  /// The case's name, `requiredRelationshipExcluded`; stable, for programs.
  var kindName: String { get }
  /// The entity concerned.
  var entity: String? { get }
  /// The attribute or relationship concerned.
  var property: String? { get }
  /// The object concerned, as `Item/3`.
  var object: String? { get }
  /// One line for people: what failed and what to do.
  var message: String { get }
}

extension KVCloneError {
  /// The message.
  public var description: String { message }
}
