import KVCloneModel
import KVCloneRecords

/// The clone set C: which objects a clone copies, found breadth first (R2, R3), one bit an object.
struct CloneMark {
  var set = ObjectSet()
  /// The roots, each once, in the caller's order.
  var roots: [ObjectID] = []
  var rootSet: Set<ObjectID> = []
  /// (child, discovery parent) in the order of discovery, for children whose attributes follow a parent.
  var parents: [(child: ObjectID, parent: ObjectID)] = []
  var count = 0
}

extension Session {
  /// Finds the clone set of `roots`.
  ///
  /// - Throws: `CloneError`: `objectNotFound`, `limitExceeded`, `cancelled`; `StoreError` for damage.
  borrowing func mark(_ roots: [ObjectID], _ book: CloneRuleBook, _ cancellation: CloneCancellation) throws -> CloneMark
  {
    var marker = CloneMarker(book: book, cancellation: cancellation)
    for root in roots where marker.mark.rootSet.insert(root).inserted {
      marker.mark.roots.append(root)
      try marker.discover(root, isVisited: true)
    }
    while try marker.nextLevel() {
      for id in marker.level { try visit(id, &marker) }
    }
    return marker.mark
  }

  private borrowing func visit(_ id: ObjectID, _ marker: inout CloneMarker) throws {
    let view = try existingRecord(id)
    let entity = try schema.entity(of: view, id: id)
    guard let plan = marker.book.plan(entity.code) else { throw schema.damaged(id, .wrongLayout) }
    let isRoot = marker.mark.rootSet.contains(id)
    for step in plan.relationships {
      let decision = isRoot ? step.rootDecision : step.decision
      guard decision.disposition == .follow else { continue }
      var failure: (any Error)?
      try forEachMember(id, step.relationship, in: view, entity) { (target) throws(StoreError) in
        do {
          let isNew = try marker.discover(target, isVisited: step.targetsAreVisited)
          if isNew, step.targetsNeedParents { marker.mark.parents.append((target, id)) }
        } catch {
          failure = error
        }
        return failure == nil
      }
      if let failure { throw failure }
    }
  }
}

/// The state of a traversal: a level of the breadth-first order, and the one that it discovers. No recursion, so the
/// depth of a graph costs no stack.
struct CloneMarker {
  let book: CloneRuleBook
  let cancellation: CloneCancellation
  var mark = CloneMark()
  private(set) var level: [ObjectID] = []
  private var next: [ObjectID] = []
  /// The depth of objects that are being discovered.
  private var depth = 0

  init(book: CloneRuleBook, cancellation: CloneCancellation) {
    self.book = book
    self.cancellation = cancellation
  }

  /// Notes an object; whether it is new. It waits to be visited where it may have edges to follow.
  @discardableResult
  mutating func discover(_ id: ObjectID, isVisited: Bool) throws(CloneError) -> Bool {
    guard mark.set.insert(id) else { return false }
    mark.count += 1
    if let most = book.options.maxDepth, depth > most {
      throw limit("depth \(most)", id)
    }
    if let most = book.options.maxObjects, mark.count > most {
      throw limit("\(most) objects", id)
    }
    if mark.count & 1023 == 0 { try cancellation.check() }
    if isVisited { next.append(id) }
    return true
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
      "the clone would exceed its limit of \(what) (R29), at \(book.schema.rootName(of: id)); raise the "
        + "limit or exclude relationships", object: book.schema.rootName(of: id))
  }
}
