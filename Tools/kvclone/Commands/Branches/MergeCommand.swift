import ArgumentParser
import KVClone
import KVCloneExplorer
import KVCloneMerge

struct MergeCommand: WritingCommand {
  static let configuration = CommandConfiguration(
    commandName: "merge", abstract: "Merges a draft into its sources; exit code 6 for conflicts.",
    discussion: """
      A draft is a clone made with `clone --keeps-base`. In one transaction, its changes since are merged into its \
      sources, and the clones are deleted. Ours are the sources, theirs the clones. First creates an automatic \
      snapshot: `snapshot rollback` to it undoes the merge, and everything later.

      \(MergeOptionGroup.help)
      """,
    examples: [
      "kvclone -s notes.kvclone clone Note/1 --keeps-base --expires 14d", "kvclone -s notes.kvclone merge --list",
      "kvclone -s notes.kvclone merge Note/2 --dry-run",
      "kvclone -s notes.kvclone merge Note/2 --policy theirs --keep-clone",
    ])

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("An object of the draft.", valueName: "id"), completion: StoreCompletion.objects)
  var id: String?

  @OptionGroup var group: MergeOptionGroup

  @Flag(name: .customLong("keep-clone"), help: "Keep the clones, as ordinary objects that cannot be merged again.")
  var keepsClones = false

  @Flag(help: "List the drafts, oldest first; expired ones until `snapshot delete --expired`.")
  var list = false

  func validate() throws {
    if (id == nil) != list { throw ValidationError("give the id of a draft or --list, not both") }
    if list, keepsClones || !group.isEmpty {
      throw ValidationError("--list only lists drafts; remove the options of a merge")
    }
  }

  func run(_ store: ObjectStore) throws {
    guard let id else { return try writeList(store) }
    let root = try store.read { transaction in
      try transaction.objectIDs(named: [id], includesDeleted: group.idempotencyKey != nil)[0]
    }
    func options(_ options: MergeOptions) -> MergeOptions {
      var options = options
      options.keepsClones = keepsClones
      return options
    }
    try MergeRunner(
      global: global, group: group, subject: id, store: store,
      states: [{ body in try store.read(body) }, { body in try store.drafts.base(of: root)?.read(body) }],
      plan: { try store.drafts.planMerge(root, options: options($0)) },
      merge: { try store.drafts.merge(root, options: options($0)) }
    ).run()
  }

  private func writeList(_ store: ObjectStore) throws {
    let drafts = try store.drafts.list()
    let names = try store.read { transaction in
      try drafts.map { draft in
        (
          roots: try draft.roots.map { try transaction.nameOfAny($0) },
          sources: try draft.sources.map { try transaction.nameOfAny($0) }
        )
      }
    }
    try global.show { json in
      json.list("drafts", Array(zip(drafts, names))) { $1.0.write(to: &$0, roots: $1.1.roots, sources: $1.1.sources) }
    } text: { output in
      let rows = zip(drafts, names).map { draft, names in
        [
          names.roots.joined(separator: " "), names.sources.joined(separator: " "), Output.time(draft.createdAt),
          draft.author, "\(draft.objectCount)", draft.isChanged ? "yes" : "no", Text.bytes(draft.retainedBytes),
          draft.expiresAt.map(Output.time) ?? "",
        ]
      }
      if !rows.isEmpty {
        try output.list(
          ["DRAFT", "OF", "CREATED", "AUTHOR", "OBJECTS", "CHANGED", "RETAINED", "EXPIRES"], rows)
      } else if !global.quiet {
        try output.line("no drafts")
      }
    }
  }
}

extension DraftInfo {
  /// Writes the members of one entry of the document of `merge --list`.
  fileprivate func write(to json: inout JSONWriter, roots: [String], sources: [String]) {
    json.member("roots", roots)
    json.member("sources", sources)
    json.key("created")
    AttributeJSON.write(.date(createdAt), to: &json)
    json.member("author", author)
    json.member("objects", objectCount)
    json.member("changed", isChanged)
    json.member("retainedBytes", retainedBytes)
    json.key("expires")
    if let expiresAt { AttributeJSON.write(.date(expiresAt), to: &json) } else { json.null() }
  }
}
