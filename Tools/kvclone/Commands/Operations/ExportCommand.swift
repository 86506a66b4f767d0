import ArgumentParser
import KVClone
import KVCloneExplorer
import KVCloneOperations

struct ExportCommand: ReadingCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Exports model, objects and blobs to a folder that Core Data tools can read.",
    discussion: """
      DEST contains the model as an Xcode bundle (MODEL.xcdatamodeld), the objects as objects.ndjson for \
      `kvclone load`, the folder blobs with one file per blob, and README.txt, which describes them. DEST appears only \
      when it is complete.
      """,
    examples: [
      "kvclone -s notes.kvclone export notes-export",
      "kvclone -s notes.kvclone export last-week --snapshot weekly",
      "kvclone -s new.kvclone init --model notes-export/Notes.xcdatamodeld",
      "kvclone -s new.kvclone load notes-export/objects.ndjson",
    ])

  @OptionGroup var global: GlobalOptions

  @Argument(
    help: ArgumentHelp("The folder to create; it must not exist.", valueName: "dest"),
    completion: .directory)
  var destination: String

  @Option(
    help: ArgumentHelp("Export this snapshot (default: the current state).", valueName: "name"),
    completion: StoreCompletion.snapshots)
  var snapshot: String?

  func validate() throws {
    if destination.isEmpty { throw ValidationError("the destination is an empty string; give a path") }
    if let snapshot, snapshot.isEmpty {
      throw ValidationError("--snapshot is an empty string; give the name of a snapshot")
    }
  }

  func prepare() throws { try StoreAddress.requireDirectory(destination, for: "an export") }

  func run(_ store: ObjectStore) throws {
    let past = try snapshot.map { try store.snapshot(named: $0) }
    let bar = ProgressBar("export", unit: "objects", total: nil, global)
    let result = try Interruption.cancelling(bar) { progress, cancellation in
      try past?.export(to: destination, progress: progress, cancellation: cancellation)
        ?? store.export(to: destination, progress: progress, cancellation: cancellation)
    }
    try write(result)
  }

  private func write(_ result: ExportResult) throws {
    try global.report { json in
      json.member("path", destination)
      json.member("model", result.modelBundle)
      json.member("modelVersion", result.modelVersion)
      json.member("modelHash", result.modelHash)
      json.member("objects", result.objectCount)
      json.member("counts", result.counts)
      json.member("blobs", result.blobCount)
      json.member("blobBytes", result.blobByteCount)
      json.member("bytes", result.byteCount)
      if let snapshot { json.member("snapshot", snapshot) }
      json.member("seconds", result.duration.inSeconds)
    } text: { output in
      let blobs = result.blobCount == 0 ? "" : ", \(Text.count(result.blobCount, "blob"))"
      try output.line(
        "exported to \(destination): \(Text.count(result.objectCount, "object"))\(blobs), "
          + "\(Text.bytes(result.byteCount)) in \(Text.seconds(result.duration.inSeconds))")
    }
  }
}
