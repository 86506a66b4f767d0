import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The statement of a line about a relationship, in numbers of labels.
struct LoadStatement {
  let relationship: LoadRelationship
  let targets: [UInt32]
  let writing: Writing

  /// The time at which its links are written.
  enum Writing {
    /// Together with the object: all targets exist.
    case atOnce
    /// The owner's side together with the object, the other side with its own line or at the end of the batch.
    case ownSide
    /// At the end of the batch.
    case atEnd
  }
}

extension LoadSession {
  /// The maximum number of targets to link at once; above it, they are linked at the end of the batch, because finding
  /// repetitions takes quadratic time.
  private static let atOnceLimit = 32

  /// Reading ahead, the other sides of links between lines are added in the order of the lines, at the end: adding some
  /// of them earlier would break the order of ids in lists.
  func writing(
    of relationship: LoadRelationship, _ targets: [UInt32], _ transaction: borrowing WriteTransaction
  ) throws(StoreError) -> LoadStatement.Writing {
    if canWriteOwnSide(targets) { return .ownSide }
    if readsAhead, !targets.allSatisfy(labels.isStored) { return .atEnd }
    return try canLinkAtOnce(relationship, targets, transaction) ? .atOnce : .atEnd
  }

  /// Returns whether the links of a new object can be created together with it.
  ///
  /// All targets must exist, and no later line may be able to state these links: lines of targets that come later could
  /// contradict this one, which is detected at the end of the batch.
  private func canLinkAtOnce(
    _ relationship: LoadRelationship, _ targets: [UInt32], _ transaction: borrowing WriteTransaction
  ) throws(StoreError) -> Bool {
    let pair = schema.pairs[relationship.pair]
    guard !targets.isEmpty, targets.count <= Self.atOnceLimit, pair.sides.count == 2 else { return false }
    let inverse = 1 - relationship.side
    guard pair.sides[inverse].description.isToMany, !pair.sides[inverse].description.isOrdered else { return false }
    let inverseStatements = links[relationship.pair][inverse]
    for (place, target) in targets.enumerated() {
      guard labels.isDefined(target), !inverseStatements.isGiven(target), !targets[..<place].contains(target) else {
        return false
      }
      if options.skipsBroken, try wasDeleted(target, transaction) { return false }
    }
    return true
  }

  /// Returns whether the list of a new object can be written with its record: the ids of all members are known, none of
  /// them was in the store before, and none is repeated.
  private func canWriteOwnSide(_ targets: [UInt32]) -> Bool {
    guard readsAhead, !targets.isEmpty else { return false }
    guard targets.allSatisfy({ labels.isKnown($0) && !labels.isStored($0) }) else { return false }
    var seen = TargetSet(capacity: targets.count)
    return targets.allSatisfy { seen.insert(labels.ids[Int($0)]) }
  }
}
