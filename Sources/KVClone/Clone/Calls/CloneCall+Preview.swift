package import KVCloneCore
import Synchronization

/// The plan of a clone, with a part of the tree of its objects, for a page that waits for a limited time.
package struct ClonePreview: Sendable {
  /// Nil if the deadline came first.
  package internal(set) var plan: ClonePlan?
  /// Empty for a clone with invalid rules, and for a repeated one.
  package internal(set) var tree = CloneTree()
  /// The links that outside objects gain: those of ``ClonePlan/affectedObjectIDs``.
  package internal(set) var gains: [CloneTree.Gain] = []
  /// The number of objects that were found before the deadline, if it came first.
  package internal(set) var foundCount = 0
  /// Whether only writing shows if the clone fits into the file and onto the disk. `planClone` tests that under the
  /// write lock; a preview does not.
  package internal(set) var isNearLimit = false
}

extension ClonePreview {
  /// Returns the plan of a clone, and a part of the tree of its objects, of one state of the store. It takes no lock.
  ///
  /// - Parameters:
  ///   - snapshot: the state to clone from; nil for the present one.
  ///   - deadline: the end of the planning; the result is then incomplete.
  /// - Throws: `objectNotFound` if a root does not exist; ``StoreError`` if the store cannot be read. Errors of the
  ///   clone itself are in ``ClonePlan/errors``.
  package static func of(
    _ roots: [ObjectID], in store: ObjectStore, from snapshot: Snapshot?, options: CloneOptions,
    window: CloneTree.Window, deadline: ContinuousClock.Instant
  ) throws -> ClonePreview {
    try CloneCall(roots, options, from: snapshot.map { .snapshot($0) } ?? .transaction, to: store)
      .preview(window, deadline)
  }
}

extension CloneResult {
  /// Returns the result of the clone that used an idempotency key (R31); nil if the key is unknown or expired.
  package static func stored(for key: String, in store: ObjectStore) throws -> CloneResult? {
    try CloneKey.result(of: key, in: store.readSession())
  }
}

extension CloneCall {
  fileprivate func preview(_ window: CloneTree.Window, _ deadline: ContinuousClock.Instant) throws -> ClonePreview {
    try origin.check(destination)
    let found = Mutex(0)
    let monitor = CloneMonitor(deadline: deadline) { progress in
      found.withLock { $0 = max($0, progress.total ?? progress.completed) }
    }
    let reader = try origin.beginReading()
    let session = try destination.readSession()
    var preview = ClonePreview()
    if let key = try origin.key(roots, options, in: destination.engine), try key.result(in: session) != nil {
      preview.plan = CloneSurvey(repeatedIn: destination.schema).plan
      return preview
    }
    if let reader {
      try plan(window, monitor, reader.session, session, &preview)
    } else {
      try plan(window, monitor, session, session, &preview)
    }
    if let plan = preview.plan { preview.plan?.estimatedLockDuration = pace.lockDuration(of: plan) }
    preview.foundCount = found.withLock { $0 }
    return preview
  }

  private func plan(
    _ window: CloneTree.Window, _ monitor: CloneMonitor, _ source: borrowing Session, _ destination: borrowing Session,
    _ preview: inout ClonePreview
  ) throws {
    let book = try origin.book(roots, options, in: source)
    var survey = CloneSurvey(book)
    if survey.errorCount == 0 {
      preview.tree = try CloneTreeRecorder.tree(window, roots, book, monitor, in: source)
    }
    try survey.find { survey in
      let scope = try origin.scope(roots, book, monitor, destination.schema, in: source)
      let context = try scope.context(in: destination)
      try preview.tree.resolve(context, source, destination)
      try survey.check(context, source, destination)
      preview.gains = try context.gains(of: survey.tally.firstTouched, source, destination)
    }
    preview.isNearLimit = survey.isNearLimit
    if survey.errors.contains(where: { $0.kind == .cancelled }) {
      guard monitor.isOver else { return try monitor.check() }
    } else {
      preview.plan = survey.plan
    }
  }
}
