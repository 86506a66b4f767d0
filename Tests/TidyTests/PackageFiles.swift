import Foundation

/// The files of this package.
enum PackageFiles {
  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

  /// The paths of files that git tracks or would add, relative to the root; nil where this is not a git checkout.
  static let tracked: [String]? = git()

  /// The files that git lists, or, in an unpacked archive, all files of the package's folders.
  static var all: [String] { tracked ?? walk() }

  static func text(_ path: String) -> String? {
    guard let data = FileManager.default.contents(atPath: root + "/" + path) else { return nil }
    return String(data: data, encoding: .utf8)
  }

  private static func git() -> [String]? {
    guard FileManager.default.fileExists(atPath: root + "/.git") else { return nil }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    // A checkout of another user, as in a container, is read, too.
    process.arguments = [
      "git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard",
    ]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { return nil }
    return data.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
  }

  private static func walk() -> [String] {
    ["Sources", "Tests", "Tools", "Benchmarks"].flatMap { folder in
      let items = FileManager.default.enumerator(atPath: root + "/" + folder)
      var found: [String] = []
      while let item = items?.nextObject() as? String {
        if !item.split(separator: "/").contains(where: { $0.hasPrefix(".build") }) { found.append("\(folder)/\(item)") }
      }
      return found
    } + ["Package.swift", "README.md"]
  }
}
