import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Collects a part of the tree of a traversal, and ends the traversal when it is complete.
final class CloneTreeRecorder {
  /// Ends the traversal.
  struct Complete: Error {}

  private let window: CloneTree.Window
  private let top: ObjectID
  private(set) var tree = CloneTree()
  /// The nodes that were discovered and not visited.
  private var waiting: [ObjectID: Int] = [:]
  /// The node that is visited; nil for an object outside of the part.
  private var current: Int?
  private var linkCount = 0
  private var topDepth = 0
  /// Whether the links of the relationship are recorded.
  private var isListing = false
  /// Whether the member before the list was reached.
  private var isAfter = false
  /// Whether the members are in the order of their ids.
  private var isSorted = false

  init(_ window: CloneTree.Window, root: ObjectID) {
    self.window = window
    top = window.top ?? root
  }

  /// Collects the tree of a clone with rules without errors.
  ///
  /// A limit of the clone or the deadline can end it early: the part that was reached is the result.
  static func tree(
    _ window: CloneTree.Window, _ roots: [ObjectID], _ book: CloneRuleBook, _ monitor: CloneMonitor,
    in session: borrowing Session
  ) throws -> CloneTree {
    let recorder = CloneTreeRecorder(window, root: roots[0])
    do {
      _ = try CloneMarker.mark(
        roots, book, monitor, smallLimit: book.options.smallLimit, recorder: recorder, in: session)
    } catch is Complete {
    } catch let error as CloneError where error.kind == .limitExceeded {
    } catch let error as CloneError where error.kind == .cancelled && monitor.isOver {
      recorder.tree.isStopped = true
    }
    try recorder.tree.nameEntities(in: session)
    return recorder.tree
  }

  /// Records that the traversal begins to visit an object; returns whether it is a node of the part.
  func begin(_ id: ObjectID) -> Bool {
    isListing = false
    current = waiting.removeValue(forKey: id)
    if let current { tree.nodes[current].isExpanded = true }
    return current != nil
  }

  /// Records a relationship of the visited node. The traversal records the links of one that is followed.
  func beginEdge(
    _ index: Int, _ step: CloneRuleBook.RelationshipPlan, _ decision: CloneRuleBook.Decision, of id: ObjectID,
    in view: borrowing RecordView, _ entity: CompiledEntity, _ session: borrowing Session
  ) throws(StoreError) {
    guard let current else { return }
    isListing = id != top || window.relationship == nil || window.relationship == step.relationship.name
    if !isListing { return }
    isAfter = id != top || window.after == nil
    isSorted = !step.relationship.isOrdered
    tree.nodes[current].edges.append(
      CloneTree.Edge(
        relationship: step.relationship.name, isToMany: step.relationship.isToMany,
        action: decision.disposition.action, rule: decision.reason,
        count: session.count(id, step.relationship, in: view, entity), step: index))
    if decision.disposition == .follow { return }
    try session.forEachMember(id, step.relationship, in: view, entity) { (target) throws(StoreError) in
      if isListed(target) { append(target, node: nil) }
      return tree.nodes[current].edges.last?.isCut == false
    }
  }

  /// Records a link that the traversal follows.
  ///
  /// - Parameters:
  ///   - order: the number of objects that were discovered before, if it is new.
  ///   - depth: of an object that is new.
  func note(_ target: ObjectID, isNew: Bool, order: Int, depth: Int) {
    if isNew, target == top {
      topDepth = depth
      return addNode(target, order, depth)
    }
    guard let current, isListing, let edge = tree.nodes[current].edges.last, isFollowed(edge), !edge.isCut,
      isListed(target)
    else { return }
    guard isNew else { return append(target, node: nil) }
    if tree.nodes.count >= window.nodeLimit || edge.links.count >= memberLimit(current) {
      tree.nodes[current].edges[tree.nodes[current].edges.count - 1].isCut = true
      return
    }
    append(target, node: tree.nodes.count)
    addNode(target, order, depth)
  }

  /// Records the end of a visit.
  func end() throws(Complete) {
    current = nil
    if !tree.nodes.isEmpty, waiting.isEmpty { throw Complete() }
  }

  private func isFollowed(_ edge: CloneTree.Edge) -> Bool { edge.action == .follow }

  private func addNode(_ id: ObjectID, _ order: Int, _ depth: Int) {
    if depth - topDepth < window.depthLimit { waiting[id] = tree.nodes.count }
    tree.nodes.append(CloneTree.Node(object: id, order: order, depth: depth))
  }

  private func memberLimit(_ node: Int) -> Int {
    window.relationship != nil && node == 0 ? window.nodeLimit : window.memberLimit
  }

  /// Whether a member is not before the list.
  private func isListed(_ target: ObjectID) -> Bool {
    // In a sorted list, the member before may have been removed since.
    if !isAfter, isSorted, let after = window.after, target > after { isAfter = true }
    if isAfter { return true }
    isAfter = target == window.after
    if let current { tree.nodes[current].edges[tree.nodes[current].edges.count - 1].skippedCount += 1 }
    return false
  }

  /// Appends a link to the last relationship of the visited node.
  private func append(_ target: ObjectID, node: Int?) {
    guard let current else { return }
    let last = tree.nodes[current].edges.count - 1
    let edge = tree.nodes[current].edges[last]
    if node == nil {
      if linkCount >= window.linkLimit || edge.links.count >= memberLimit(current) {
        tree.nodes[current].edges[last].isCut = true
        return
      }
      linkCount += 1
    }
    let outcome: CloneTree.Link.Outcome = node != nil ? .cloned : isFollowed(edge) ? .repeated : .unknown
    tree.nodes[current].edges[last].links.append(CloneTree.Link(target: target, outcome: outcome, node: node))
  }
}
