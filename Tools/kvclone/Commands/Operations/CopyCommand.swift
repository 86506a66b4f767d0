import ArgumentParser
import KVClone
import KVCloneExplorer

#if Postgres
  import KVClonePostgres
#endif

struct CopyCommand: WholeStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "copy", abstract: "Copies a store between a directory and a PostgreSQL cluster, and verifies it.",
    discussion: """
      SRC and DEST are each a directory or the URL of a store in a cluster, postgresql://USER@HOST/DATABASE/NAME; at \
      least one is a URL. DEST must not exist. The copy has everything in the store, with its snapshots and history. \
      It is read back, and the number of entries and a checksum are compared for each table.

      SRC stays in use; later commits are not copied. DEST becomes a store when the copy is complete, and an error or \
      an interrupt removes it. Between directories, use `kvclone backup`.
      """,
    examples: [
      "kvclone copy notes.kvclone postgresql://app@db/kv/notes",
      "kvclone copy postgresql://app@db/kv/notes notes-copy.kvclone",
    ])

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The store to copy: a directory or a URL.", valueName: "src"), completion: .directory)
  var source: String

  @Argument(help: ArgumentHelp("The store to create: a directory or a URL.", valueName: "dest"), completion: .directory)
  var destination: String

  func validate() throws {
    if source.isEmpty || destination.isEmpty {
      throw ValidationError("a store is an empty string; give a path or a URL")
    }
    if global.store != nil { throw ValidationError("copy takes both stores as arguments; remove --store") }
  }

  func run() throws {
    let (source, destination) = (try StoreAddress(source), try StoreAddress(destination))
    if source.isDirectory, destination.isDirectory {
      throw Failure(
        usage: "copy needs a store in a cluster on one side; between directories, use kvclone --store SRC backup DEST")
    }
    #if Postgres
      let bar = ProgressBar("copy", unit: "entries", total: nil, global)
      let result = try Interruption.cancelling(bar) { progress, cancellation in
        try Self.copy(source, to: destination, progress: progress, cancellation)
      }
      try report(result, source.name, destination.name)
    #endif
  }

  #if Postgres
    private static func copy(
      _ source: StoreAddress, to destination: StoreAddress, progress: @escaping @Sendable (OperationProgress) -> Void,
      _ cancellation: Cancellation
    ) throws -> CopyResult {
      switch (source, destination) {
      case (.directory(let path), .cluster(let database, let name)):
        let cluster = PostgresCluster(database)
        defer { cluster.close() }
        try requireInstalled(cluster, for: name)
        return try cluster.copyStore(at: path, as: name, progress: progress, cancellation: cancellation)
      case (.cluster(let database, let name), .directory(let path)):
        let cluster = PostgresCluster(database)
        defer { cluster.close() }
        return try cluster.copyStore(name, to: path, progress: progress, cancellation: cancellation)
      case (.cluster(let database, let name), .cluster(let other, let newName)):
        let cluster = PostgresCluster(database)
        defer { cluster.close() }
        let target = PostgresCluster(other)
        defer { target.close() }
        try requireInstalled(target, for: newName)
        return try cluster.copyStore(name, to: target, as: newName, progress: progress, cancellation: cancellation)
      case (.directory, .directory): preconditionFailure("refused above")
      }
    }

    /// Checks the cluster of the destination. If it is missing, the store to copy is not, so the exit code is 1.
    static func requireInstalled(_ cluster: PostgresCluster, for name: String) throws {
      do throws(StoreError) {
        if try cluster.status().schemaVersion != nil { return }
      } catch {
        guard error.kind == .storeNotFound else { throw error }
        throw Failure(StoreError.Kind.invalidDestination.rawValue, error.message)
      }
      throw Failure(
        StoreError.Kind.invalidDestination.rawValue,
        "the database for \(name) has no schema kvclone; run `kvclone cluster install`")
    }

    private func report(_ result: CopyResult, _ source: String, _ destination: String) throws {
      try global.report { json in
        json.member("source", source)
        json.member("destination", destination)
        json.member("tables", result.tableCount)
        json.member("entries", result.entryCount)
        json.member("bytes", result.byteCount)
        json.member("seconds", result.duration.inSeconds)
      } text: { output in
        try output.paragraph(
          "copied \(source) to \(destination): \(result.entryCount) entries, \(Text.bytes(result.byteCount)) in "
            + Text.seconds(result.duration.inSeconds))
      }
    }
  #endif
}
