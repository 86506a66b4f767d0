import KVCloneTracing

/// The common interface of all errors of the library: the failure, the affected entity, property and object, and the
/// remedy.
///
/// Each phase has its own error type: ``StoreError`` for opening, transactions, and reading and changing objects;
/// ``ValidationError`` for commits; ``CloneError`` for planning clones; ``TransferError`` for load and dump. Errors
/// never contain stored values.
public protocol KVCloneError: Error, Sendable, CustomStringConvertible {
  /// The stable text of the error's kind, such as `requiredRelationshipExcluded`, for programs.
  var kindName: String { get }
  /// The affected entity, or nil.
  var entity: String? { get }
  /// The affected attribute or relationship, or nil.
  var property: String? { get }
  /// The affected object, such as `Item/3`, or nil.
  var object: String? { get }
  /// The failure and the remedy in one line of text.
  var message: String { get }
}

extension KVCloneError {
  /// The ``message``.
  public var description: String { message }
}

extension StoreError: SpanError {}
extension ValidationError: SpanError {}
extension CloneError: SpanError {}
extension TransferError: SpanError {}
