import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The state of a traversal: the current level of the breadth-first order, and the next one. Not recursive, so the
/// depth of a graph needs no stack.
struct CloneMarker {
  /// A list with more members is queued as one entry.
  private static let wideCount = 1024

  /// Marks an entry of the queue as a list: its owner, and in the next entry the relationship. Root codes have 15 bits.
  private static let listBit: UInt64 = 1 << 63

  private let book: CloneRuleBook
  private let cancellation: CloneMonitor
  private var mark: CloneMark
  /// The queue, 8 bytes an object.
  private var level: [UInt64] = []
  private var next: [UInt64] = []
  /// The depth of the objects that are being discovered.
  private var depth = 0
  private let hasLimits: Bool
  /// Whether the caller has a hook for edges (R30).
  private let hasHook: Bool
  /// The number of calls of the hook.
  private var questionCount = 0
  /// Collects a part of the tree of the discovery; nil for a clone.
  private let recorder: CloneTreeRecorder?

  private init(book: CloneRuleBook, cancellation: CloneMonitor, smallLimit: Int, recorder: CloneTreeRecorder?) {
    mark = CloneMark(smallLimit: smallLimit)
    self.recorder = recorder
    self.book = book
    self.cancellation = cancellation
    hasHook = book.options.willClone != nil
    hasLimits = book.options.maxDepth != nil || book.options.maxObjects != nil
  }

  /// Records an object; returns whether it is new. It is queued if it may have edges to follow.
  @discardableResult
  @inline(__always)
  private mutating func discover(_ id: ObjectID, isVisited: Bool) throws -> Bool {
    // Corrupted bytes may contain any id, and this bit has a meaning in the queue.
    if id.rawValue & Self.listBit != 0 { throw book.schema.notFound(id) }
    guard mark.set.insert(id) else { return false }
    mark.count &+= 1
    if hasLimits || mark.count & 1023 == 0 { try checkLimits(id) }
    if isVisited { next.append(id.rawValue) }
    return true
  }

  @inline(never)
  private func checkLimits(_ id: ObjectID) throws(CloneError) {
    if let most = book.options.maxDepth, depth > most {
      throw limit("depth \(most)", id)
    }
    if let most = book.options.maxObjects, mark.count > most / max(1, book.options.count) {
      throw limit("\(most) objects", id)
    }
    if mark.count & 1023 == 0 { try cancellation.check(.mark, mark.count, of: nil) }
  }

  /// Records many objects.
  private mutating func discover(_ targets: ObjectIDList, isVisited: Bool) throws {
    for index in 0..<targets.count { try discover(targets[index], isVisited: isVisited) }
  }

  /// Queues the members of a list.
  private mutating func wait(forMembersOf owner: ObjectID, _ relationship: Int) {
    next.append(owner.rawValue | Self.listBit)
    next.append(UInt64(relationship))
  }

  /// Counts a call of the hook, because edges to known objects take time, too, if there is one.
  private mutating func countQuestion() throws(CloneError) {
    questionCount += 1
    if questionCount & 1023 == 0 { try cancellation.check(.mark, mark.count, of: nil) }
  }

  /// Moves to the next level; returns whether there is one.
  private mutating func nextLevel() throws(CloneError) -> Bool {
    swap(&level, &next)
    next.removeAll(keepingCapacity: true)
    depth += 1
    return !level.isEmpty
  }

  private func limit(_ what: String, _ id: ObjectID) -> CloneError {
    CloneError(
      .limitExceeded,
      "the clone would exceed its limit of \(what) at \(book.schema.rootName(of: id)) (R29); raise the "
        + "limit or exclude relationships", object: book.schema.rootName(of: id))
  }

  /// Finds the clone set of `roots`.
  ///
  /// - Parameter smallLimit: the maximum size of a small clone; 0 for none.
  /// - Throws: `CloneError`: `objectNotFound`, `limitExceeded`, `cancelled`; `StoreError` for corruption.
  static func mark(
    _ roots: [ObjectID], _ book: CloneRuleBook, _ cancellation: CloneMonitor, smallLimit: Int = 0,
    recorder: CloneTreeRecorder? = nil, in session: borrowing Session
  ) throws -> CloneMark {
    var marker = CloneMarker(book: book, cancellation: cancellation, smallLimit: smallLimit, recorder: recorder)
    try cancellation.check(.mark, 0, of: nil)
    for root in roots where marker.mark.rootSet.insert(root).inserted {
      marker.mark.roots.append(root)
      try marker.discover(root, isVisited: true)
      recorder?.note(root, isNew: true, order: marker.mark.count - 1, depth: 0)
    }
    while try marker.nextLevel() { try marker.visitLevel(session) }
    marker.mark.parents.finish()
    marker.mark.set.finish()
    return marker.mark
  }

  private mutating func visitLevel(_ session: borrowing Session) throws {
    var position = 0
    while position < level.count {
      position = try session.readScope { () throws -> Int in
        var position = position
        let end = announce(from: position, session)
        while position < level.count, position < end {
          let id = ObjectID(rawValue: level[position] & ~Self.listBit)
          if level[position] & Self.listBit == 0 {
            try visit(id, session)
          } else {
            position += 1
            try visitMembers(of: id, Int(level[position]), session)
          }
          position += 1
        }
        return position
      }
    }
  }

  /// Announces the next objects of the level, and returns the position to announce from next.
  private func announce(from start: Int, _ session: borrowing Session) -> Int {
    let window = session.prefetchWindow()
    guard window > 1 else { return start + 1024 }
    var ids: [ObjectID] = []
    var position = start
    while position < level.count, ids.count < window {
      ids.append(ObjectID(rawValue: level[position] & ~Self.listBit))
      position += level[position] & Self.listBit == 0 ? 1 : 2
    }
    session.prefetch(ids[...])
    return position
  }

  /// Discovers the targets of an object's edges.
  private mutating func visit(_ id: ObjectID, _ session: borrowing Session) throws {
    guard mark.set.visit(id) else { return }
    let view = try session.existingRecord(id)
    let entity = try session.schema.entity(of: view, id: id)
    guard let plan = book.plan(entity.code) else { throw book.schema.corrupted(id, .wrongLayout) }
    let isRoot = mark.isRoot(id)
    let isRecorded = recorder?.begin(id) ?? false
    for (index, step) in plan.relationships.enumerated() {
      let decision = isRoot ? step.rootDecision : step.decision
      if isRecorded { try recorder?.beginEdge(index, step, decision, of: id, in: view, entity, session) }
      let isAsked = decision.disposition != .exclude && hasHook
      guard isAsked || decision.disposition == .follow else { continue }
      // A long list is queued as one entry instead of its members (R26).
      let isVisited = step.targetsAreVisited || recorder != nil
      let isWide = isVisited && Self.isWide(step, in: view, entity)
      if isWide { wait(forMembersOf: id, index) }
      var failure: (any Error)?
      if !isAsked, recorder == nil, step.relationship.isToMany, !step.targetsNeedParents {
        try session.forEachMemberRun(id, step.relationship, in: view, entity) { (targets) throws(StoreError) in
          do {
            try discover(targets, isVisited: isVisited && !isWide)
          } catch {
            failure = error
          }
          return failure == nil
        }
        if let failure { throw failure }
        continue
      }
      try session.forEachMember(id, step.relationship, in: view, entity) { (target) throws(StoreError) in
        do {
          if isAsked, try ask(step, id, target, decision.disposition, session) != .follow { return true }
          let isNew = try discover(target, isVisited: isVisited && !isWide)
          recorder?.note(target, isNew: isNew, order: mark.count - 1, depth: depth)
          if isNew, step.targetsNeedParents { mark.parents.note(target, parent: id, step.relationship) }
        } catch {
          failure = error
        }
        return failure == nil
      }
      if let failure { throw failure }
    }
    try recorder?.end()
  }

  private static func isWide(
    _ step: CloneRuleBook.RelationshipPlan, in view: borrowing RecordView, _ entity: CompiledEntity
  ) -> Bool {
    guard step.relationship.isToMany,
      let field = entity.field(step.relationship.field, code: step.relationship.code, in: view)
    else { return false }
    return view.head(field).count > wideCount
  }

  /// Visits the members of a long list. Those that it did not discover itself were visited before: they were discovered
  /// by an earlier entry of the queue.
  private mutating func visitMembers(of owner: ObjectID, _ index: Int, _ session: borrowing Session) throws {
    let view = try session.existingRecord(owner)
    let entity = try session.schema.entity(of: view, id: owner)
    guard let plan = book.plan(entity.code) else { throw book.schema.corrupted(owner, .wrongLayout) }
    let step = plan.relationships[index]
    var failure: (any Error)?
    try session.forEachMember(owner, step.relationship, in: view, entity) { (target) throws(StoreError) in
      do {
        if mark.disposition(step, owner, target) == .follow { try visit(target, session) }
      } catch {
        failure = error
      }
      return failure == nil
    }
    if let failure { throw failure }
  }

  /// Calls the caller's hook for an edge (R30), and records an answer that differs from the rules.
  private mutating func ask(
    _ step: CloneRuleBook.RelationshipPlan, _ parent: ObjectID, _ target: ObjectID,
    _ disposition: CloneRuleBook.Disposition, _ session: borrowing Session
  ) throws -> CloneRuleBook.Disposition {
    guard let willClone = book.options.willClone else { return disposition }
    try countQuestion()
    let edge = CloneEdge(
      source: target, relationship: step.relationship.name, parent: parent,
      rule: disposition == .follow ? .follow : .reference)
    let answer = try CloneSource.lend(session) { source in try willClone(edge, source) }.disposition
    if answer != disposition {
      mark.answers[CloneMark.Edge(parent: parent, code: step.relationship.code, target: target)] = answer
    }
    return answer
  }
}
