#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
public import KVCloneModel
import KVCloneRecords

extension ObjectStore {
  /// Deep clone: copies objects and everything below them, by the rules of the model, in a write transaction of its own.
  ///
  /// What belongs to the clone is found without the write lock. Everything that can be wrong is found before the first
  /// byte is written (R1). A map that is too small grows before the clone, or after a first try, which is then repeated.
  ///
  /// - Returns: the clones of the roots, and what it took.
  /// - Throws: ``CloneError`` for what the plan refuses; ``ValidationError``; `busy`; `diskFull` and `mapFull`, before the
  ///   first byte where the plan shows it; and what else the file system has to say. Nothing was written then.
  @available(*, noasync, message: "use the asynchronous form")
  public func clone(_ roots: [ObjectID], options: CloneOptions = CloneOptions()) throws -> CloneResult {
    try runClone(roots, options, CloneCancellation())
  }

  /// Deep clone from asynchronous code, on a thread of the store's own. Cancelling the task ends it with `cancelled` and
  /// nothing written.
  public func clone(_ roots: [ObjectID], options: CloneOptions = CloneOptions()) async throws -> CloneResult {
    let cancellation = CloneCancellation()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        writerQueue.async {
          continuation.resume(with: Result { try self.runClone(roots, options, cancellation) })
        }
      }
    } onCancel: {
      cancellation.cancel()
    }
  }

  /// MOCloner's call (R27): clones one object and answers the clone. `saveBeforeReturn` has to be true here, where the
  /// clone is a transaction of its own; inside `write` use the transaction's `clone`.
  @available(*, noasync, message: "use the asynchronous form of clone(_:options:)")
  public func clone(
    object: ObjectID, excludedRelationshipNames: [String] = [], passingExclusionList: Bool = false,
    saveBeforeReturn: Bool = true, config: CloneUserInfoKeys = .standard
  ) throws -> ObjectID {
    guard saveBeforeReturn else {
      throw CloneError(
        .invalidConfiguration, "a clone that is not saved needs a write transaction to be part of; call it inside write"
      )
    }
    return try clone(
      [object],
      options: CloneOptions(
        excludedRelationshipNames: excludedRelationshipNames, passingExclusionList: passingExclusionList, config: config
      )
    ).root
  }

  /// The dry run (R36): what a clone would make, share and touch, which rule decides where, and everything that stands in
  /// the way. Writes nothing.
  public func planClone(_ roots: [ObjectID], options: CloneOptions = CloneOptions()) throws -> ClonePlan {
    let session = try readSession()
    return try session.planClone(roots, options)
  }

  private func runClone(_ roots: [ObjectID], _ options: CloneOptions, _ cancellation: CloneCancellation) throws
    -> CloneResult
  {
    try onceMoreIfMapFull { try tryToClone(roots, options, cancellation) }
  }

  private func tryToClone(_ roots: [ObjectID], _ options: CloneOptions, _ cancellation: CloneCancellation) throws
    -> CloneResult
  {
    let clock = ContinuousClock()
    let start = clock.now
    // The plan is made without the lock. If somebody committed before the lock was ours, it is made again; the last
    // time under the lock, so that busy writers cannot keep a clone waiting for ever.
    for attempt in 1...3 {
      let planned: PreparedClone?
      if attempt < 3 {
        let reader = try readSession()
        let commit = try reader.counter(MetadataKey.commitCounter)
        planned = PreparedClone(
          commit: commit, context: try reader.prepareClone(roots, options, cancellation))
      } else {
        planned = nil
      }
      // While no transaction of ours is open: the map can grow.
      if let byteCount = planned?.context.byteCount { try engine.makeRoom(for: byteCount) }
      var session = try writeSession(label: "clone")
      let context: CloneContext
      if let planned {
        // A writer who gave up meanwhile leaves the commit as it was, but not the serials.
        guard session.commit == planned.commit + 1, try session.hasFreeSerials(for: planned.context) else { continue }
        context = planned.context
      } else {
        context = try session.prepareClone(roots, options, cancellation)
      }
      let tally = try session.runClone(context)
      try commit(session)
      return context.result(roots, tally, clock.now - start)
    }
    throw CloneError(.cancelled, "the clone found no quiet moment")
  }

  private struct PreparedClone {
    let commit: UInt64
    let context: CloneContext
  }
}

extension CloneOptions {
  init(excludedRelationshipNames: [String], passingExclusionList: Bool, config: CloneUserInfoKeys) {
    self.init()
    self.excludedRelationshipNames = excludedRelationshipNames
    self.passingExclusionList = passingExclusionList
    userInfoKeys = config
  }
}

extension ObjectReading where Self: ~Copyable {
  /// The objects that a clone of `roots` would copy, by root entity and then serial.
  public borrowing func cloneSet(of roots: [ObjectID], options: CloneOptions = CloneOptions()) throws -> [ObjectID] {
    try _withSession { session in
      let book = CloneRuleBook(
        schema: session.schema, options: options, rootEntities: try session.rootEntities(roots))
      if let error = book.errors.first { throw error }
      let mark = try session.mark(roots, book, CloneCancellation())
      var ids: [ObjectID] = []
      mark.set.forEach { id in
        ids.append(id)
        return true
      }
      return ids
    }
  }
}

extension WriteTransaction {
  /// Deep clone as part of this transaction. Objects that were inserted or changed in it are cloned as they are now.
  ///
  /// - Throws: ``CloneError``; the transaction can only be given up then (R1).
  public mutating func clone(_ roots: [ObjectID], options: CloneOptions = CloneOptions()) throws -> CloneResult {
    if let failure = session.changes.failure { throw failure }
    let clock = ContinuousClock()
    let start = clock.now
    do {
      let context = try session.prepareClone(roots, options, CloneCancellation())
      let tally = try session.runClone(context)
      return context.result(roots, tally, clock.now - start)
    } catch {
      session.changes.fail(error)
      throw error
    }
  }

  /// MOCloner's call (R27), as part of this transaction; `saveBeforeReturn` is then the transaction's own commit.
  public mutating func clone(
    object: ObjectID, excludedRelationshipNames: [String] = [], passingExclusionList: Bool = false,
    saveBeforeReturn: Bool = true, config: CloneUserInfoKeys = .standard
  ) throws -> ObjectID {
    try clone(
      [object],
      options: CloneOptions(
        excludedRelationshipNames: excludedRelationshipNames, passingExclusionList: passingExclusionList, config: config
      )
    ).root
  }
}
