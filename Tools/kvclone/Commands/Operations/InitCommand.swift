import ArgumentParser
import KVClone

struct InitCommand: WholeStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "init", abstract: "Creates an empty store for a Core Data model.",
    discussion: """
      The path of the store must not exist, or be an empty directory that you own, such as a new volume; its mode \
      becomes 0700.
      """,
    examples: [
      "kvclone -s notes.kvclone init --model Notes.xcdatamodeld",
      "kvclone -s old.kvclone init --model Notes.xcdatamodeld --model-version \"Notes 2\"",
    ])

  @OptionGroup var global: GlobalOptions

  @Option(
    help: ArgumentHelp("The model: \(ModelPath.forms).", valueName: "path"), completion: ModelPath.completion)
  var model: String

  @Option(name: .customLong("model-version"), help: "The model version (default: the current one).")
  var modelVersion: String?

  @Flag(help: "On btrfs: keep copy-on-write and checksums enabled for the store's files (default: disabled).")
  var copyOnWrite = false

  func run() throws {
    let address = try global.storeAddress()
    if copyOnWrite { _ = try address.directory(for: "--copy-on-write") }
    let loaded = try ManagedObjectModel.load(contentsOf: model, version: modelVersion)
    for warning in loaded.warnings { global.note("kvclone: warning: \(warning)") }
    var options = StoreOptions()
    options.usesBtrfsCopyOnWrite = copyOnWrite
    let store = try Interruption.uninterrupted {
      try address.create(loaded.model, options)
    }
    defer { store.close() }
    let info = try store.info()
    try global.report {
      $0.storeInfo(info)
    } text: { output in
      try output.line("created \(address.name) with model \(info.modelName), version \(info.modelVersion ?? "none")")
    }
  }
}
