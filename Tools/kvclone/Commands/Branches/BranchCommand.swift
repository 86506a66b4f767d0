import ArgumentParser
import Foundation
import KVClone
import KVCloneExplorer

struct BranchCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "branch", abstract: "Manages branches: create, list, compare, merge, update, reset, delete.",
    discussion: """
      A branch is a writable view of the store's state at one time, its base. Creating one copies no data. Changes on \
      a branch are visible on it only, until it is merged. Work on it with the option --branch of other commands. \
      While it exists, the store retains its base: the preimages of all later changes.
      """,
    examples: [
      "kvclone -s notes.kvclone branch create spring", "kvclone -s notes.kvclone set Note/1 name=new --branch spring",
      "kvclone -s notes.kvclone branch diff spring", "kvclone -s notes.kvclone branch merge spring --dry-run",
    ],
    subcommands: [
      Create.self, List.self, BranchDiffCommand.self, BranchMergeCommand.self, BranchUpdateCommand.self,
      BranchResetCommand.self, Delete.self,
    ])

  struct Create: WritingCommand, WholeStoreCommand {
    static let configuration = CommandConfiguration(
      commandName: "create", abstract: "Creates a branch of the current state, or of a snapshot.",
      discussion: "Names have 1 to 128 characters of A-Z, a-z, 0-9, period, underscore and hyphen.",
      examples: [
        "kvclone -s notes.kvclone branch create spring",
        "kvclone -s notes.kvclone branch create spring --from monday --expires 30d",
      ])

    @OptionGroup var global: GlobalOptions

    @Argument(help: ArgumentHelp("The name of the branch.", valueName: "name"))
    var name: String

    @Option(
      help: ArgumentHelp("Begin with the state of this snapshot (default: the current state).", valueName: "snapshot"),
      completion: StoreCompletion.snapshots)
    var from: String?

    @Option(
      help: ArgumentHelp(
        "Expiration, which `branch list` shows: 2027-01-31, 2027-01-31T12:00:00Z or 30d (units m, h, d, w, y). "
          + "Nothing deletes the branch then (default: never).", valueName: "date"),
      transform: MomentOption.expiry)
    var expires: Date?

    func run(_ store: ObjectStore) throws {
      let snapshot = try from.map { try store.snapshot(named: $0) }
      let branch = try store.branches.create(name, from: snapshot, expiresAt: expires)
      let count = try branch.info().objectCount
      guard let info = try store.branches.list().first(where: { $0.name == name }) else { return }
      try global.report {
        info.write(to: &$0, retainedBytes: 0)
      } text: { output in
        try output.line("created \(name), with \(Text.count(count, "object"))")
      }
    }
  }

  struct List: ReadingCommand, WholeStoreCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "Lists branches, oldest first.",
      discussion: """
        COMMIT is the last commit of the branch, CHANGED the number of objects that differ from the base, WRITTEN the \
        space of what the branch wrote, without blobs. RETAINED is the space that only its base retains. Counting it \
        takes time after many changes.
        """,
      examples: ["kvclone -s notes.kvclone branch list", "kvclone -s notes.kvclone branch list --json"])

    @OptionGroup var global: GlobalOptions

    func run(_ store: ObjectStore) throws {
      let found = try store.branches.list().map { info in
        (info: info, retained: try store.branches.retainedBytes(of: info.name))
      }
      try global.show { json in
        json.list("branches", found) { $1.info.write(to: &$0, retainedBytes: $1.retained) }
      } text: { output in
        let rows = found.map { info, retained in
          [
            info.name, Output.time(info.createdAt), info.baseSnapshot ?? "", "\(info.lastCommit)",
            "\(info.changedObjectCount)",
            Text.bytes(info.byteCount), Text.bytes(retained), info.expiresAt.map(Output.time) ?? "",
          ]
        }
        if !rows.isEmpty {
          try output.list(["NAME", "CREATED", "FROM", "COMMIT", "CHANGED", "WRITTEN", "RETAINED", "EXPIRES"], rows)
        } else if !global.quiet {
          try output.line("no branches")
        }
      }
    }
  }

  struct Delete: WritingCommand, WholeStoreCommand {
    static let configuration = CommandConfiguration(
      commandName: "delete", abstract: "Deletes branches, with everything that was written on them.",
      discussion: "This cannot be undone. If a branch is not found, deletes none.",
      examples: ["kvclone -s notes.kvclone branch delete spring"])

    @OptionGroup var global: GlobalOptions

    @Argument(help: ArgumentHelp("The branches.", valueName: "name"), completion: StoreCompletion.branches)
    var names: [String]

    func run(_ store: ObjectStore) throws {
      let deleted = names.withoutRepeats()
      for name in deleted { _ = try store.branches.open(name) }
      for name in deleted { try store.branches.delete(name) }
      try global.report { json in
        json.member("deleted", deleted)
      } text: { output in
        try output.line(deleted.count == 1 ? "deleted 1 branch" : "deleted \(deleted.count) branches")
      }
    }
  }
}

extension BranchInfo {
  /// Writes the members of one entry of the document of `branch list`.
  fileprivate func write(to json: inout JSONWriter, retainedBytes: UInt64) {
    json.member("name", name)
    json.key("created")
    AttributeJSON.write(.date(createdAt), to: &json)
    json.nullable("base", baseSnapshot)
    json.key("expires")
    if let expiresAt { AttributeJSON.write(.date(expiresAt), to: &json) } else { json.null() }
    json.member("lastCommit", lastCommit)
    json.member("changes", changedObjectCount)
    json.member("bytes", byteCount)
    json.member("retainedBytes", retainedBytes)
  }
}
