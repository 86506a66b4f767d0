import Foundation
import Testing

/// Holds this package to its own rules.
struct TidyTests {
  @Test func cIsCalledInOneModule() {
    let broken = check(SourceRules.importsOfC)
    #expect(broken.isEmpty, "\(broken.joined(separator: "\n"))")
  }

  @Test func arrowsBetweenModulesPointDown() {
    let broken = check(SourceRules.importsUpward)
    #expect(broken.isEmpty, "\(broken.joined(separator: "\n"))")
  }

  @Test func filesAreShort() {
    let broken = check(SourceRules.tooLong)
    #expect(broken.isEmpty, "\(broken.joined(separator: "\n"))")
  }

  @Test func whatIsInlinableCanBeInlined() {
    let broken = check(SourceRules.neverInlined)
    #expect(broken.isEmpty, "\(broken.joined(separator: "\n"))")
  }

  @Test func noFileNamesAMachine() {
    let broken = check(SourceRules.machinePaths)
    #expect(broken.isEmpty, "\(broken.joined(separator: "\n"))")
  }

  @Test(.enabled(if: PackageFiles.tracked != nil, "this is no git checkout"))
  func nothingUnwantedIsTracked() throws {
    let broken = try #require(PackageFiles.tracked).flatMap(SourceRules.unwanted)
    #expect(broken.isEmpty, "\(broken.joined(separator: "\n"))")
  }

  /// A rule that looks at nothing finds nothing wrong.
  @Test func theRulesSeeTheSource() {
    let seen = Set(PackageFiles.all.filter { $0.hasSuffix(".swift") }.compactMap(SourceRules.module(ofFile:)))
    let modulesOfC: Set = ["CKVCloneLMDB", "CKVClonePostgres", "CKVCloneYardstick"]
    #expect(seen.union(modulesOfC) == Set(SourceRules.allowedImports.keys))
  }

  private func check(_ rule: (String, String) -> [String]) -> [String] {
    PackageFiles.all.flatMap { path in PackageFiles.text(path).map { rule(path, $0) } ?? [] }
  }
}
