import Foundation
import PackagePlugin

/// Does what `kvclone model generate` does, for every model of a target, and adds what it writes to the target:
/// `.xcdatamodeld` folders, and compiled models, `.momd` folders and `.mom` files. Of a model that is there in several
/// forms, the source counts.
///
/// The folders are found whether or not the target excludes them; exclude them, because SwiftPM has no rule for them.
@main
struct KVCloneModelPlugin: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let tool = try context.tool(named: "KVCloneModelTool").url
    return bundles(in: target.directoryURL).map { bundle in
      // One file, because which entities a model has is not known before it is read. No target may have two files of one
      // name, and `Notebook.swift` is likely to be there.
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

  /// The files that say what is generated: the versions, and which of them is the current one.
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
