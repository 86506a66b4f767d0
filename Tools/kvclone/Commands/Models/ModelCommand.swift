import ArgumentParser
import KVClone
import KVCloneExplorer

struct ModelCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "model", abstract: "Shows, checks and compares models, and generates Swift for them.",
    examples: ["kvclone -s notes.kvclone model show", "kvclone model lint Notes.xcdatamodeld"],
    subcommands: [Show.self, ModelDiffCommand.self, Lint.self, Generate.self])

  struct Show: ToolCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Shows the model of the store, or a model file.",
      examples: [
        "kvclone -s notes.kvclone model show", "kvclone model show Notes.xcdatamodeld --format svg > notes.svg",
      ])

    @OptionGroup var global: GlobalOptions

    @Argument(
      help: ArgumentHelp("The model: \(ModelPath.forms) (default: the model of the store).", valueName: "model"),
      completion: ModelPath.completion)
    var path: String?

    @Option(help: "Output format: tree, json, mermaid, dot or svg (default: tree, or json with --json).")
    var format: Format?

    enum Format: String, CaseIterable, ExpressibleByArgument { case tree, json, mermaid, dot, svg }

    func run() throws {
      let model = try model()
      let output = Output()
      switch format ?? (global.json ? .json : .tree) {
      case .tree: try output.write(ModelText.tree(model, Style(global)))
      case .json: try output.line(try model.shownJSON())
      case .mermaid: try output.write(ModelSource.mermaid(model))
      case .dot: try output.write(ModelSource.dot(model))
      case .svg: try output.write(ModelDiagramSVG(ModelDiagram(model)).text)
      }
      try output.flush()
    }

    private func model() throws -> ManagedObjectModel {
      if let path { return try ManagedObjectModel.load(contentsOf: path).model }
      let store = try global.openStore(isReadOnly: true)
      defer { GlobalOptions.close(store) }
      return store.model
    }
  }

  struct Lint: WholeStoreCommand {
    static let configuration = CommandConfiguration(
      commandName: "lint", abstract: "Checks a model: prints warnings, and errors that make it unusable.",
      discussion: """
        Also compares the current version (or the given one) with its predecessor. Warns of objects and values that a \
        migration would lose without a renaming identifier, of renaming identifiers that match nothing, and of changes \
        from which no migration can be inferred.
        """,
      examples: [
        "kvclone model lint Notes.xcdatamodeld", "kvclone model lint Notes.xcdatamodeld --model-version \"Notes 2\"",
      ])

    @OptionGroup var global: GlobalOptions

    @Argument(
      help: ArgumentHelp("The model: \(ModelPath.forms).", valueName: "model"), completion: ModelPath.completion)
    var path: String

    @Option(name: .customLong("model-version"), help: "Check one version (default: all versions of the bundle).")
    var modelVersion: String?

    func run() throws {
      let output = Output()
      var findings = Findings()
      let versions = try modelVersion.map { [$0] } ?? ManagedObjectModel.modelVersions(at: path).names
      for version in versions {
        do {
          findings.add(try ManagedObjectModel.load(contentsOf: path, version: version).warnings)
        } catch {
          findings.errors.append(error)
        }
      }
      findings.add(try versionWarnings())
      if global.json {
        try output.json { findings.write(to: &$0) }
      } else {
        for warning in findings.warnings {
          let place = [warning.entity, warning.property].compactMap { $0 }.joined(separator: ".")
          let parts = [warning.file ?? path, place, warning.message].filter { !$0.isEmpty }
          try output.line(parts.joined(separator: ": "))
        }
        // The command ends with the first error; print the others.
        for error in findings.errors.dropFirst() { try output.line("error: \(error.description)") }
        try output.flush()
      }
      if let error = findings.errors.first { throw error }
    }

    /// Warnings about the current version as the successor of another one.
    private func versionWarnings() throws -> [ModelWarning] {
      guard let wanted = try modelVersion ?? ManagedObjectModel.modelVersions(at: path).current
      else { return [] }
      let name = ModelPath.withoutSuffix(wanted)
      let versions = try ManagedObjectModel.loadVersions(contentsOf: path).map(\.model)
      guard let place = versions.firstIndex(where: { $0.versionIdentifier == name }), place > 0 else { return [] }
      return versions[place].versionWarnings(since: versions[place - 1], through: versions).map { warning in
        var located = warning
        located.file = ModelPath.version(name, of: path)
        return located
      }
    }
  }

  /// The findings about several versions. Warnings about the bundle itself are found with each of them, and count once.
  private struct Findings {
    var errors: [ModelFileError] = []
    private(set) var warnings: [ModelWarning] = []
    private var seen: Set<ModelWarning> = []

    mutating func add(_ found: [ModelWarning]) {
      for warning in found where seen.insert(warning).inserted { warnings.append(warning) }
    }

    func write(to json: inout JSONWriter) {
      json.member("ok", errors.isEmpty)
      json.list("errors", errors) { json, error in
        json.member("kind", error.kind.rawValue)
        json.nullable("file", error.path)
        json.nullable("entity", error.entity)
        json.nullable("property", error.property)
        json.member("message", error.description)
      }
      json.warnings(warnings)
    }
  }
}
