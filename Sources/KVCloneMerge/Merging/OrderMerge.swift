/// The order of a list's members in the result of a merge (M2).
///
/// Members that both bases, both sides and the result have keep the order of the side that changed it. All others are
/// new: each is placed behind the nearest of those members that it is behind on its side, ours before theirs.
package struct OrderMerge<Member: Hashable & Comparable> {
  private let result: Set<Member>
  private let ours: [Member]
  private let theirs: [Member]
  /// The members that keep an order, in that of ours and of theirs.
  private let kept: (ours: [Member], theirs: [Member])
  private let isChanged: (ours: Bool, theirs: Bool)

  /// - Parameters:
  ///   - oursBase: The list of ours at the fork.
  ///   - ours: The present list of ours; empty for an object that ours does not have.
  ///   - theirsBase: The list of theirs at the fork: that of ours, except for drafts.
  ///   - theirs: The present list of theirs.
  ///   - result: The members of the merged list.
  package init(
    oursBase: [Member], ours: [Member], theirsBase: [Member], theirs: [Member], result: Set<Member>
  ) {
    self.result = result
    self.ours = ours
    self.theirs = theirs
    let common = result.intersection(oursBase).intersection(theirsBase).intersection(ours).intersection(theirs)
    func order(_ list: [Member]) -> [Member] {
      var waiting = common
      return list.filter { waiting.remove($0) != nil }
    }
    kept = (order(ours), order(theirs))
    isChanged = (order(oursBase) != kept.ours, order(theirsBase) != kept.theirs)
  }

  /// Whether both sides changed the order differently.
  package var isConflict: Bool { isChanged.ours && isChanged.theirs && kept.ours != kept.theirs }

  /// The merged list of a merge without a conflict.
  package var merged: [Member] { merged(.ours) }

  /// Returns the merged list.
  ///
  /// - Parameters:
  ///   - side: The side with the order of a conflict.
  ///   - ignoresTheirs: Whether a changed order of theirs is never taken.
  package func merged(_ side: MergeSide, ignoresTheirs: Bool = false) -> [Member] {
    let takesTheirs = isChanged.theirs && !ignoresTheirs && (!isChanged.ours || side == .theirs)
    let order = takesTheirs ? kept.theirs : kept.ours
    let anchors = Set(order)
    var placed = anchors
    let runs = (Self.runs(ours, result, anchors, &placed), Self.runs(theirs, result, anchors, &placed))
    var list = (runs.0[nil] ?? []) + (runs.1[nil] ?? [])
    for member in order {
      list.append(member)
      if let run = runs.0[member] { list += run }
      if let run = runs.1[member] { list += run }
    }
    // Members that no side has in its list, as answers may give.
    return list + result.subtracting(placed).sorted()
  }

  /// Returns the new members of a side by the member that they are behind; nil is the beginning.
  private static func runs(
    _ list: [Member], _ result: Set<Member>, _ anchors: Set<Member>, _ placed: inout Set<Member>
  ) -> [Member?: [Member]] {
    var runs: [Member?: [Member]] = [:]
    var last: Member?
    for member in list where result.contains(member) {
      if anchors.contains(member) {
        last = member
      } else if placed.insert(member).inserted {
        runs[last, default: []].append(member)
      }
    }
    return runs
  }
}
