import ArgumentParser
import Foundation

/// The paths of models, as options and arguments take them.
enum ModelPath {
  /// What a path may lead to.
  static let forms = "a .xcdatamodeld or .xcdatamodel folder, or compiled: a .momd folder, a .mom or .omo file"

  /// A compiled version is a file, all else a folder.
  static let completion = CompletionKind.file()

  /// A version's name without what its folder or file ends with.
  static func withoutSuffix(_ name: String) -> String {
    for suffix in [".xcdatamodel", ".mom"] where name.hasSuffix(suffix) { return String(name.dropLast(suffix.count)) }
    return name
  }

  /// The path of a version in a bundle.
  static func version(_ name: String, of bundle: String) -> String {
    let isCompiled = URL(fileURLWithPath: bundle).pathExtension == "momd"
    return "\(bundle)/\(name)" + (isCompiled ? ".mom" : ".xcdatamodel")
  }
}
