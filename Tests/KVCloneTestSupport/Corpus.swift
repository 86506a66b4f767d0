import Foundation

/// Core Data files of public projects, which are not part of this package. `KVCLONE_CORPUS` names their folder; the
/// default is `../shared/corpus` beside the package. Tests that need the corpus are skipped with a message without it.
public enum Corpus {
  /// The folder of the corpus, or nil if it is missing.
  public static let root: String? = {
    let given = ProcessInfo.processInfo.environment["KVCLONE_CORPUS"]
    let package = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let path = given ?? package.deletingLastPathComponent().appendingPathComponent("shared/corpus").path
    return FileManager.default.fileExists(atPath: path + "/models") ? path : nil
  }()

  /// The message of tests that are skipped without the corpus.
  public static let missing = "there is no corpus: set KVCLONE_CORPUS to its folder"

  /// The paths of all `.xcdatamodeld` folders, sorted; empty without the corpus.
  public static func modelBundles() -> [String] {
    paths { $0.pathExtension == "xcdatamodeld" }
  }

  /// All versions of all bundles that have a `contents` file: the bundle's path and the version's name.
  public static func allContents() -> [(bundle: String, version: String)] {
    modelBundles().flatMap { bundle in
      let items = (try? FileManager.default.contentsOfDirectory(atPath: bundle)) ?? []
      return items.sorted().filter {
        $0.hasSuffix(".xcdatamodel") && FileManager.default.fileExists(atPath: "\(bundle)/\($0)/contents")
      }.map { (bundle, String($0.dropLast(".xcdatamodel".count))) }
    }
  }

  /// Returns the path of one project's bundle, such as `fatbobman__MOCloner/Model.xcdatamodeld`, or nil if it is
  /// missing.
  public static func modelBundle(_ relativePath: String) -> String? {
    guard let root else { return nil }
    let path = "\(root)/models/\(relativePath)"
    return FileManager.default.fileExists(atPath: path) ? path : nil
  }

  /// The paths of all `.xcmappingmodel` folders, sorted; empty without the corpus.
  public static func mappingModels() -> [String] {
    paths(in: "mappings") { $0.pathExtension == "xcmappingmodel" }
  }

  /// Returns the path of one project's mapping model, or nil if it is missing.
  public static func mappingModel(_ relativePath: String) -> String? {
    guard let root else { return nil }
    let path = "\(root)/mappings/\(relativePath)"
    return FileManager.default.fileExists(atPath: path) ? path : nil
  }

  /// Returns the path of a case from the field, stored beside the corpus, or nil if it is missing.
  public static func field(_ name: String) -> String? {
    guard let root else { return nil }
    let path = URL(fileURLWithPath: root).deletingLastPathComponent().path + "/field/" + name
    return FileManager.default.fileExists(atPath: path) ? path : nil
  }

  private static func paths(in folder: String = "models", where isWanted: (URL) -> Bool) -> [String] {
    guard let root else { return [] }
    let models = URL(fileURLWithPath: root + "/" + folder)
    let items = FileManager.default.enumerator(at: models, includingPropertiesForKeys: nil)
    var result: [String] = []
    while let url = items?.nextObject() as? URL {
      if isWanted(url) { result.append(url.path) }
    }
    return result.sorted()
  }
}
