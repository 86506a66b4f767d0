import Foundation
import PackagePlugin

/// Generates Swift for every model of a target, as `kvclone model generate` does, and adds it to the target.
///
/// Models are `.xcdatamodeld` folders, and compiled `.momd` folders and `.mom` files. If a model exists in several forms,
/// the plugin uses the source. It finds models that the target excludes. Exclude them, because SwiftPM has no rule for
/// them.
@main
struct KVCloneModelPlugin: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let tool = try context.tool(named: "KVCloneModelTool").url
    return bundles(in: target.directoryURL).map { bundle in
      // Generates a single file, because the entities are unknown before the model is read. File names in a target must
      // be unique, and a file like `Notebook.swift` probably exists.
      let name = "ManagedObjectModel+" + bundle.deletingPathExtension().lastPathComponent + ".swift"
      let output = context.pluginWorkDirectoryURL.appendingPathComponent(name)
      return .buildCommand(
        displayName: "Generating Swift for \(bundle.lastPathComponent)", executable: tool,
        arguments: [bundle.path, output.path], inputFiles: contents(of: bundle), outputFiles: [output])
    }
  }

  private func bundles(in folder: URL) -> [URL] {
    let all = descendants(of: folder)
    var names: Set<String> = []
    return ["xcdatamodeld", "momd", "mom"].flatMap { form in
      all.filter { $0.pathExtension == form && $0.deletingLastPathComponent().pathExtension != "momd" }
    }.filter { names.insert($0.deletingPathExtension().lastPathComponent).inserted }
  }

  /// Returns the files that determine the output: the versions, and the name of the current one.
  private func contents(of bundle: URL) -> [URL] {
    if bundle.pathExtension == "mom" { return [bundle] }
    return descendants(of: bundle).filter {
      ["contents", ".xccurrentversion", "VersionInfo.plist"].contains($0.lastPathComponent) || $0.pathExtension == "mom"
    }
  }

  private func descendants(of folder: URL) -> [URL] {
    let items = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    return (items?.compactMap { $0 as? URL } ?? []).sorted { $0.path < $1.path }
  }
}
