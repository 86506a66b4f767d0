#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneBranches
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The location of a clone's sources, as seen from the transaction that writes the clones.
enum CloneOrigin: Sendable {
  /// In the state of that transaction.
  case transaction
  /// In a snapshot of the same store.
  case snapshot(Snapshot)
  /// In another store.
  case store(ObjectStore)

  /// Checks that the sources can be cloned into a store.
  func check(_ destination: ObjectStore) throws(CloneError) {
    switch self {
    case .transaction: break
    case .snapshot(let snapshot): if snapshot.store !== destination { throw Self.foreign(snapshot) }
    case .store(let store):
      guard Self.areSame(store, destination) else { return }
      throw CloneError(
        .invalidConfiguration,
        "the source store and the destination are the same; use clone(_:options:) within one store (R35)")
    }
  }

  /// Whether two open stores are one. The UUID alone does not decide, because copies of a store share it.
  private static func areSame(_ store: ObjectStore, _ other: ObjectStore) -> Bool {
    if store.engine === other.engine { return true }
    // A store and its branches have different objects under the same ids.
    if (store.engine as? BranchEngine)?.number != (other.engine as? BranchEngine)?.number { return false }
    if store.uuid != other.uuid { return false }
    if let files = store.engine.files, let others = other.engine.files { return files.identity == others.identity }
    if let network = store.engine.network, let other = other.engine.network { return network.isSameStore(as: other) }
    return false
  }

  /// Checks that a transaction belongs to the store of the cloned snapshot.
  func checkEngine(of session: borrowing Session) throws(CloneError) {
    if case .snapshot(let snapshot) = self, session.engine !== snapshot.store.engine { throw Self.foreign(snapshot) }
  }

  /// Checks that a transaction has not deleted the cloned snapshot.
  func check(_ session: borrowing Session) throws(StoreError) {
    guard case .snapshot(let snapshot) = self else { return }
    // The snapshot's state is that of the last commit, regardless of this transaction's changes. Deleting the snapshot
    // would also delete blobs that only it references.
    _ = try Snapshots.existing(
      session.storage, session.schema.tables, snapshot.name, epoch: snapshot.info.epoch)
  }

  private static func foreign(_ snapshot: Snapshot) -> CloneError {
    CloneError(
      .invalidConfiguration,
      "the snapshot \(snapshot.name) belongs to another store; clone within the store that created it")
  }

  /// The idempotency key of a call; nil if it has none.
  ///
  /// - Parameter engine: the engine of the store or branch that the clones are made on.
  func key(
    _ roots: [ObjectID], _ options: CloneOptions, in engine: (any StorageEngine)?
  ) throws(CloneError) -> CloneKey? {
    let branch = (engine as? BranchEngine)?.number
    return switch self {
    case .transaction: try CloneKey(roots, options, branch: branch)
    case .snapshot(let snapshot): try CloneKey(roots, options, epoch: snapshot.info.epoch, branch: branch)
    case .store(let store): try CloneKey(roots, options, sourceStore: store.uuid, branch: branch)
    }
  }

  /// Begins to read the sources; nil if they are read in the transaction that writes.
  ///
  /// A snapshot is read with the store's current model and its rules.
  func beginReading() throws(StoreError) -> CloneReader? {
    switch self {
    case .transaction: nil
    case .snapshot(let snapshot):
      CloneReader(
        try snapshot.session(byPresentModel: true))
    case .store(let store): CloneReader(try store.readSession())
    }
  }

  /// The commit that defines the cloned state of the sources.
  func commit(_ reader: CloneReader?, _ session: borrowing Session) throws(StoreError) -> UInt64 {
    switch self {
    case .snapshot(let snapshot): return snapshot.info.commit
    case .transaction, .store:
      if let reader { return try reader.session.counter(MetadataKey.commitCounter) }
      // This transaction's changes are part only of its own commit.
      return session.changes.isEmpty ? session.commit - 1 : session.commit
    }
  }

  /// The UUID of the other store that the sources are in.
  var storeUUID: UUID? {
    if case .store(let store) = self { store.uuid } else { nil }
  }

  // MARK: Planning

  /// The rules of a call.
  ///
  /// - Throws: `objectNotFound` if a root does not exist; `unknownEntity` for objects of an entity that only the model
  ///   of
  ///   a snapshot has.
  func book(_ roots: [ObjectID], _ options: CloneOptions, in source: borrowing Session) throws -> CloneRuleBook {
    if case .snapshot(let snapshot) = self { try Self.checkEntities(of: roots, in: snapshot, source.schema) }
    if options.keepsBase {
      guard case .transaction = self else {
        throw CloneError(
          .invalidConfiguration,
          "a clone from a snapshot or of another store cannot be merged into its sources (P8); clone without keepsBase")
      }
    }
    return try CloneRuleBook.book(roots, options, in: source)
  }

  private static func checkEntities(of roots: [ObjectID], in snapshot: Snapshot, _ schema: Schema) throws {
    let own = try snapshot.session()
    if own.schema.catalogNumber == schema.catalogNumber { return }
    for root in roots where try own.exists(root) {
      let entity = try own.entity(of: root)
      if schema.entity(code: entity.code) != nil { continue }
      throw CloneError(
        .unknownEntity,
        """
        the entity of \(entity.name)/\(root.serial) of the snapshot \(snapshot.name) exists only in the snapshot's \
        model, version “\(own.schema.model.versionIdentifier)”, not in the store's model, version \
        “\(schema.model.versionIdentifier)”; dump the object from the snapshot
        """, entity: entity.name, object: "\(entity.name)/\(root.serial)")
    }
  }

  /// Finds the objects of a clone into a store with the model of `destination`.
  func scope(
    _ roots: [ObjectID], _ book: CloneRuleBook, _ cancellation: CloneMonitor, _ destination: Schema,
    in source: borrowing Session
  ) throws -> CloneScope {
    let bridge: CloneBridge? =
      switch self {
      case .transaction: nil
      case .snapshot: CloneBridge(source: source.schema, destination: destination, isWithinStore: true)
      case .store: CloneBridge(source: source.schema, destination: destination)
      }
    return try CloneScope(roots, book, bridge, cancellation, in: source)
  }

  /// Finds the objects of a clone, by rules without errors.
  ///
  /// - Throws: the first `CloneError` of the rules or of the traversal.
  func scope(
    _ roots: [ObjectID], _ options: CloneOptions, _ cancellation: CloneMonitor, _ destination: Schema,
    in source: borrowing Session
  ) throws -> CloneScope {
    let book = try book(roots, options, in: source)
    if let error = book.errors.first { throw error }
    return try scope(roots, book, cancellation, destination, in: source)
  }

  /// Checks everything before a clone may write (R1), and returns its context.
  ///
  /// - Parameter reader: the transaction to read the sources in; nil for `destination`.
  func prepare(
    _ roots: [ObjectID], _ options: CloneOptions, _ cancellation: CloneMonitor, _ reader: CloneReader?,
    _ destination: borrowing Session
  ) throws -> CloneContext {
    guard let reader else {
      return try scope(roots, options, cancellation, destination.schema, in: destination)
        .prepare(destination, destination)
    }
    return try scope(roots, options, cancellation, destination.schema, in: reader.session)
      .prepare(reader.session, destination)
  }

  /// Determines what a clone would do, and every error (R36).
  func survey(
    _ roots: [ObjectID], _ options: CloneOptions, _ reader: CloneReader?, _ destination: borrowing Session
  ) throws -> CloneSurvey {
    guard let reader else { return try survey(roots, options, destination, destination) }
    return try survey(roots, options, reader.session, destination)
  }

  private func survey(
    _ roots: [ObjectID], _ options: CloneOptions, _ source: borrowing Session, _ destination: borrowing Session
  ) throws -> CloneSurvey {
    let book = try book(roots, options, in: source)
    var survey = CloneSurvey(book)
    try survey.find { survey in
      let scope = try scope(roots, book, CloneMonitor(progress: options.progress), destination.schema, in: source)
      try survey.check(try scope.context(in: destination), source, destination)
    }
    return survey
  }
}
