import KVClone
import KVCloneTestSupport

/// A store or one of its branches, with full copies of what it and its snapshots must show.
struct BranchCopy {
  /// A snapshot, with a full copy of what it must show.
  struct Past {
    let name: String
    let oracle: StoreOracle
    /// Whether a transaction created it together with other changes.
    var isFromWithin = false
    var isAutomatic = false
    /// The number of branches that were created from it.
    var branchCount = 0
    /// Whether a branch was created from it and was merged since: then older snapshots of the branch may need it.
    var isFormerBase = false
    /// The number of merges of the branch before.
    fileprivate(set) var mergeCount = 0
  }

  /// The name of the branch; nil for the store.
  let name: String?
  var store: ObjectStore
  var oracle: StoreOracle
  /// The snapshots, oldest first.
  var snapshots: [Past] = []
  /// The named snapshot of the store that is the base of the branch.
  var baseSnapshot: String?
  /// The state of the store that the branch was created from, or last merged with.
  var base: StoreOracle
  /// The number of merges.
  private var mergeCount = 0
  /// Whether `base` is known: a rollback to a snapshot from before a merge may bring the earlier one back.
  private(set) var knowsBase = true

  init(_ name: String?, _ store: ObjectStore, _ oracle: StoreOracle, baseSnapshot: String? = nil) {
    (self.name, self.store, self.oracle, self.baseSnapshot) = (name, store, oracle, baseSnapshot)
    base = oracle
  }

  /// Records a snapshot.
  mutating func note(_ snapshot: String, _ oracle: StoreOracle, isFromWithin: Bool = false, isAutomatic: Bool = false) {
    var past = Past(name: snapshot, oracle: oracle, isFromWithin: isFromWithin, isAutomatic: isAutomatic)
    past.mergeCount = mergeCount
    snapshots.append(past)
  }

  /// Records a rollback to a snapshot.
  mutating func noteRollback(to past: Past) { if past.mergeCount != mergeCount { knowsBase = false } }

  /// Records a merge with the store, which has this state now.
  mutating func noteMerge(with store: StoreOracle) {
    (base, baseSnapshot) = (store, nil)
    mergeCount += 1
    knowsBase = true
  }

  var title: String { name.map { "the branch \($0)" } ?? "the store" }

  /// Compares all objects, and fetches by indexes.
  func compare(_ random: inout SeededGenerator) throws {
    do {
      try store.read { tx in
        try oracle.compare(tx)
        try oracle.compareFetches(tx, &random)
      }
    } catch {
      throw StoreDifference("\(title): \(error)")
    }
    let names = try store.snapshots().map(\.name)
    guard names == snapshots.map(\.name) else {
      throw StoreDifference("\(title) has the snapshots \(names), not \(snapshots.map(\.name))")
    }
  }

  func compare(_ past: Past, _ random: inout SeededGenerator) throws {
    do {
      let snapshot = try store.snapshot(named: past.name)
      guard snapshot.info.objectCount == past.oracle.objects.count else { throw StoreDifference("the object count") }
      try snapshot.read { tx in
        try past.oracle.compare(tx)
        try past.oracle.compareFetches(tx, &random)
      }
    } catch {
      throw StoreDifference("the snapshot \(past.name) of \(title): \(error)")
    }
  }

  /// Compares the differences of a snapshot to another one, or to the present state.
  func compareDifferences(from first: Past, to second: Past?) throws {
    let to = try second.map { try store.snapshot(named: $0.name) }
    let found = try store.diff(from: try store.snapshot(named: first.name), to: to).map(\.comparable)
    let expected = first.oracle.differences(to: second?.oracle ?? oracle)
    if found == expected { return }
    let wrong = found.first { !expected.contains($0) } ?? expected.first { !found.contains($0) }
    throw StoreDifference(
      "\(title): the difference from \(first.name) to \(second?.name ?? "now"): "
        + (wrong.map { "\($0)" } ?? "the order"))
  }

  /// Removes the expected snapshots with these names, and the automatic ones, that the store has deleted by itself.
  mutating func dropDeleted(_ names: Set<String> = []) throws {
    let live = Set(try store.snapshots().map(\.name))
    snapshots.removeAll { ($0.isAutomatic || names.contains($0.name)) && !live.contains($0.name) }
  }
}
