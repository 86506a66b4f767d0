import KVClone
import KVCloneMerge
import KVCloneTestSupport
import Testing

/// Clones that are merged back into their sources. The rules of these merges have tests of their own.
extension BranchRun {
  /// A clone of a note and its answers, with a changed text.
  struct Draft {
    /// The branch where it was made; nil for the store. Another branch may get its name later.
    let branch: String?
    let source: ObjectID
    let root: ObjectID
    let clones: Set<ObjectID>
    /// The source and its answers when the draft was made.
    let sources: Set<ObjectID>
    /// The text of the source and of the clone when it was made.
    let baseText: AttributeValue?
  }

  /// Clones a note with a base, and sets the text of the clone, and sometimes of the source.
  func makeDraft(_ index: Int) throws {
    guard let source = operations.pick(copies[index].oracle.ids("Note")) else { return }
    var options = CloneOptions()
    options.keepsBase = true
    let before = copies[index].oracle
    let root = try copies[index].store.clone([source], options: options).root
    try reload(index)
    let clones = Set(copies[index].oracle.objects.keys).subtracting(before.objects.keys)
    try noteInserted(clones)
    drafts.append(
      Draft(
        branch: copies[index].name, source: source, root: root, clones: clones,
        sources: Self.answers(to: source, before), baseText: before.objects[source]?.values["text"]))
    for (id, isChanged) in [(root, true), (source, chance(in: 3))] where isChanged {
      let text = AttributeValue.string("\(nextName()) of a draft")
      try copies[index].store.write { tx in try tx.set(id, "text", text) }
      copies[index].oracle.set(id, "text", text)
    }
  }

  /// A note and its answers, theirs, and so on.
  private static func answers(to note: ObjectID, _ oracle: StoreOracle) -> Set<ObjectID> {
    var (next, found): ([ObjectID], Set<ObjectID>) = ([note], [note])
    while let one = next.popLast() {
      for answer in oracle.links(one, "answers") where found.insert(answer).inserted { next.append(answer) }
    }
    return found
  }

  private func reload(_ index: Int) throws {
    var oracle = copies[index].oracle
    try copies[index].store.read { tx in try oracle.reload(tx) }
    copies[index].oracle = oracle
  }

  /// Merges a draft; where both texts were changed, that of the clone wins.
  func mergeDraft() throws {
    guard let place = drafts.indices.randomElement(using: &operations.random) else { return }
    let draft = drafts.remove(at: place)
    guard let index = copies.firstIndex(where: { $0.name == draft.branch }) else { return }
    let before = copies[index].oracle
    var options = MergeOptions(policy: .theirs)
    options.keepsClones = chance(in: 2)
    let store = copies[index].store
    guard let clone = before.objects[draft.root] else {
      #expect(throws: (any Error).self, "a draft without its root was merged, \(place)") {
        try store.drafts.merge(draft.root, options: options)
      }
      return
    }
    do {
      let plan = try store.drafts.planMerge(draft.root, options: options)
      let result = try store.drafts.merge(draft.root, options: options)
      #expect(result.counts == plan.counts, "the plan, \(self.place)")
    } catch is MergeError {
      // Drafts of its clones, broken rules of the model, or a branch that got the name of an earlier one.
      draftRefusals += 1
      return try reload(index)
    }
    draftMerges += 1
    try copies[index].dropDeleted()
    for info in try store.snapshots() where !copies[index].snapshots.contains(where: { $0.name == info.name }) {
      copies[index].note(info.name, before, isAutomatic: true)
    }
    try reload(index)
    let after = copies[index].oracle
    if let source = before.objects[draft.source] {
      let text = clone.values["text"] == draft.baseText ? source.values["text"] : clone.values["text"]
      #expect(after.objects[draft.source]?.values["text"] == text, "the text of the source, \(self.place)")
    }
    let left = draft.clones.filter { after.objects[$0] != nil }
    #expect(left.isEmpty || options.keepsClones || before.objects[draft.source] == nil, "\(left), \(self.place)")
    for (id, object) in after.objects where !draft.sources.contains(id) && !draft.clones.contains(id) {
      #expect(before.objects[id]?.values == object.values, "\(id) is no part of the draft, \(self.place)")
    }
    #expect(throws: (any Error).self, "a draft was merged twice, \(self.place)") { try store.drafts.merge(draft.root) }
  }

  /// Deletes all clones of drafts in the store, and then their bases.
  func discardDrafts() throws {
    drafts = []
    try discardDrafts(of: 0)
    _ = try test.store.deleteExpiredSnapshots()
  }

  /// Deletes the roots of all drafts of the store or a branch.
  func discardDrafts(of index: Int) throws {
    drafts.removeAll { $0.branch == copies[index].name }
    for info in try copies[index].store.drafts.list() {
      let roots = info.roots.filter { copies[index].oracle.objects[$0] != nil }
      try copies[index].store.write { tx in _ = try tx.delete(roots) }
      _ = try copies[index].oracle.delete(roots)
    }
  }
}
