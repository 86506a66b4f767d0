public import KVCloneCore

extension ObjectStore {
  /// The current holder of the write lock, in this or another process; nil if the lock is free.
  ///
  /// Reading the property does not block and begins no transaction. The holder may have changed when it returns. The
  /// message of a `busy` error contains the same information.
  public var writeLockHolder: WriteLockHolder? { engine.writer() }
}
