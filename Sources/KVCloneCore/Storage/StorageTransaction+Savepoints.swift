/// A state of a write transaction to which it can be rolled back.
package struct StorageSavepoint {
  fileprivate let log: UndoLog
  fileprivate let logLength: Int
  fileprivate let changeCount: UInt64
  fileprivate let writtenByteCount: UInt64
  /// The decorators in front of the log, the outermost first, and closures that restore their states.
  fileprivate let decorators: [(backend: any StorageDecorator, restore: () -> Void)]
  /// Whether the log ends with this savepoint.
  fileprivate let isOutermost: Bool
}

extension StorageTransaction {
  /// Begins a savepoint. Savepoints end in the reverse order of their begin.
  ///
  /// - Parameter directory: the directory for a log that exceeds memory.
  package mutating func beginSavepoint(directory: @escaping () -> String) throws(StoreError) -> StorageSavepoint {
    var decorators: [(backend: any StorageDecorator, restore: () -> Void)] = []
    var inner = backend
    while let decorator = inner.decorator {
      decorators.append((decorator, try decorator.stateRestorer()))
      inner = decorator.inner
    }
    let reused = undoLog.flatMap { $0.isOpen || $0.inner === inner ? $0 : nil }
    let log = reused ?? UndoLog(inner, directory: directory)
    undoLog = log
    let isOutermost = !log.isOpen
    if isOutermost {
      log.isOpen = true
      // Directly in front of the engine, so that writes of decorators are undone, too.
      if let last = decorators.last { last.backend.inner = log } else { backend = log }
    }
    return StorageSavepoint(
      log: log, logLength: log.length, changeCount: changeCount, writtenByteCount: writtenByteCount,
      decorators: decorators, isOutermost: isOutermost)
  }

  /// Restores the state of the savepoint, and ends it.
  ///
  /// - Throws: the error of the engine; the transaction can then only be aborted.
  package mutating func rollBack(to savepoint: consuming StorageSavepoint) throws(StoreError) {
    // Removes a decorator that was added since.
    if let first = savepoint.decorators.first, let last = savepoint.decorators.last {
      last.backend.inner = savepoint.log
      backend = first.backend
    } else {
      backend = savepoint.log
    }
    try savepoint.log.undo(to: savepoint.logLength)
    for decorator in savepoint.decorators { decorator.restore() }
    changeCount = savepoint.changeCount
    writtenByteCount = savepoint.writtenByteCount
    release(savepoint)
  }

  /// Ends a savepoint and keeps the changes since.
  package mutating func release(_ savepoint: consuming StorageSavepoint) {
    guard savepoint.isOutermost else { return }
    var last = backend.decorator
    while let next = last?.inner.decorator { last = next }
    if let last {
      last.inner = savepoint.log.inner
    } else {
      backend = savepoint.log.inner
    }
    if !savepoint.log.clear() { undoLog = nil }
  }
}
