import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The clone set C: which objects a clone copies, found breadth first (R2, R3), one bit an object.
struct CloneMark {
  var set: CloneSet
  /// The roots, each once, in the caller's order.
  var roots: [ObjectID] = []
  var rootSet: Set<ObjectID> = []
  /// Where children whose attributes follow a parent were discovered from.
  var parents = DiscoveryParents()
  var count = 0
  /// What the caller's hook said of edges, where it is not what the rules say (R30).
  var answers: [Edge: CloneRuleBook.Disposition] = [:]

  /// One link, seen from one of its ends.
  struct Edge: Hashable {
    let parent: ObjectID
    let code: UInt16
    let target: ObjectID
  }

  init(smallLimit: Int) {
    set = CloneSet(smallLimit: smallLimit)
  }

  /// Whether an object is one of the roots, of which there is one as a rule.
  @inline(__always)
  func isRoot(_ id: ObjectID) -> Bool { roots.count == 1 ? roots[0] == id : rootSet.contains(id) }

  /// What is done with an edge of a source: the hook's answer, else the rules'.
  func disposition(
    _ step: CloneRuleBook.RelationshipPlan, _ parent: ObjectID, _ target: ObjectID
  ) -> CloneRuleBook.Disposition {
    if !answers.isEmpty,
      let answer = answers[Edge(parent: parent, code: step.relationship.code, target: target)]
    {
      return answer
    }
    return (isRoot(parent) ? step.rootDecision : step.decision).disposition
  }
}

extension Session {
  /// Finds the clone set of `roots`.
  ///
  /// - Parameter smallLimit: how many objects a small clone has; 0 for none.
  /// - Throws: `CloneError`: `objectNotFound`, `limitExceeded`, `cancelled`; `StoreError` for damage.
  borrowing func mark(
    _ roots: [ObjectID], _ book: CloneRuleBook, _ cancellation: CloneMonitor, smallLimit: Int = 0
  ) throws -> CloneMark {
    var marker = CloneMarker(book: book, cancellation: cancellation, smallLimit: smallLimit)
    try cancellation.check(.mark, 0, of: nil)
    for root in roots where marker.mark.rootSet.insert(root).inserted {
      marker.mark.roots.append(root)
      try marker.discover(root, isVisited: true)
    }
    while try marker.nextLevel() {
      var position = 0
      var announced = 0
      while position < marker.level.count {
        if position >= announced { announced = announce(marker.level, from: position) }
        let id = ObjectID(rawValue: marker.level[position] & ~CloneMarker.listBit)
        if marker.level[position] & CloneMarker.listBit == 0 {
          try visit(id, &marker)
        } else {
          position += 1
          try visitMembers(of: id, Int(marker.level[position]), &marker)
        }
        position += 1
      }
    }
    marker.mark.parents.finish()
    marker.mark.set.finish()
    return marker.mark
  }

  /// Announces the next objects of a level, and returns the position after them.
  private borrowing func announce(_ level: [UInt64], from start: Int) -> Int {
    let window = prefetchWindow()
    guard window > 1 else { return .max }
    var ids: [ObjectID] = []
    var position = start
    while position < level.count, ids.count < window {
      ids.append(ObjectID(rawValue: level[position] & ~CloneMarker.listBit))
      position += level[position] & CloneMarker.listBit == 0 ? 1 : 2
    }
    prefetch(ids[...])
    return position
  }

  /// Announces the next objects of one root entity, and returns the first serial after them.
  borrowing func announce(_ set: CloneMembers, from start: UInt64) -> UInt64 {
    let window = prefetchWindow(isAscending: true)
    guard window > 1 else { return .max }
    var ids: [ObjectID] = []
    var place = 0
    var serial = set.next(from: start, &place)
    while let current = serial, ids.count < window {
      ids.append(ObjectID(rootCode: set.rootCode, serial: current))
      serial = set.next(from: current + 1, &place)
    }
    prefetch(ids[...])
    return serial ?? .max
  }

  /// Discovers what the edges of an object lead to.
  private borrowing func visit(_ id: ObjectID, _ marker: inout CloneMarker) throws {
    guard marker.mark.set.visit(id) else { return }
    let view = try existingRecord(id)
    let entity = try schema.entity(of: view, id: id)
    guard let plan = marker.book.plan(entity.code) else { throw schema.corrupted(id, .wrongLayout) }
    let isRoot = marker.mark.isRoot(id)
    for (index, step) in plan.relationships.enumerated() {
      let decision = isRoot ? step.rootDecision : step.decision
      let isAsked = decision.disposition != .exclude && marker.hasHook
      guard isAsked || decision.disposition == .follow else { continue }
      // A long list waits as one entry, and not as its members (R26).
      let isWide = step.targetsAreVisited && Self.isWide(step, in: view, entity)
      if isWide { marker.wait(forMembersOf: id, index) }
      var failure: (any Error)?
      if !isAsked, step.relationship.isToMany, !step.targetsNeedParents {
        try forEachMemberRun(id, step.relationship, in: view, entity) { (targets) throws(StoreError) in
          do {
            try marker.discover(targets, isVisited: step.targetsAreVisited && !isWide)
          } catch {
            failure = error
          }
          return failure == nil
        }
        if let failure { throw failure }
        continue
      }
      try forEachMember(id, step.relationship, in: view, entity) { (target) throws(StoreError) in
        do {
          if isAsked, try ask(step, id, target, decision.disposition, &marker) != .follow { return true }
          let isNew = try marker.discover(target, isVisited: step.targetsAreVisited && !isWide)
          if isNew, step.targetsNeedParents { marker.mark.parents.note(target, parent: id, step.relationship) }
        } catch {
          failure = error
        }
        return failure == nil
      }
      if let failure { throw failure }
    }
  }

  private static func isWide(
    _ step: CloneRuleBook.RelationshipPlan, in view: borrowing RecordView, _ entity: CompiledEntity
  ) -> Bool {
    guard step.relationship.isToMany,
      let field = entity.field(step.relationship.field, code: step.relationship.code, in: view)
    else { return false }
    return view.head(field).count > CloneMarker.wideCount
  }

  /// Visits the members of a long list. Those that it did not discover itself were visited before: whoever discovered them
  /// waited before it.
  private borrowing func visitMembers(of owner: ObjectID, _ index: Int, _ marker: inout CloneMarker) throws {
    let view = try existingRecord(owner)
    let entity = try schema.entity(of: view, id: owner)
    guard let plan = marker.book.plan(entity.code) else { throw schema.corrupted(owner, .wrongLayout) }
    let step = plan.relationships[index]
    var failure: (any Error)?
    try forEachMember(owner, step.relationship, in: view, entity) { (target) throws(StoreError) in
      do {
        if marker.mark.disposition(step, owner, target) == .follow { try visit(target, &marker) }
      } catch {
        failure = error
      }
      return failure == nil
    }
    if let failure { throw failure }
  }
}

extension Session {
  /// Asks the caller's hook about an edge (R30), and remembers an answer that changes something.
  private borrowing func ask(
    _ step: CloneRuleBook.RelationshipPlan, _ parent: ObjectID, _ target: ObjectID,
    _ disposition: CloneRuleBook.Disposition, _ marker: inout CloneMarker
  ) throws -> CloneRuleBook.Disposition {
    guard let willClone = marker.book.options.willClone else { return disposition }
    try marker.countQuestion()
    let edge = CloneEdge(
      source: target, relationship: step.relationship.name, parent: parent,
      rule: disposition == .follow ? .follow : .reference)
    let answer = try CloneSource.lend(self) { source in try willClone(edge, source) }.disposition
    if answer != disposition {
      marker.mark.answers[CloneMark.Edge(parent: parent, code: step.relationship.code, target: target)] = answer
    }
    return answer
  }
}

/// The state of a traversal: a level of the breadth-first order, and the one that it discovers. No recursion, so the
/// depth of a graph costs no stack.
struct CloneMarker {
  /// A list with more members waits as one entry.
  static let wideCount = 1024

  /// Marks an entry of the queue that is a list: its owner, and in the next entry which relationship. Root codes have 15
  /// bits.
  static let listBit: UInt64 = 1 << 63

  let book: CloneRuleBook
  let cancellation: CloneMonitor
  var mark: CloneMark
  /// What waits to be visited, 8 bytes an object.
  private(set) var level: [UInt64] = []
  private var next: [UInt64] = []
  /// The depth of objects that are being discovered.
  private var depth = 0
  private let hasLimits: Bool
  /// Whether the caller wants to be asked about edges (R30).
  let hasHook: Bool
  /// How often the caller's hook was asked.
  private var questionCount = 0

  init(book: CloneRuleBook, cancellation: CloneMonitor, smallLimit: Int) {
    mark = CloneMark(smallLimit: smallLimit)
    self.book = book
    self.cancellation = cancellation
    hasHook = book.options.willClone != nil
    hasLimits = book.options.maxDepth != nil || book.options.maxObjects != nil
  }

  /// Notes an object; whether it is new. It waits to be visited where it may have edges to follow.
  @discardableResult
  @inline(__always)
  mutating func discover(_ id: ObjectID, isVisited: Bool) throws -> Bool {
    // The bytes of a damaged file may name anything, and this bit has a meaning in the queue.
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

  /// Notes many objects.
  mutating func discover(_ targets: ObjectIDList, isVisited: Bool) throws {
    for index in 0..<targets.count { try discover(targets[index], isVisited: isVisited) }
  }

  /// Lets the members of a list wait.
  mutating func wait(forMembersOf owner: ObjectID, _ relationship: Int) {
    next.append(owner.rawValue | Self.listBit)
    next.append(UInt64(relationship))
  }

  /// Edges that lead to nothing new take time, too, where somebody is asked about them.
  mutating func countQuestion() throws(CloneError) {
    questionCount += 1
    if questionCount & 1023 == 0 { try cancellation.check(.mark, mark.count, of: nil) }
  }

  /// Turns to what was discovered last; whether there is anything.
  mutating func nextLevel() throws(CloneError) -> Bool {
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
}
