import KVCloneCore
import KVCloneModel

/// The clone set C: the objects that a clone copies, found breadth first (R2, R3), one bit an object.
struct CloneMark {
  var set: CloneSet
  /// The roots, each once, in the caller's order.
  var roots: [ObjectID] = []
  var rootSet: Set<ObjectID> = []
  /// The discovery parents of children with attributes that follow a parent.
  var parents = DiscoveryParents()
  var count = 0
  /// The answers of the caller's hook that differ from the rules (R30).
  var answers: [Edge: CloneRuleBook.Disposition] = [:]

  /// A link, seen from one of its ends.
  struct Edge: Hashable {
    let parent: ObjectID
    let code: UInt16
    let target: ObjectID
  }

  init(smallLimit: Int) {
    set = CloneSet(smallLimit: smallLimit)
  }

  /// Whether an object is a root; usually there is a single one.
  @inline(__always)
  func isRoot(_ id: ObjectID) -> Bool { roots.count == 1 ? roots[0] == id : rootSet.contains(id) }

  /// The treatment of a source's edge: the hook's answer, else the rules'.
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
