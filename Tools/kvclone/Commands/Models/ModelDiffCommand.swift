import ArgumentParser
import Foundation
import KVClone
import KVCloneExplorer

struct ModelDiffCommand: WholeStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff", abstract: "Shows the differences between two model versions, and their effect on migration.",
    discussion: """
      FROM and TO are each a model (the current version of a .xcdatamodeld or .momd folder, a .xcdatamodel folder, a \
      .mom or .omo file) or a store.

      Each line is a difference: + added, - removed, R renamed, M changed. If no migration can be inferred for it, the \
      reason follows. Renaming identifiers are followed through the other versions of both bundles; a warning lists \
      those that match nothing.
      """,
    examples: [
      "kvclone model diff Notes.xcdatamodeld/Notes.xcdatamodel Next.xcdatamodel",
      "kvclone model diff notes.kvclone Notes.xcdatamodeld --exit-code",
    ])

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The earlier version.", valueName: "from"), completion: ModelPath.completion)
  var from: String

  @Argument(help: ArgumentHelp("The later version.", valueName: "to"), completion: ModelPath.completion)
  var to: String

  @Flag(name: .customLong("exit-code"), help: "Exit with code 5 if there are differences.")
  var tellsByCode = false

  func run() throws {
    let versions = try Self.versions(around: from) + (try Self.versions(around: to))
    let difference = ModelDifference(from: try model(at: from), to: try model(at: to), through: versions)
    try global.show { json in
      json.member("isInferable", difference.refusals.isEmpty)
      json.list("changes", difference.changes) { $0.change($1) }
      json.warnings(difference.warnings)
    } text: { output in
      for change in difference.changes {
        try output.line(change.line)
        if let reason = change.work.reason { try output.line("    cannot be inferred: \(reason)") }
      }
      try output.flush()
      for warning in difference.warnings { global.note("kvclone: warning: \(warning)") }
    }
    if tellsByCode, !difference.isEmpty { throw ExitCode(Failure.Code.different) }
  }

  /// The versions of the bundle that a path names or is in; empty for a store or a single version.
  private static func versions(around path: String) throws -> [ManagedObjectModel] {
    if ClusterURL.isURL(path) { return [] }
    let folder = URL(fileURLWithPath: path)
    let bundle = [folder, folder.deletingLastPathComponent()].first { $0.pathExtension == "xcdatamodeld" }
    return try bundle.map { try ManagedObjectModel.loadVersions(contentsOf: $0.path).map(\.model) } ?? []
  }

  private func model(at path: String) throws -> ManagedObjectModel {
    let address = try StoreAddress(path)
    let folder = URL(fileURLWithPath: path)
    if address.isDirectory, ManagedObjectModel.modelPathExtensions.contains(folder.pathExtension) {
      return try ManagedObjectModel.load(contentsOf: path).model
    }
    var options = StoreOptions()
    options.isReadOnly = true
    let store = try address.open(options)
    defer { store.close() }
    return store.model
  }
}
