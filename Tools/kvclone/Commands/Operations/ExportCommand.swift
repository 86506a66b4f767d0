import ArgumentParser
import KVClone
import KVCloneOperations

struct ExportCommand: ToolCommand {
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

  func run() throws {
    let store = try global.openStore(isReadOnly: true)
    defer { store.close() }
    let past = try snapshot.map { try store.snapshot(named: $0) }
    let cancellation = Cancellation()
    let bar = ProgressBar("export", unit: "objects", total: nil, global)
    let report: @Sendable (OperationProgress) -> Void = { bar.update($0) }
    let result = try Interruption.cancelling(cancellation.cancel) {
      defer { bar.finish() }
      return try past?.export(to: destination, progress: report, cancellation: cancellation)
        ?? store.export(to: destination, progress: report, cancellation: cancellation)
    }
    try write(result)
  }

  private func write(_ result: ExportResult) throws {
    let output = Output()
    if global.json {
      return try output.json { json in
        json.beginObject()
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
        json.endObject()
      }
    }
    if global.quiet { return }
    let blobs = result.blobCount == 0 ? "" : ", \(Text.count(result.blobCount, "blob"))"
    try output.line(
      "exported to \(destination): \(Text.count(result.objectCount, "object"))\(blobs), "
        + "\(Text.bytes(result.byteCount)) in \(Text.seconds(result.duration.inSeconds))")
    try output.flush()
  }
}
