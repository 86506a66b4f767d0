import ArgumentParser
import Foundation
import KVClone
import KVCloneExplorer

struct SnapshotCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "snapshot", abstract: "Manages named snapshots: create, list, compare, roll back, hold, delete.",
    discussion: """
      Creating a snapshot copies no data. It takes space later, for the preimages of what changes after it. Names have \
      1 to 128 characters of A-Z, a-z, 0-9, period, underscore and hyphen. Automatic snapshots begin with auto-.
      """,
    examples: [
      "kvclone -s notes.kvclone snapshot create monday", "kvclone -s notes.kvclone snapshot diff monday",
      "kvclone -s notes.kvclone snapshot rollback monday",
    ],
    subcommands: [
      Create.self, List.self, SnapshotDiffCommand.self, SnapshotRollbackCommand.self, Hold.self, Release.self,
      Delete.self,
    ])

  struct Create: WritingCommand {
    static let configuration = CommandConfiguration(
      commandName: "create", abstract: "Creates a snapshot of the current state.",
      examples: [
        "kvclone -s notes.kvclone snapshot create monday",
        "kvclone -s notes.kvclone snapshot create nightly --expires 30d",
      ])

    @OptionGroup var global: GlobalOptions

    @Argument(help: ArgumentHelp("The name of the snapshot.", valueName: "name"))
    var name: String

    @Option(
      help: ArgumentHelp(
        "Expiration: 2027-01-31, 2027-01-31T12:00:00Z or 30d (units m, h, d, w, y). Afterwards `snapshot delete "
          + "--expired` deletes it, unless it is held (default: never).", valueName: "date"),
      transform: MomentOption.expiry)
    var expires: Date?

    func run(_ store: ObjectStore) throws {
      let snapshot = try store.createSnapshot(named: name, expiresAt: expires)
      try global.report {
        $0.snapshot(snapshot.info, retainedBytes: 0)
      } text: { output in
        try output.line("created \(name), with \(Text.count(snapshot.info.objectCount, "object"))")
      }
    }
  }

  struct List: ReadingCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "Lists snapshots, oldest first.",
      discussion:
        "RETAINED is the space that deleting only this snapshot would free. Counting it takes time after many changes.",
      examples: ["kvclone -s notes.kvclone snapshot list", "kvclone -s notes.kvclone snapshot list --json"]
    )

    @OptionGroup var global: GlobalOptions

    @Flag(
      help: "Also list the bases of branches and drafts, without RETAINED: `branch list` and `merge --list` have it.")
    var all = false

    func run(_ store: ObjectStore) throws {
      var found: [(info: SnapshotInfo, retained: UInt64?)] = try store.snapshots().map { info in
        (info: info, retained: try store.snapshot(named: info.name).retainedBytes())
      }
      if all {
        found += try store.branches.bases().map { (info: $0, retained: nil) }
        found.sort { $0.info.commit < $1.info.commit }
      }
      try global.show { json in
        json.list("snapshots", found) { $0.snapshot($1.info, retainedBytes: $1.retained) }
      } text: { output in
        let rows = found.map { info, retained in
          [
            info.name, Output.time(info.createdAt), "\(info.objectCount)", retained.map(Text.bytes) ?? "",
            info.holds.joined(separator: ","), info.expiresAt.map(Output.time) ?? "",
          ]
        }
        if !rows.isEmpty {
          try output.list(["NAME", "CREATED", "OBJECTS", "RETAINED", "HELD BY", "EXPIRES"], rows)
        } else if !global.quiet {
          try output.line("no snapshots")
        }
      }
    }
  }

  struct Hold: WritingCommand {
    static let configuration = CommandConfiguration(
      commandName: "hold", abstract: "Protects a snapshot from deletion until it is released.",
      examples: ["kvclone -s notes.kvclone snapshot hold monday backup"])

    @OptionGroup var global: GlobalOptions

    @Argument(help: ArgumentHelp("The snapshot.", valueName: "name"), completion: StoreCompletion.snapshots)
    var name: String

    @Argument(help: ArgumentHelp("The tag of the hold; name it in `release`.", valueName: "tag"))
    var tag: String

    func run(_ store: ObjectStore) throws {
      try store.snapshot(named: name).hold(tag: tag)
      try SnapshotCommand.report(store, name, global)
    }
  }

  struct Release: WritingCommand {
    static let configuration = CommandConfiguration(
      commandName: "release", abstract: "Releases a hold on a snapshot.",
      examples: ["kvclone -s notes.kvclone snapshot release monday backup"])

    @OptionGroup var global: GlobalOptions

    @Argument(help: ArgumentHelp("The snapshot.", valueName: "name"), completion: StoreCompletion.snapshots)
    var name: String

    @Argument(help: ArgumentHelp("The tag of the hold.", valueName: "tag"))
    var tag: String

    func run(_ store: ObjectStore) throws {
      try store.snapshot(named: name).release(tag: tag)
      try SnapshotCommand.report(store, name, global)
    }
  }

  struct Delete: WritingCommand {
    static let configuration = CommandConfiguration(
      commandName: "delete", abstract: "Deletes snapshots: all given ones, or on an error none.",
      examples: [
        "kvclone -s notes.kvclone snapshot delete monday tuesday", "kvclone -s notes.kvclone snapshot delete --expired",
      ])

    @OptionGroup var global: GlobalOptions

    @Argument(help: ArgumentHelp("The snapshots.", valueName: "name"), completion: StoreCompletion.snapshots)
    var names: [String] = []

    @Flag(help: "Delete all expired snapshots that are not held, and bases of drafts that are expired or merged.")
    var expired = false

    func validate() throws {
      if names.isEmpty != expired { throw ValidationError("give the names of snapshots or --expired, not both") }
    }

    func run(_ store: ObjectStore) throws {
      let deleted: [String]
      if expired {
        deleted = try store.deleteExpiredSnapshots()
      } else {
        deleted = names.withoutRepeats()
        try store.deleteSnapshots(named: deleted)
      }
      try global.report { json in
        json.member("deleted", deleted)
      } text: { output in
        try output.line("deleted \(Text.count(deleted.count, "snapshot"))")
      }
    }
  }

  private static func report(_ store: ObjectStore, _ name: String, _ global: GlobalOptions) throws {
    let snapshot = try store.snapshot(named: name)
    try global.report {
      $0.snapshot(snapshot.info, retainedBytes: try snapshot.retainedBytes())
    } text: { output in
      let holds = snapshot.info.holds
      try output.line(holds.isEmpty ? "\(name) has no holds" : "\(name) is held by \(holds.joined(separator: ", "))")
    }
  }
}
