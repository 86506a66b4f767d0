import Foundation
import Testing

/// The README stays short, its links lead to files, and the picture of a deep clone is the output of its script.
struct FrontDoorTests {
  @Test func theReadmeIsShort() throws {
    let text = try #require(PackageFiles.text("README.md"))
    #expect(text.utf8.count <= 7000, "\(text.utf8.count) bytes; move details to Features, Limits or Benchmarks")
  }

  @Test func relativeLinksLeadToFiles() throws {
    let pages = PackageFiles.all.filter {
      $0.hasSuffix(".md") && ($0 == "README.md" || $0.hasPrefix(".github/") || $0.hasPrefix("Examples/"))
    }
    var count = 0
    for page in pages {
      let folder = (page as NSString).deletingLastPathComponent
      for target in Self.relativeLinks(in: try #require(PackageFiles.text(page))) {
        count += 1
        let path = PackageFiles.root + "/" + (folder.isEmpty ? target : folder + "/" + target)
        #expect(FileManager.default.fileExists(atPath: path), "\(page) links to \(target)")
      }
    }
    #expect(count >= 15)
  }

  @Test func thePictureIsTheOutputOfItsScript() throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["bash", PackageFiles.root + "/Tools/picture", "--print"]
    let output = Pipe()
    process.standardOutput = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    let committed = PackageFiles.text("Sources/KVClone/Documentation.docc/Resources/deep-clone.svg")
    #expect(committed == String(decoding: data, as: UTF8.self), "run Tools/picture")
  }

  /// The targets of links and images that are neither addresses nor anchors of the same page.
  static func relativeLinks(in text: String) -> [String] {
    text.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }
      .filter { !$0.contains("://") && !$0.hasPrefix("#") }
      .map { String($0.prefix { $0 != "#" }) }
  }

  @Test func linksAreFound() {
    let text = "[a](b/c.md#d), ![e](f.svg) and [g](https://example.org), [h](#i)"
    #expect(Self.relativeLinks(in: text) == ["b/c.md", "f.svg"])
  }
}
