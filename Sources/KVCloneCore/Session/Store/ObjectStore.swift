#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
public import KVCloneModel

/// An embedded object store: a directory with one memory-mapped file, with any number of concurrent readers and one
/// writer at a time, across processes.
///
/// ```swift
/// let store = try ObjectStore.open(at: "notes.kvclone", model: model)
/// let copy = try store.write { tx in
///   let note = try tx.insert("Note", ["title": "Groceries"])
///   return try tx.clone(object: note)
/// }
/// ```
///
/// Reads have snapshot isolation (MVCC). Commits are durable: a write transaction that has returned survives a crash
/// and a power loss, because the commit returns after `fdatasync`. A store is safe to use from any thread.
public final class ObjectStore: Sendable {
  /// The absolute path of the store's directory at the time of opening.
  public let path: String
  /// The identifier of the store, which never changes.
  public let uuid: UUID
  /// The model of the store's objects.
  public var model: ManagedObjectModel { schema.model }
  /// The options that the store was opened with.
  public let options: StoreOptions

  package let engine: any StorageEngine
  package let schema: Schema
  /// The format version of the file at the time of opening; `info` returns the current one.
  package let formatVersion: UInt32
  /// The shared state of the store's sessions. Hooks concern writes only.
  package let context: StoreContext
  /// Values that features keep with the store.
  package let attachments: Attachments
  /// Wakes tasks that wait for commits.
  package let commitSignal = CommitSignal()
  /// Resources that are closed with the store, in this order.
  private let resources: [any StoreResource]
  /// The store that this one is a branch of; nil for a store. Both have the same hooks, serials and uploads.
  package let parent: ObjectStore?
  /// The queue on which asynchronous writes wait and sync in order, never on the cooperative pool.
  package let writerQueue = WriterQueue()

  /// - Parameter resources: other resources to close with the store, before its waiting tasks and uploads end.
  package init(
    path: String, uuid: UUID, options: StoreOptions, engine: any StorageEngine, schema: Schema, formatVersion: UInt32,
    resources: [any StoreResource], branchOf parent: ObjectStore? = nil
  ) {
    self.path = path
    self.uuid = uuid
    self.options = options
    self.engine = engine
    self.schema = schema
    self.formatVersion = formatVersion
    self.parent = parent
    attachments = parent?.attachments ?? Attachments()
    context = StoreContext(
      uuid: uuid, serialFloor: parent?.context.serialFloor ?? SerialHighWaterMark(), engine: engine, hooks: nil,
      limits: StoreLimits(options))
    let stagers = parent == nil ? [Stagers(engine, isReadOnly: options.isReadOnly)] : []
    self.resources = resources + [commitSignal] + stagers
  }

  /// Closes the file as soon as the last open transaction has ended.
  ///
  /// Closing also ends all pinned snapshots. Every later call throws `closed`.
  public func close() {
    for resource in resources { resource.close() }
    engine.close()
  }

  /// Returns the only resource of a type with which the store was assembled.
  package func resource<Resource: StoreResource>(_: Resource.Type) -> Resource {
    for case let resource as Resource in resources { return resource }
    if let parent { return parent.resource(Resource.self) }
    preconditionFailure("the store was assembled without \(Resource.self)")
  }
}

/// A resource that is closed with the store.
package protocol StoreResource: AnyObject, Sendable {
  func close()
}
