import ArgumentParser
import KVClone
import KVCloneExplorer
import KVCloneOperations

struct InfoCommand: ReadingCommand {
  static let configuration = CommandConfiguration(
    commandName: "info", abstract: "Shows a summary of a store: model, size, snapshots, object counts.",
    examples: [
      "kvclone -s notes.kvclone info", "kvclone -s notes.kvclone info --verbose",
      "kvclone -s notes.kvclone info --json | jq .counts",
    ])

  @OptionGroup var global: GlobalOptions

  func run(_ store: ObjectStore) throws {
    let info = try store.info()
    let output = Output()
    // Only for --verbose: it reads the lock file, and the result is outdated in a moment.
    let isFile = try global.storeAddress().isDirectory
    let statistics = global.verbose && isFile ? try (store.parent ?? store).statistics() : nil
    if global.json {
      try output.json { $0.storeInfo(info, writer: statistics.map { $0.writer }) }
      return
    }
    var facts: [(String, String)] = [
      ("store", info.uuid.uuidString), ("format", "\(info.formatVersion)"),
      ("model", "\(info.modelName), version \(info.modelVersion ?? "none")"), ("model hash", info.modelHash),
    ]
    if isFile { facts.append(("file", Text.bytes(info.fileBytes))) }
    facts += [("commit", "\(info.commit)"), ("snapshots", "\(info.snapshotCount)")]
    if let statistics { facts.append(("writer", statistics.writer?.summary ?? "none")) }
    facts.append(("objects", "\(info.objectCount)"))
    for (name, value) in facts { try output.line(Text.padded(name, 12) + value) }
    let width = info.counts.keys.map(\.count).max() ?? 0
    for (entity, count) in info.counts.sorted(by: { $0.key < $1.key }) {
      try output.line("  " + Text.padded(entity, width + 2) + "\(count)")
    }
    try output.flush()
  }
}

extension JSONWriter {
  /// Writes the members of the document of `info` and `init`.
  ///
  /// - Parameter writer: the holder of the write lock, if requested; the inner optional is nil if the lock is free.
  mutating func storeInfo(_ info: StoreInfo, writer: WriteLockHolder?? = nil) {
    member("store", info.uuid.uuidString)
    member("format", info.formatVersion)
    member("model", info.modelName)
    nullable("modelVersion", info.modelVersion)
    member("modelHash", info.modelHash)
    member("objects", info.objectCount)
    member("counts", info.counts)
    member("fileBytes", info.fileBytes)
    member("commit", info.commit)
    member("snapshots", info.snapshotCount)
    if let writer { self.writer(writer) }
  }
}
