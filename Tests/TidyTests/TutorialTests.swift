import Foundation
import Testing

/// Every program of a tutorial is part of a source that is compiled, and every program is used.
struct TutorialTests {
  @Test func everyProgramOfTheTutorialIsCompiled() throws {
    let programs = PackageFiles.all.filter { $0.contains(".docc/Resources/") && $0.hasSuffix(".swift") }
    let compiled = PackageFiles.all.filter { $0.contains("/Samples/") && $0.hasSuffix(".swift") }.map { lines($0) }
    #expect(programs.count >= 12)
    for program in programs {
      #expect(
        compiled.contains { SampleTests.isPart(lines(program), of: $0) },
        "\(program) stands in no source that is compiled; put it into TutorialSamples.swift")
    }
  }

  @Test func theTutorialUsesEveryProgram() throws {
    let tutorials = PackageFiles.all.filter { $0.hasSuffix(".tutorial") }.compactMap(PackageFiles.text)
    var used: Set<String> = []
    for match in tutorials.joined().matches(of: /@Code\(name: "[^"]*", file: "([^"]*)"\)/) {
      used.insert(String(match.1))
    }
    let programs = PackageFiles.all.filter { $0.contains(".docc/Resources/") && $0.hasSuffix(".swift") }
    #expect(used == Set(programs.map { ($0 as NSString).lastPathComponent }))
  }

  private func lines(_ path: String) -> [String] {
    SampleTests.trimmed((PackageFiles.text(path) ?? "").split(separator: "\n", omittingEmptySubsequences: false))
  }
}
