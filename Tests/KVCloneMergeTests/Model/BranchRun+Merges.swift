import Foundation
import KVClone
import KVCloneMerge
import KVCloneTestSupport
import Testing

/// Merges of branches with the store. The rules of conflicts have tests of their own: here, a merge without conflicts
/// must give what the full copies lead to, and every merge must leave both sides as it says.
extension BranchRun {
  /// Publishes or updates a random branch, with a policy if there are conflicts.
  func merge() throws {
    guard copies.count > 1 else { return }
    let index = 1 + operations.random.below(copies.count - 1)
    let publishes = chance(in: 2)
    var options = MergeOptions()
    options.createsSnapshots = chance(in: 2)
    if try hasDrafts(index, publishes, options) { return }
    var plan = try self.plan(index, publishes, options)
    let hasConflicts = !plan.conflicts.isEmpty
    if hasConflicts {
      let error = #expect(throws: MergeError.self, "\(place)") { try run(index, publishes, options) }
      #expect(error?.kind == .conflicts && error?.conflicts.count == plan.conflicts.count, "\(place)")
      options.policy = chance(in: 2) ? .ours : .theirs
      plan = try self.plan(index, publishes, options)
      #expect(plan.conflicts.isEmpty, "conflicts are left with a policy, \(place)")
    }
    guard plan.canMerge else {
      let error = #expect(throws: MergeError.self, "\(place)") { try run(index, publishes, options) }
      #expect(error?.kind == .brokenRules && !plan.issues.isEmpty, "\(place)")
      refused += 1
      return
    }
    let before = (store: copies[0].oracle, branch: copies[index].oracle)
    let counts =
      chance(in: 4)
      ? try runInPeer(index, publishes, options) : try run(index, publishes, options).counts
    merges += 1
    #expect(counts == plan.counts, "the plan, \(place)")
    let merged = try noteMerge(index, publishes, before)
    if !hasConflicts, copies[index].knowsBase {
      let (ours, theirs) = publishes ? (before.store, before.branch) : (before.branch, before.store)
      do {
        try StoreOracle.compareMerge(base: copies[index].base, ours: ours, theirs: theirs, result: merged)
      } catch {
        throw StoreDifference("\(publishes ? "publishing" : "updating") \(copies[index].title): \(error)")
      }
      withoutConflicts += 1
    }
    releaseBase(copies[index], isFormer: true)
    copies[index].noteMerge(with: copies[0].oracle)
    try expectNothingToMerge(index)
  }

  /// Whether the branch has drafts that cannot be discarded. A publish is refused before that. Drafts without the clones
  /// of their roots are discarded, although other clones may remain.
  private func hasDrafts(_ index: Int, _ publishes: Bool, _ options: MergeOptions) throws -> Bool {
    func isOpen(_ draft: DraftInfo) -> Bool { draft.sources.count == draft.roots.count }
    if try !copies[index].store.drafts.list().contains(where: isOpen) { return false }
    if publishes {
      let error = #expect(throws: MergeError.self, "\(place)") { try run(index, true, options) }
      #expect(error?.kind == .draftInUse, "\(place)")
    }
    try discardDrafts(of: index)
    return try copies[index].store.drafts.list().contains(where: isOpen)
  }

  private func plan(_ index: Int, _ publishes: Bool, _ options: MergeOptions) throws -> MergePlan {
    let (branches, name) = (test.store.branches, copies[index].name ?? "")
    return publishes
      ? try branches.planPublish(name, options: options) : try branches.planUpdate(name, options: options)
  }

  @discardableResult
  private func run(_ index: Int, _ publishes: Bool, _ options: MergeOptions) throws -> MergeResult {
    let (branches, name) = (test.store.branches, copies[index].name ?? "")
    return publishes ? try branches.publish(name, options: options) : try branches.update(name, options: options)
  }

  /// Another process merges, while this one writes on another branch.
  private func runInPeer(_ index: Int, _ publishes: Bool, _ options: MergeOptions) throws -> [String: MergeCount] {
    let peer = try PeerProcess(
      "merge",
      [
        test.location, copies[index].name ?? "", publishes ? "publish" : "update", options.policy?.rawValue ?? "none",
        "\(options.createsSnapshots)",
      ])
    if let other = copies.indices.dropFirst().filter({ $0 != index }).randomElement(using: &operations.random) {
      try transaction(other)
    }
    let line = try #require(peer.hear(), "a process merged nothing, \(place)")
    #expect(try peer.finish() == 0, "a process failed, \(place)")
    return try JSONDecoder().decode([String: MergeCount].self, from: Data(line.utf8))
  }

  /// Takes over the merged state, and the automatic snapshots of the states before.
  private func noteMerge(
    _ index: Int, _ publishes: Bool, _ before: (store: StoreOracle, branch: StoreOracle)
  ) throws -> StoreOracle {
    for (place, oracle) in [(0, before.store), (index, before.branch)] {
      try copies[place].dropDeleted()
      let known = Set(copies[place].snapshots.map(\.name))
      for info in try copies[place].store.snapshots() where !known.contains(info.name) {
        #expect(info.isAutomatic, "\(self.place)")
        copies[place].note(info.name, oracle, isAutomatic: true)
      }
    }
    var merged = before.branch
    try copies[index].store.read { tx in try merged.reload(tx) }
    copies[index].oracle = merged
    if publishes { copies[0].oracle = merged }
    return merged
  }

  /// Merging again without further changes does nothing (M9), and the branch has what differs from the store.
  private func expectNothingToMerge(_ index: Int) throws {
    let again = try plan(index, false, MergeOptions())
    #expect(again.objects.isEmpty, "a second update, \(place)")
    let other = try plan(index, true, MergeOptions())
    #expect(other.conflicts.isEmpty, "\(other.conflicts.map(\.summary).prefix(3)), \(place)")
    let isSame = copies[0].oracle == copies[index].oracle
    #expect(other.objects.isEmpty == isSame, "a publish after a merge, \(place)")
  }
}
