import KVClone
import KVCloneMerge
import KVCloneTestSupport
import Testing

/// Random edits of a store and its branch, merged in any order and compared with a model over dictionaries.
@Suite struct PublishPropertyTests {
  @Test("M9: publish and update in any order lose nothing", arguments: [StorageKind.memory, .lmdb])
  func anyOrder(_ kind: StorageKind) throws {
    for seed in PropertySeeds.seeds {
      for number in 0..<UInt64(PropertySeeds.count(20)) {
        let run = try MergeRounds(kind, seed: seed &+ number)
        for _ in 0..<20 { try run.step() }
        try run.end()
      }
    }
  }
}

/// A store and its branch, and the base of the branch as the rules give it.
private final class MergeRounds {
  private let seed: UInt64
  private let fixture: BranchFixture
  private let store: ObjectStore
  private let branch: ObjectStore
  private var edits: LibraryEdits
  private var base: LibraryState

  init(_ kind: StorageKind, seed: UInt64) throws {
    self.seed = seed
    fixture = try BranchFixture(kind)
    store = fixture.store
    edits = LibraryEdits(seed: seed)
    for _ in 0..<4 { try edits.edit(store) }
    branch = try store.branches.create("draft")
    base = try LibraryState(store)
  }

  private func options() -> MergeOptions {
    var options = MergeOptions(policy: edits.random.chance(in: 2) ? .ours : .theirs)
    options.createsSnapshots = edits.random.chance(in: 2)
    options.retainedSnapshots = 2
    return options
  }

  func step() throws {
    switch edits.random.below(8) {
    case 0, 1: try edits.edit(store)
    case 2, 3, 4: try edits.edit(branch)
    case 5: try publish()
    case 6: try update()
    default: try publishChosen()
    }
  }

  private func winner(_ options: MergeOptions) throws -> MergeSide { try #require(options.policy) }

  private func publish() throws {
    let options = options()
    let (ours, theirs) = (try LibraryState(store), try LibraryState(branch))
    let expected = LibraryState.merged(base: base, ours: ours, theirs: theirs, winner: try winner(options))
    let plan = try store.branches.planPublish("draft", options: options)
    let preview = try plan.read { tx in try LibraryState(tx) }
    let result = try store.branches.publish("draft", options: options)
    #expect(preview == expected, "seed \(seed)")
    #expect(result.counts == plan.counts && plan.canMerge, "seed \(seed)")
    #expect(try LibraryState(store) == expected && LibraryState(branch) == expected, "seed \(seed)")
    base = expected
    try expectNothingToMerge()
  }

  private func update() throws {
    let options = options()
    let (ours, theirs) = (try LibraryState(branch), try LibraryState(store))
    let expected = LibraryState.merged(base: base, ours: ours, theirs: theirs, winner: try winner(options))
    let plan = try store.branches.planUpdate("draft", options: options)
    let preview = try plan.read { tx in try LibraryState(tx) }
    let result = try store.branches.update("draft", options: options)
    #expect(preview == expected, "seed \(seed)")
    #expect(result.counts == plan.counts && plan.canMerge, "seed \(seed)")
    #expect(try LibraryState(branch) == expected && LibraryState(store) == theirs, "seed \(seed)")
    base = theirs
    #expect(try store.branches.update("draft").objects.isEmpty, "seed \(seed)")
    try check()
  }

  private func publishChosen() throws {
    let options = options()
    let (ours, theirs) = (try LibraryState(branch), try LibraryState(store))
    let updated = LibraryState.merged(base: base, ours: ours, theirs: theirs, winner: try winner(options).other)
    let candidates = Set(theirs.items.keys).union(updated.items.keys).sorted()
    guard let chosen = candidates.randomElement(using: &edits.random) else { return }
    let plan = try store.branches.planPublish("draft", only: [chosen], options: options)
    let preview = try plan.read { tx in try LibraryState(tx) }
    let result = try store.branches.publish("draft", only: [chosen], options: options)
    base = try LibraryState(store)
    #expect(base == preview, "seed \(seed)")
    #expect(result.counts == plan.counts && plan.canMerge, "seed \(seed)")
    // The object has what the branch has, and the branch has lost nothing.
    #expect(base.items[chosen]?.values == updated.items[chosen]?.values, "seed \(seed)")
    #expect(try LibraryState(branch) == updated, "seed \(seed)")
    #expect(try store.branches.update("draft").objects.isEmpty, "seed \(seed)")
    try check()
  }

  private func expectNothingToMerge() throws {
    let commit = try store.info().commit
    #expect(try store.branches.publish("draft").objects.isEmpty, "seed \(seed)")
    #expect(try store.branches.update("draft").objects.isEmpty, "seed \(seed)")
    #expect(try store.info().commit == commit, "seed \(seed)")
    try check()
  }

  private func check() throws { #expect(try CheckedStore.issues(store) == [], "seed \(seed)") }

  /// Deletes the branch and all snapshots, of which nothing remains.
  func end() throws {
    try store.branches.delete("draft")
    for snapshot in try store.snapshots() { try store.deleteSnapshot(named: snapshot.name) }
    let remains = try fixture.remains()
    for table in ["overlays", "branches", "preimages", "snapshots"] {
      #expect(remains[table] == nil, "seed \(seed)")
    }
    try check()
  }
}
