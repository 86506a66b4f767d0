import Foundation
import Testing

/// Packages of traits are neither fetched nor compiled without their traits.
struct TraitTests {
  /// The packages of every build.
  private static let always: Set = ["swift-argument-parser", "swift-log"]
  /// Modules of the others.
  private static let optional: Set = [
    "Tracing", "InMemoryTracing", "Configuration", "ServiceLifecycle", "CoreMetrics", "MetricsTestKit", "FlyingFox",
    "FlyingSocks",
  ]

  @Test func dependenciesOfTraitsAreConditional() throws {
    let manifest = try #require(PackageFiles.text("Package.swift"))
    let product = /\.product\(\s*name: "\w+", package: "([^"]+)"(, condition: \w+)?\s*\)/
    let uses = manifest.matches(of: product)
    #expect(uses.contains { $0.output.2 != nil })
    #expect(uses.count == manifest.ranges(of: ".product(").count, "a dependency is written in another way")
    for use in uses where !Self.always.contains(String(use.output.1)) {
      #expect(use.output.2 != nil, "\(use.output.1) is a dependency without its trait: \(use.output.0)")
    }
  }

  @Test func modulesOfTraitsAreImportedUnderAConditionOnly() throws {
    let sources = PackageFiles.all.filter { $0.hasPrefix("Sources/") && $0.hasSuffix(".swift") }
    var count = 0
    for path in sources {
      let text = try #require(PackageFiles.text(path))
      guard SourceRules.imports(in: text).contains(where: { Self.optional.contains($0.module) }) else { continue }
      count += 1
      let lines = text.split(separator: "\n").filter { !$0.hasPrefix("//") }
      #expect(lines.first?.hasPrefix("#if ") == true && lines.last == "#endif", "\(path) is compiled without its trait")
    }
    #expect(count >= 5)
  }
}
