import ArgumentParser
import KVClone
import KVCloneMerge

struct BranchMergeCommand: WritingCommand, WholeStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "merge", abstract: "Merges the changes of a branch into the store; exit code 6 for conflicts.",
    discussion: """
      Runs one transaction. Afterwards, the branch shows the merged state, and has no changes of its own. Ours is the \
      store, theirs the branch. Creates an automatic snapshot of each side that changes. To undo the merge, restore \
      both: the store with `snapshot rollback`, the branch with `branch reset --to`.

      \(MergeOptionGroup.help)
      """,
    examples: [
      "kvclone -s notes.kvclone branch merge spring --dry-run",
      "kvclone -s notes.kvclone branch merge spring --policy theirs --rule Article.stock=sum",
      "kvclone -s notes.kvclone branch merge spring --only Article/12 --answers answers.json",
      "kvclone -s notes.kvclone branch merge spring --dry-run --dump > merged.ndjson",
    ])

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The branch.", valueName: "name"), completion: StoreCompletion.branches)
  var name: String

  @OptionGroup var group: MergeOptionGroup

  @Option(
    help: ArgumentHelp(
      "Merge only this object, with what a clone of it would copy and inserted objects that it needs; the branch is "
        + "first updated (repeatable).", valueName: "id"),
    completion: StoreCompletion.objects)
  var only: [String] = []

  func run(_ store: ObjectStore) throws {
    let branch = try store.branches.open(name)
    let objects = only.isEmpty ? nil : try only.withoutRepeats().map { try self.object($0, branch, store) }
    try MergeRunner(
      global: global, group: group, subject: name, store: store, states: MergeNames.states(store, branch),
      plan: { try store.branches.planPublish(name, only: objects, options: $0) },
      merge: { try store.branches.publish(name, only: objects, options: $0) }
    ).run()
  }

  /// The object with a name on the branch, or one of the store that the branch has deleted.
  private func object(_ name: String, _ branch: ObjectStore, _ store: ObjectStore) throws -> ObjectID {
    do {
      return try branch.read { transaction in try transaction.objectID(named: name) }
    } catch let error as StoreError where error.kind == .objectNotFound {
      return try store.read { transaction in try transaction.objectID(named: name) }
    }
  }
}

struct BranchUpdateCommand: WritingCommand, WholeStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "update", abstract: "Merges the changes of the store into a branch; exit code 6 for conflicts.",
    discussion: """
      Runs one transaction. Afterwards, the base of the branch is the current state of the store. Ours is the branch, \
      theirs the store. First creates an automatic snapshot of the branch. To undo the update: \
      `branch reset NAME --to SNAPSHOT`.

      \(MergeOptionGroup.help)
      """,
    examples: [
      "kvclone -s notes.kvclone branch update spring --dry-run",
      "kvclone -s notes.kvclone branch update spring --policy ours",
    ])

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The branch.", valueName: "name"), completion: StoreCompletion.branches)
  var name: String

  @OptionGroup var group: MergeOptionGroup

  func run(_ store: ObjectStore) throws {
    let branch = try store.branches.open(name)
    try MergeRunner(
      global: global, group: group, subject: "the store into \(name)", store: store,
      states: MergeNames.states(store, branch),
      plan: { try store.branches.planUpdate(name, options: $0) },
      merge: { try store.branches.update(name, options: $0) }
    ).run()
  }
}
