import ArgumentParser
import Foundation
import KVClone
import KVCloneGenerator
import KVCloneOperations

extension ModelCommand {
  struct Generate: WholeStoreCommand {
    static let configuration = CommandConfiguration(
      commandName: "generate", abstract: "Generates Swift for a model: a struct per entity, and the model.",
      discussion: """
        The output is deterministic, and unchanged files are not rewritten. These userInfo keys control it: swiftName \
        renames an entity or a property, documentation adds a doc comment, and swiftEnum types an attribute as an \
        enum: `Priority: low = 0, high` generates one, `Priority` uses an existing one.
        """,
      examples: ["kvclone model generate Notes.xcdatamodeld -o Sources/App/Model"])

    @OptionGroup var global: GlobalOptions

    @Argument(
      help: ArgumentHelp("The model: \(ModelPath.forms).", valueName: "model"), completion: ModelPath.completion)
    var path: String

    @Option(
      name: .shortAndLong,
      help: ArgumentHelp("The output folder, which is created if its parent exists.", valueName: "folder"),
      completion: .directory)
    var output: String

    @Option(name: .customLong("model-version"), help: "The model version (default: the current one).")
    var modelVersion: String?

    @Option(help: "Access level: public or internal.")
    var access: Access = .public

    enum Access: String, CaseIterable, ExpressibleByArgument { case `public`, `internal` }

    @Option(help: ArgumentHelp("Nest all types in this existing enum (default: none).", valueName: "name"))
    var namespace: String?

    @Option(
      name: .customLong("single-file"), help: ArgumentHelp("Write a single file with this name.", valueName: "name"))
    var singleFile: String?

    func validate() throws {
      let names = namespace?.split(separator: ".", omittingEmptySubsequences: false) ?? []
      let areNames = names.allSatisfy { name in
        !(name.first?.isNumber ?? true) && name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
      }
      if !areNames { throw ValidationError("--namespace needs the name of an enum") }
    }

    func run() throws {
      let loaded = try ManagedObjectModel.load(contentsOf: path, version: modelVersion)
      for warning in loaded.warnings { global.note("kvclone: warning: \(warning)") }
      let files: [GeneratedFile]
      do {
        let generator = try ModelGenerator(
          loaded.model,
          options: ModelGenerator.Options(access: access == .public ? .public : .internal, namespace: namespace))
        files = try singleFile.map { [try generator.singleFile(named: $0)] } ?? generator.files()
      } catch let error as GeneratorError {
        throw Failure("cannotGenerate", error.description, entity: error.entity, property: error.property)
      }
      let folder = URL(fileURLWithPath: self.output, isDirectory: true)
      try TransferFiles.prepareDirectory(self.output, mode: 0o777)
      var written: [String] = []
      for file in files where try write(file, into: folder) { written.append(file.name) }
      try report(files, written)
    }

    /// Writes a file if it does not exist or differs; returns whether it did.
    private func write(_ file: GeneratedFile, into folder: URL) throws -> Bool {
      let url = folder.appendingPathComponent(file.name)
      let data = Data(file.text.utf8)
      if (try? Data(contentsOf: url)) == data { return false }
      do {
        try data.write(to: url, options: .atomic)
      } catch {
        throw Failure(file: error, "\(url.path) cannot be written")
      }
      return true
    }

    private func report(_ files: [GeneratedFile], _ written: [String]) throws {
      try global.report { json in
        json.member("files", files.map(\.name))
        json.member("written", written.count)
      } text: { output in
        for name in written { try output.line(name) }
      }
    }
  }
}
