/// A state of a write transaction to which it can be rolled back.
package struct StorageSavepoint {
  fileprivate let log: UndoLog
  fileprivate let logLength: Int
  fileprivate let changeCount: UInt64
  fileprivate let writtenByteCount: UInt64
  /// The decorator in front of the log, if any, and the closure that restores its state.
  fileprivate let decorator: (backend: any StorageDecorator, restore: () -> Void)?
  /// Whether the log ends with this savepoint.
  fileprivate let isOutermost: Bool
}

extension StorageTransaction {
  /// Begins a savepoint. Savepoints end in the reverse order of their begin.
  ///
  /// - Parameter directory: the directory for a log that exceeds memory.
  package mutating func beginSavepoint(directory: @escaping () -> String) throws(StoreError) -> StorageSavepoint {
    let decorator = backend.decorator
    let restore = try decorator?.stateRestorer()
    let inner = decorator?.inner ?? backend
    let reused = undoLog.flatMap { $0.isOpen || $0.inner === inner ? $0 : nil }
    let log = reused ?? UndoLog(inner, directory: directory)
    undoLog = log
    let isOutermost = !log.isOpen
    if isOutermost {
      log.isOpen = true
      // Directly in front of the engine, so that writes of decorators are undone, too.
      if let decorator { decorator.inner = log } else { backend = log }
    }
    return StorageSavepoint(
      log: log, logLength: log.length, changeCount: changeCount, writtenByteCount: writtenByteCount,
      decorator: decorator.flatMap { decorator in restore.map { (decorator, $0) } }, isOutermost: isOutermost)
  }

  /// Restores the state of the savepoint, and ends it.
  ///
  /// - Throws: the error of the engine; the transaction can then only be aborted.
  package mutating func rollBack(to savepoint: consuming StorageSavepoint) throws(StoreError) {
    // Removes a decorator that was added since.
    if let decorator = savepoint.decorator {
      decorator.backend.inner = savepoint.log
      backend = decorator.backend
    } else {
      backend = savepoint.log
    }
    try savepoint.log.undo(to: savepoint.logLength)
    savepoint.decorator?.restore()
    changeCount = savepoint.changeCount
    writtenByteCount = savepoint.writtenByteCount
    release(savepoint)
  }

  /// Ends a savepoint and keeps the changes since.
  package mutating func release(_ savepoint: consuming StorageSavepoint) {
    guard savepoint.isOutermost else { return }
    if let decorator = backend.decorator {
      decorator.inner = savepoint.log.inner
    } else {
      backend = savepoint.log.inner
    }
    if !savepoint.log.clear() { undoLog = nil }
  }
}
