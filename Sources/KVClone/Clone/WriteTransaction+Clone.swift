public import KVCloneModel
import KVCloneRecords

extension WriteTransaction {
  /// Deep clone as part of this transaction. Objects that were inserted or changed in it are cloned as they are now.
  ///
  /// - Throws: ``CloneError``; the transaction can only be given up then (R1).
  public mutating func clone(_ roots: [ObjectID], options: CloneOptions = CloneOptions()) throws -> CloneResult {
    if let failure = session.changes.failure { throw failure }
    let start = ContinuousClock.now
    do {
      let key = try CloneKey(roots, options)
      if let key, let known = try session.result(of: key) { return known }
      let context = try session.prepareClone(roots, options, CloneCancellation(progress: options.progress))
      return try runClone(context, roots, key, start)
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

  /// Everything that a clone writes: the clones, what they come from, what the caller's hook adds, and what a repetition
  /// of the call will answer.
  mutating func runClone(
    _ context: CloneContext, _ roots: [ObjectID], _ key: CloneKey?, _ start: ContinuousClock.Instant
  ) throws -> CloneResult {
    let options = context.book.options
    // What this transaction has changed is in no commit yet but its own.
    let sourceCommit = session.changes.isEmpty ? session.commit - 1 : session.commit
    var tally = try session.runClone(context)
    if options.recordsProvenance {
      try session.noteProvenance(context, sourceCommit: sourceCommit)
      tally.bytesWritten += UInt64(tally.objects) * CloneTally.provenanceBytes
    }
    if let didClone = options.didClone {
      try context.forEachClone { source, clone in try didClone(&self, source, clone) }
      if let failure = session.changes.failure { throw failure }
    }
    let result = context.result(roots, tally, ContinuousClock.now - start)
    if let key { try session.note(result, key) }
    return result
  }
}

extension CloneContext {
  /// How many objects the operation makes, all copies together.
  var objectCount: Int { mark.count * book.options.count }

  /// Every source with its clones: sources by ascending id, copies in the order that they were made.
  func forEachClone(_ body: (_ source: ObjectID, _ clone: ObjectID) throws -> Void) throws {
    for rootCode in schema.rootCodes {
      guard let set = mark.set.set(rootCode: rootCode) else { continue }
      var next = set.next(from: 0)
      var done = 0
      while let serial = next {
        let source = ObjectID(rootCode: rootCode, serial: serial)
        for copy in 0..<book.options.count {
          guard let clone = cloneID(of: source, copy: copy) else { throw schema.notFound(source) }
          try body(source, clone)
        }
        next = set.next(from: serial + 1)
        done += 1
        if done & 1023 == 0 { try cancellation.check() }
      }
    }
  }

  /// The clone's id of a source in one of the copies.
  func cloneID(of id: ObjectID, copy: Int) -> ObjectID? {
    ids.clone(of: id, copy: copy)
  }
}
