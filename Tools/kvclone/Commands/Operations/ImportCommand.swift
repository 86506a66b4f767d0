import ArgumentParser
import KVClone
import KVCloneExplorer
import KVCloneOperations

struct ImportCommand: WholeStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Imports a Core Data SQLite store into a new store; exit code 3 if broken rows were skipped.",
    discussion: """
      Reads the database, its -wal file and the files in its .NAME_SUPPORT folder, and changes none of them. Quit the \
      app first, or import a copy of all of them. The store must not exist; it appears only when the import is \
      complete.

      Objects keep their keys: the row of ZNOTE with Z_PK 12 becomes Note/12. The persistent history and the tables of \
      CloudKit are not imported.

      Values are read as Core Data reads them. The import fails on a value or link that Core Data could not use, and \
      on a violated rule of the model, such as NULL in a required attribute. With --skip-broken, it imports the \
      objects and lists the problems.
      """,
    examples: [
      "kvclone import --plan App.sqlite",
      "kvclone -s app.kvclone import App.sqlite --model App.xcdatamodeld",
      "kvclone -s app.kvclone import App.sqlite --model App.app/App.momd --model-version \"App 2\"",
      "kvclone -s app.kvclone import App.sqlite --skip-broken --json",
    ])

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The Core Data database.", valueName: "core-data.sqlite"), completion: .file())
  var database: String

  @Option(
    help: ArgumentHelp(
      "The model that wrote the database: \(ModelPath.forms) (default: the model stored in the database).",
      valueName: "path"), completion: ModelPath.completion)
  var model: String?

  @Option(name: .customLong("model-version"), help: "The model version (default: the current one).")
  var modelVersion: String?

  @Flag(
    name: .customLong("skip-broken"),
    help: "Skip broken values and links, list them, and exit with code 3.")
  var skipsBroken = false

  @Flag(
    name: [.customShort("n"), .customLong("plan")],
    help:
      """
      Print what would be imported, omitted and rejected, by importing into a temporary store: exit code 1 if the \
      import would fail.
      """
  )
  var isPlan = false

  func validate() throws {
    if database.isEmpty { throw ValidationError("the database is an empty string; give a path") }
    if modelVersion != nil, model == nil { throw ValidationError("--model-version works only with --model") }
  }

  func run() throws { try namingVersions { try runImport() } }

  private func runImport() throws {
    // Optional for a dry run: without it, the path is not checked.
    let path =
      isPlan && !global.hasStore
      ? nil
      : try global.storePath(
        for: "an import", remedy: "import into a directory, and copy that to the cluster (kvclone copy)")
    var options = CoreDataImportOptions()
    if let model {
      let loaded = try ManagedObjectModel.load(contentsOf: model, version: modelVersion)
      for warning in loaded.warnings { global.note("kvclone: warning: \(warning)") }
      options.model = loaded.model
    }
    options.skipsBroken = skipsBroken || isPlan
    let settings = options
    let bar = ProgressBar(isPlan ? "import plan" : "import", unit: "objects", total: nil, global)
    let report = try Interruption.cancelling(bar) { progress, cancellation in
      guard let path, !isPlan else {
        return try ObjectStore.planCoreDataImport(
          from: database, to: path, options: settings, progress: progress, cancellation: cancellation)
      }
      return try ObjectStore.importCoreData(
        from: database, to: path, options: settings, progress: progress, cancellation: cancellation)
    }
    try global.show {
      write(report, path, &$0)
    } text: { output in
      try writeText(report, path, output)
    }
    if report.skippedCount > 0 {
      throw ExitCode(skipsBroken ? Failure.Code.unreadable : Failure.Code.failure)
    }
  }

  /// The number of skipped items that are printed in full. A dry run prints more, because all of them are reasons.
  private var shownSkipped: Int { isPlan ? 100 : 20 }

  /// Runs an import, and lists the available versions if the model does not match.
  private func namingVersions(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as CoreDataImportError {
      guard error.kind == .modelMismatch, let model, let versions = try? ManagedObjectModel.modelVersions(at: model),
        versions.names.count > 1
      else { throw error }
      var failure = Failure(
        error.kindName, "\(error.message); versions of \(model) (--model-version):", entity: error.entity,
        property: error.property, object: error.object)
      failure.choices = versions.names
      throw failure
    }
  }

  private func writeText(_ report: CoreDataImportReport, _ path: String?, _ output: Output) throws {
    let verb = isPlan && !skipsBroken ? "would be rejected" : "skipped"
    for skipped in report.skipped.prefix(shownSkipped) {
      try output.line("\(verb): \(skipped.error.kindName): \(skipped.error.message)")
    }
    if report.skippedCount > shownSkipped {
      try output.line("and \(report.skippedCount - shownSkipped) more")
    }
    for conversion in report.conversions.prefix(shownSkipped) {
      try output.line(
        "converted: \(conversion.object) \(conversion.property): not of the attribute's type, read like Core Data does"
      )
    }
    if report.conversionCount > shownSkipped {
      try output.line("and \(report.conversionCount - shownSkipped) more")
    }
    if !global.quiet {
      let objects = "\(Text.count(report.objectCount, "object")), \(Text.count(report.linkCount, "link"))"
      let size = "\(Text.bytes(report.binaryByteCount)) of binary values"
      if let path, !isPlan {
        try output.line(
          "imported \(objects), \(size) to \(path): \(Text.bytes(report.byteCount)) in "
            + Text.seconds(report.duration.inSeconds))
      } else {
        try output.line("would import \(objects), \(size)")
      }
      for (entity, count) in report.counts.sorted(by: { $0.key < $1.key }) { try output.line("  \(entity)  \(count)") }
      if report.externalFileCount > 0 {
        try output.line(
          "external files: \(report.externalFileCount), \(Text.bytes(report.externalByteCount))")
      }
      if !report.externalAttributes.isEmpty {
        try output.line("read as stored externally: \(report.externalAttributes.joined(separator: ", "))")
      }
      if !report.modelOmissions.isEmpty {
        try output.line("not in the database's model: \(report.modelOmissions.joined(separator: ", ")) (use --model)")
      }
      for item in report.omissions {
        try output.line("omitted: \(item.name): \(item.reason)")
      }
    }
    try output.flush()
  }

  private func write(_ report: CoreDataImportReport, _ path: String?, _ json: inout JSONWriter) {
    json.member("source", database)
    json.nullable("store", isPlan ? nil : path)
    json.member("committed", !isPlan)
    json.member("model", report.modelName)
    json.nullable("modelVersion", report.modelVersion)
    json.member("storedModel", report.isStoredModel)
    json.member("modelOmissions", report.modelOmissions)
    json.member("objects", report.objectCount)
    json.member("counts", report.counts)
    json.member("links", report.linkCount)
    json.member("bytes", report.binaryByteCount)
    json.member("externalFiles", report.externalFileCount)
    json.member("externalBytes", report.externalByteCount)
    json.member("externalAttributes", report.externalAttributes)
    json.member("fileBytes", report.byteCount)
    json.member("skippedCount", report.skippedCount)
    json.list("skipped", report.skipped) { json, skipped in
      json.skipped(skipped.error, isWholeObject: skipped.isWholeObject)
    }
    json.member("conversionCount", report.conversionCount)
    json.list("conversions", report.conversions) { json, conversion in
      json.member("entity", conversion.entity)
      json.member("object", conversion.object)
      json.member("property", conversion.property)
    }
    json.list("leftOut", report.omissions) { json, item in
      json.member("name", item.name)
      json.member("reason", item.reason)
    }
    json.member("seconds", report.duration.inSeconds)
  }
}
