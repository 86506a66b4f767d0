import ArgumentParser
import Foundation

/// Model paths in options and arguments.
enum ModelPath {
  /// The accepted kinds of paths.
  static let forms = "a .xcdatamodeld or .xcdatamodel folder, or compiled: a .momd folder, a .mom or .omo file"

  /// A compiled version is a file, all others are folders.
  static let completion = CompletionKind.file()

  /// A version's name without the extension of its folder or file.
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
