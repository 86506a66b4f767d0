#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// The shared state of a store's sessions, which it creates.
package struct StoreContext: Sendable {
  /// The identifier of the store, for URIs.
  package let uuid: UUID
  /// Serials that earlier transactions allocated, including aborted ones.
  package let serialFloor: SerialHighWaterMark
  /// The engine, or nil for sessions that never write.
  package let engine: (any StorageEngine)?
  /// Lifecycle hooks, or nil if none are registered.
  private(set) var hooks: (any SessionHooks)?
  /// The size limits, or nil if none are set.
  let limits: StoreLimits?

  /// Creates the context of a store that is not open, or of an open one without hooks and limits.
  package init(uuid: UUID, serialFloor: SerialHighWaterMark = SerialHighWaterMark(), engine: (any StorageEngine)? = nil)
  {
    self.init(uuid: uuid, serialFloor: serialFloor, engine: engine, hooks: nil, limits: nil)
  }

  init(
    uuid: UUID, serialFloor: SerialHighWaterMark, engine: (any StorageEngine)?, hooks: (any SessionHooks)?,
    limits: StoreLimits?
  ) {
    self.uuid = uuid
    self.serialFloor = serialFloor
    self.engine = engine
    self.hooks = hooks
    self.limits = limits
  }

  /// The context of write transactions.
  func with(_ hooks: (any SessionHooks)?) -> StoreContext {
    var context = self
    context.hooks = hooks
    return context
  }

  /// The directory for temporary files. Looking it up takes a system call.
  package var scratchDirectory: () -> String {
    { [engine] in engine?.files?.currentDirectory ?? FileManager.default.temporaryDirectory.path }
  }

  /// Creates the session of a transaction.
  ///
  /// - Parameters:
  ///   - commit: the commit that a write transaction makes; 0 in read transactions.
  ///   - shownCommit: the last commit fully visible to a snapshot.
  package func session(
    _ storage: consuming StorageTransaction, _ schema: Schema, commit: UInt64 = 0, shownCommit: UInt64? = nil
  ) -> Session {
    Session(storage: storage, schema: schema, context: self, commit: commit, shownCommit: shownCommit)
  }

  /// Creates the session of a transaction that its engine has just begun.
  package func session(_ backend: any StorageBackend, _ schema: Schema, commit: UInt64 = 0) -> Session {
    session(StorageTransaction(backend), schema, commit: commit)
  }
}
