import Testing

/// Checks the package against ``DependencyRules``.
struct DependencyTests {
  private struct Scan {
    var cycles: [String]
    var oversized: [DependencyRules.Size]
    var lineCount: Int
    var useCount: Int
    var levels: [String: Int]
  }

  /// The sources are read once for all tests.
  private static let scan: Scan = {
    let program = SourceProgram.package()
    let finder = UseFinder(program)
    finder.findAll()
    let graphs = DependencyGraph.all(of: program, finder.uses)
    return Scan(
      cycles: DependencyRules.cycles(program, graphs), oversized: DependencyRules.oversized(program),
      lineCount: program.files.reduce(0) { $0 + $1.lineCount }, useCount: finder.uses.count,
      levels: Dictionary(uniqueKeysWithValues: graphs.map { ($0.level, $0.uses.count) }))
  }()

  @Test func dependenciesPointOneWay() {
    #expect(Self.scan.cycles.isEmpty, "\(Self.scan.cycles.joined(separator: "\n"))")
  }

  @Test func modulesFoldersAndTypesAreSmall() {
    #expect(Self.scan.oversized.isEmpty)
  }

  /// A rule that looks at nothing finds nothing wrong.
  @Test func theRulesSeeTheSource() {
    #expect(Self.scan.lineCount > 50_000)
    #expect(Self.scan.useCount > 25_000)
    #expect(Self.scan.levels["modules", default: 0] >= 8)
    #expect(Self.scan.levels["Sources/KVClone", default: 0] >= 4)
  }
}
