import KVClone
import KVCloneMerge

/// The workload's commits with drafts.
extension Workload {
  /// Performs a commit of a draft; without projects or drafts, changes the store.
  func performOnDraft(_ number: Int, _ store: ObjectStore, _ random: inout SeededGenerator) throws {
    if kind(number) == .draft {
      let projects = try store.read { try Workload.ids(of: "Project", in: $0) }
      guard let project = random.element(projects) else { return try changes(number, store, random) }
      var options = Workload.cloneOptions(number)
      options.keepsBase = true
      _ = try store.clone([project], options: options)
      return
    }
    guard let draft = try store.drafts.list().last?.roots.first else { return try changes(number, store, random) }
    if kind(number) == .draftChanges {
      return try write("draft", number, store, random) { try $0.changeDraft(draft, &$1) }
    }
    let plan = try store.drafts.planMerge(draft, options: MergeOptions(policy: .theirs))
    let result = try store.drafts.merge(draft, options: MergeOptions(policy: .theirs))
    guard result.counts == plan.counts, result.objects.updated > 0 else {
      throw Finding("commit \(number) merged something else than its plan")
    }
    guard try store.drafts.list().isEmpty else {
      throw Finding("the draft of commit \(number) is left after its merge")
    }
  }
}
