import ArgumentParser
import Foundation
import KVClone
import KVCloneExplorer
import KVCloneOperations

struct DumpCommand: ReadingCommand {
  static let configuration = CommandConfiguration(
    commandName: "dump", abstract: "Writes objects as NDJSON to stdout.",
    discussion: """
      With --from, dumps only what a clone of that object would copy. Links to other objects are written as "@Tag/1", \
      which `load` resolves to objects that the store already has.
      """,
    examples: [
      "kvclone -s notes.kvclone dump > notes.ndjson",
      "kvclone -s notes.kvclone dump Note Item --blobs images > notes.ndjson",
      "kvclone -s notes.kvclone dump --from Note/1 > note.ndjson",
    ])

  @OptionGroup var global: GlobalOptions

  @Argument(
    help: ArgumentHelp("Dump only these entities and their subentities (default: all).", valueName: "entity"),
    completion: StoreCompletion.entities)
  var entities: [String] = []

  @Option(
    help: ArgumentHelp(
      "Write blobs to files in this directory, which is created if its parent exists.", valueName: "directory"),
    completion: .directory)
  var blobs: String?

  @Option(
    help: ArgumentHelp("Dump only what a clone of this object would copy (repeatable).", valueName: "id"),
    completion: StoreCompletion.objects)
  var from: [String] = []

  @Option(
    help: ArgumentHelp("Dump this snapshot (default: the current state).", valueName: "name"),
    completion: StoreCompletion.snapshots)
  var snapshot: String?

  func run(_ store: ObjectStore) throws {
    var options = DumpOptions()
    options.entities = entities
    let from = self.from
    let past = try snapshot.map { try store.snapshot(named: $0) }
    if !from.isEmpty {
      func ids(_ transaction: borrowing ReadTransaction) throws -> [ObjectID] {
        try from.map { try transaction.objectID(named: $0) }
      }
      options.roots = try past.map { try $0.read(ids) } ?? (try store.read(ids))
    }
    if let blobs {
      // The path in the text depends on where links lead.
      try TransferFiles.prepareDirectory(blobs)
      options.blobsDirectory = blobs
      options.blobsPath = DumpCommand.path(to: blobs)
    }
    let total = from.isEmpty && entities.isEmpty ? UInt64(try past?.info.objectCount ?? store.info().objectCount) : nil
    let progress = ProgressBar("dump", unit: "objects", total: total, global)
    options.progress = { progress.update(UInt64($0)) }
    let output = Output()
    let result =
      try past.map { try $0.dump(options) { try output.write($0) } }
      ?? (try store.dump(options) { try output.write($0) })
    try output.flush()
    progress.finish()
    global.detail("dumped \(Text.count(result.objectCount, "object"))")
  }

  /// The path from the text to the blobs: from the directory of the file at stdout, else from the working directory,
  /// else from the parent of the blobs' directory, which is the best place for the text.
  private static func path(to directory: String) -> String {
    let manager = FileManager.default
    let target = resolved(directory)
    var bases = [resolved(manager.currentDirectoryPath)]
    if let link = try? manager.destinationOfSymbolicLink(atPath: "/proc/self/fd/1"), link.hasPrefix("/"),
      !link.hasPrefix("/dev/"), !link.hasPrefix("/proc/")
    {
      bases.insert(resolved((link as NSString).deletingLastPathComponent), at: 0)
    }
    for base in bases {
      let prefix = base.hasSuffix("/") ? base : base + "/"
      if target.hasPrefix(prefix) { return String(target.dropFirst(prefix.count)) }
    }
    return (target as NSString).lastPathComponent
  }

  private static func resolved(_ path: String) -> String {
    URL(fileURLWithPath: path).resolvingSymlinksInPath().standardizedFileURL.path
  }
}
