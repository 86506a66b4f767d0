import Foundation
import Testing

/// The version is stated in one place, and the texts that need it agree with that place.
struct VersionTests {
  private static var constant: Regex<(Substring, Substring)> { /static let current = "([0-9.]+)"/ }

  @Test func textsThatStateTheVersionAgree() throws {
    let source = try #require(PackageFiles.text("Sources/KVClone/PackageVersion.swift"))
    let version = try #require(source.firstMatch(of: Self.constant)).1
    #expect(version.wholeMatch(of: /\d+\.\d+\.\d+/) != nil)
    for path in PackageFiles.all where path.hasPrefix("Tools/kvclone/") {
      // The tool's own constant, as long as it has one.
      let match = PackageFiles.text(path)?.firstMatch(of: Self.constant)
      #expect(match == nil || match?.1 == version, "\(path) states \(match?.1 ?? "")")
    }
    var count = 0
    for path in PackageFiles.all where path.hasSuffix(".md") {
      for match in (PackageFiles.text(path) ?? "").matches(of: /KVClone", from: "([0-9.]+)"/) {
        count += 1
        #expect(match.1 == version, "\(path) depends on \(match.1)")
      }
    }
    #expect(count > 0)
  }
}
