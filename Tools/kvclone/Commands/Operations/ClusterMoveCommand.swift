import ArgumentParser
import KVClone
import KVCloneExplorer

#if Postgres
  import KVClonePostgres
#endif

extension ClusterCommand {
  struct Move: WholeStoreCommand {
    static let configuration = CommandConfiguration(
      commandName: "move", abstract: "Moves a store to another cluster while it is in use.",
      discussion: """
        Copies the store and what is changed in it since, and compares all entries. Then locks the store for a moment, \
        and switches to the other cluster. The store keeps its name, ids, snapshots and history.

        Later transactions of processes that have the store open get the error storeMoved. Change their configuration \
        then. Interrupted before the switch, the move leaves nothing behind. After a crash or an error, run it again: \
        it ends the move, or begins again.
        """,
      examples: ["kvclone cluster move notes postgresql://app@db2/kv --cluster postgresql://app@db1/kv"])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: ClusterOptions

    @Argument(help: ArgumentHelp("The name of the store.", valueName: "name"))
    var name: String

    @Argument(
      help: ArgumentHelp("The URL of the database to move it to: postgresql://USER@HOST/DATABASE.", valueName: "dest"))
    var destination: String

    func run() throws {
      try options.check(global)
      if ClusterURL.isURL(name) {
        throw Failure(usage: "move takes the name of a store; give its database with --cluster")
      }
      let url = try Failure.ofUsage { () throws(StoreError) in try ClusterURL(destination).databaseURL() }
      #if Postgres
        let cluster = try options.postgres()
        defer { cluster.close() }
        let other = PostgresCluster(url)
        defer { other.close() }
        try CopyCommand.requireInstalled(other, for: name)
        let bar = ProgressBar("move", unit: "entries", total: nil, global)
        let result = try Interruption.cancelling(bar) { progress, cancellation in
          try cluster.moveStore(name, to: other, progress: progress, cancellation: cancellation)
        }
        try report(result)
      #else
        _ = url
      #endif
    }

    #if Postgres
      private func report(_ result: MoveResult) throws {
        try global.report { json in
          json.member("moved", name)
          json.member("entries", result.entryCount)
          json.member("bytes", result.byteCount)
          json.member("followedCommits", result.commitCount)
          json.member("writePauseSeconds", result.writePause.inSeconds)
          json.member("seconds", result.duration.inSeconds)
        } text: { output in
          try output.paragraph(
            "moved the store \(name): \(result.entryCount) entries in \(Text.seconds(result.duration.inSeconds)); "
              + "writes paused for \(Text.seconds(result.writePause.inSeconds))")
        }
      }
    #endif
  }
}
