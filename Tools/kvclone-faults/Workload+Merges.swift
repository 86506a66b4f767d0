import KVClone
import KVCloneMerge

/// Bugs of merges that the campaign must detect; see ``MergeMistakes``.
enum MergeMistake: String, CaseIterable {
  /// A link that the branch added is missing.
  case lostAddition
  /// A merge without a policy takes one side.
  case unreportedConflict
  /// A photo becomes the cover of the project that the merge took it from.
  case stolenPartner
}

/// The workload's merges.
extension Workload {
  private func mergeOptions(_ number: Int) -> MergeOptions {
    var options = MergeOptions(policy: .theirs)
    options.idempotencyKey = "commit \(number)"
    return options
  }

  private func plan(_ number: Int, _ name: String, _ store: ObjectStore, _ options: MergeOptions) throws -> MergePlan {
    kind(number) == .publish
      ? try store.branches.planPublish(name, options: options) : try store.branches.planUpdate(name, options: options)
  }

  private func run(_ number: Int, _ name: String, _ store: ObjectStore, _ options: MergeOptions) throws -> MergeResult {
    kind(number) == .publish
      ? try store.branches.publish(name, options: options) : try store.branches.update(name, options: options)
  }

  /// Merges as planned; conflicts must be reported first.
  func merge(_ number: Int, _ name: String, _ store: ObjectStore) throws {
    if hasRivals(before: number) { try requireConflicts(number, name, store) }
    let options = mergeOptions(number)
    let plan = try plan(number, name, store, options)
    guard plan.canMerge else {
      throw Finding("commit \(number) cannot merge: \(plan.issues.first?.message ?? "conflicts are left")")
    }
    let result = try run(number, name, store, options)
    guard result.counts == plan.counts else { throw Finding("commit \(number) merged something else than its plan") }
    guard try self.plan(number, name, store, MergeOptions()).objects.isEmpty else {
      throw Finding("after the merge of commit \(number), the same changes would be merged again")
    }
    if let mergeMistake { try plant(mergeMistake, number, store) }
  }

  /// Whether both sides have changed the same since they had one state.
  private func hasRivals(before number: Int) -> Bool {
    for earlier in (1..<number).reversed() {
      if kind(earlier) == .branchRival { return true }
      if kind(earlier) == .branch || kind(earlier).isMerge { return false }
    }
    return false
  }

  private func requireConflicts(_ number: Int, _ name: String, _ store: ObjectStore) throws {
    let options = MergeOptions(policy: mergeMistake == .unreportedConflict ? .theirs : nil)
    let found = try plan(number, name, store, options).conflicts.count
    guard found > 0 else { throw Finding("the plan of commit \(number) reports no conflict") }
    do {
      _ = try run(number, name, store, options)
    } catch let error as MergeError {
      guard error.kind == .conflicts, error.conflicts.count == found else { throw error }
      return
    }
    throw Finding("commit \(number) merged despite conflicts")
  }

  /// Repeats the merge of a commit with its idempotency key. Returns whether the store recognized it; true if the commit
  /// was not a merge.
  func knowsMerge(_ number: Int, in store: ObjectStore) throws -> Bool {
    guard kind(number).isMerge, let name = try store.branches.list().last?.name else { return true }
    return try run(number, name, store, mergeOptions(number)).isRepeated
  }

  /// Leaves what a merge with the bug would leave.
  private func plant(_ mistake: MergeMistake, _ number: Int, _ store: ObjectStore) throws {
    try store.write { transaction in
      switch mistake {
      case .lostAddition:
        for photo in try Workload.ids(of: "Photo", in: transaction).reversed() {
          guard let tag = try transaction.members(photo, "tags").first else { continue }
          return try transaction.unlink(photo, "tags", [tag])
        }
      case .stolenPartner:
        let projects = try Workload.ids(of: "Project", in: transaction)
        guard let cover = version(after: number).cover, projects.count > 1 else { return }
        // A later change may have deleted the cover.
        let photo = try transaction.members(projects[1], cover).first
        try transaction.setToOne(projects[0], cover, try photo ?? Workload.ids(of: "Photo", in: transaction).last)
      case .unreportedConflict: break
      }
    }
  }
}
