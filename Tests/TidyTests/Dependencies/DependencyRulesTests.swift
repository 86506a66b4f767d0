import Testing

/// Shows that each rule fails on what it is there for.
struct DependencyRulesTests {
  private static let targets = [
    PackageTarget(name: "KVBase", path: "Sources/KVBase", dependencies: []),
    PackageTarget(name: "KVTop", path: "Sources/KVTop", dependencies: ["KVBase"]),
  ]

  private func program(_ sources: [(path: String, text: String)]) -> SourceProgram {
    SourceProgram(sources, modules: Self.targets)
  }

  /// The edges between folders, as `A -> B`, of sources in `Sources/KVTop/<folder>/<name>.swift`.
  private func edges(_ sources: KeyValuePairs<String, String>) -> [String] {
    let program = program(sources.map { ("Sources/KVTop/\($0.key)/\($0.key).swift", $0.value) })
    let finder = UseFinder(program)
    finder.findAll()
    let edges = DependencyGraph.all(of: program, finder.uses).flatMap(\.uses.keys).sorted()
    return edges.map { $0.description.replacing("Sources/KVTop/", with: "") }
  }

  private func cycles(_ sources: [(path: String, text: String)]) -> [String] {
    let program = program(sources)
    let finder = UseFinder(program)
    finder.findAll()
    return DependencyRules.cycles(program, DependencyGraph.all(of: program, finder.uses))
  }

  // MARK: Cycles

  private static let planted: [(path: String, text: String)] = [
    ("Sources/KVTop/Store/Store.swift", "struct Store {\n  func read() {}\n}\n"),
    ("Sources/KVTop/Clone/Clone.swift", "extension Store {\n  func clone() { read() }\n}\n"),
    ("Sources/KVTop/Query/Query.swift", "struct Query {\n  var store: Store\n  func run() { store.clone() }\n}\n"),
  ]

  @Test func aCycleThroughAnExtensionIsFoundWithItsPath() {
    #expect(cycles(Self.planted).isEmpty)
    let back: (String, String) = (
      "Sources/KVTop/Store/Open.swift", "extension Store {\n  func open() {\n    clone()\n  }\n}\n"
    )
    let found = cycles(Self.planted + [back])
    #expect(found.count == 1)
    let text = found.first ?? ""
    #expect(
      text.hasPrefix(
        "a cycle in Sources/KVTop: Sources/KVTop/Clone → Sources/KVTop/Store → Sources/KVTop/Clone\n"))
    #expect(
      text.contains("Sources/KVTop/Store/Open.swift:3 uses Store.clone() of Sources/KVTop/Clone/Clone.swift:2"))
    #expect(text.contains("Sources/KVTop/Clone/Clone.swift:2 uses Store.read() of Sources/KVTop/Store/Store.swift:2"))
  }

  @Test func theShortestCycleIsShown() {
    let found = cycles([
      ("Sources/KVTop/A/A.swift", "struct A { var b: B }"), ("Sources/KVTop/B/B.swift", "struct B { var c: C }"),
      ("Sources/KVTop/C/C.swift", "struct C { var a: A?; var d: D }"),
      ("Sources/KVTop/D/D.swift", "enum D { case c(C) }"),
    ])
    #expect(found.first?.contains(": Sources/KVTop/C → Sources/KVTop/D → Sources/KVTop/C\n") == true, "\(found)")
  }

  @Test func nestedFoldersAreComparedWhereTheyPart() {
    let found = cycles([
      ("Sources/KVTop/Clone/Into/Into.swift", "struct Into { var plan: Plan? }"),
      ("Sources/KVTop/Clone/Plan.swift", "final class Plan { var into: Into? }"),
    ])
    #expect(found.first?.hasPrefix("a cycle in Sources/KVTop/Clone: ") == true, "\(found)")
  }

  @Test func aCycleBetweenModulesIsFound() {
    let targets = [
      PackageTarget(name: "KVBase", path: "Sources/KVBase", dependencies: ["KVTop"]),
      PackageTarget(name: "KVTop", path: "Sources/KVTop", dependencies: ["KVBase"]),
    ]
    let program = SourceProgram(
      [
        ("Sources/KVBase/A.swift", "import KVTop\npackage struct A { var b: B }"),
        ("Sources/KVTop/B.swift", "import KVBase\npackage struct B { var a: [A] }"),
      ], modules: targets)
    let finder = UseFinder(program)
    finder.findAll()
    let found = DependencyRules.cycles(program, DependencyGraph.all(of: program, finder.uses))
    #expect(found.first?.hasPrefix("a cycle in modules: KVBase → KVTop → KVBase\n") == true, "\(found)")
  }

  // MARK: Uses

  @Test func commentsStringsAndLabelsAreNoUses() {
    let base = "struct Store { func read() {} }\nfunc helper() {}"
    #expect(edges(["A": base, "B": "// Store\n/* helper() /* Store */ */\nlet text = \"Store helper()\"\n"]).isEmpty)
    #expect(
      edges(["A": base, "B": "let text = \"\"\"\n  Store \"helper()\"\n  \"\"\"\nlet raw = #\"\\(Store.self)\"#"])
        .isEmpty)
    #expect(edges(["A": base, "B": "func use(helper: Int) { print(helper, helper: helper) }"]).isEmpty)
    #expect(edges(["A": base, "B": "let text = \"a \\(helper()) b\""]) == ["B -> A"])
    #expect(edges(["A": base, "B": "let raw = #\"a \\#(Store.self)\"#"]) == ["B -> A"])
  }

  @Test func aMemberBelongsToTheTypeOfItsReceiver() {
    let store = "struct Store { var size: Int }\nextension Store { func find() -> Page { Page() } }"
    let page = "struct Page { var size: Int; func find() {} }"
    let from = { (body: String) in
      self.edges(["Store": store, "Page": page, "Use": "func use(_ s: Store) { \(body) }"])
    }
    #expect(from("_ = s.size") == ["Store -> Page", "Use -> Store"])
    #expect(from("s.find().find()") == ["Store -> Page", "Use -> Page", "Use -> Store"])
    #expect(from("let p = s.find(); _ = [p].map { $0.size }") == ["Store -> Page", "Use -> Page", "Use -> Store"])
    #expect(from("for p in [s.find()] where p.size > 0 { }") == ["Store -> Page", "Use -> Page", "Use -> Store"])
  }

  @Test func anAmbiguousNameIsNoUse() {
    let use = """
      func use(_ x: some Any) { unknown(x).find() }
      func unknown<T, U>(_ x: T) -> U { fatalError() }
      let a: A?
      let b: B?
      """
    let both: KeyValuePairs = ["A": "struct A { func find() {} }", "B": "struct B { func find() {} }", "Use": use]
    #expect(edges(both) == ["Use -> A", "Use -> B"])
    let program = program([
      ("Sources/KVTop/A/A.swift", "struct A { func find() {} }"),
      ("Sources/KVTop/B/B.swift", "struct B { func find() {} }"),
      ("Sources/KVTop/Use/Use.swift", use),
    ])
    let finder = UseFinder(program)
    finder.findAll()
    #expect(finder.uses.map { program.symbol($0.declaration) } == ["A", "B"])
  }

  @Test func labelsDistinguishOverloads() {
    let sources: KeyValuePairs = [
      "Store": "struct Store {}", "A": "extension Store { func put(_ id: Int, key: Int) {} }",
      "B": "extension Store { func put(_ id: Int, value: Int = 0, _ body: () -> Void) {} }",
      "Use": "func use(_ store: Store) { store.put(1) { } }",
    ]
    #expect(edges(sources) == ["A -> Store", "B -> Store", "Use -> B", "Use -> Store"])
  }

  @Test func namesOfOtherScopesAreNoUses() {
    let base = "private struct Frame {}\nstruct Outer { struct Inner {} }\nfunc size() -> Int { 1 }"
    #expect(edges(["A": base, "B": "struct Frame {}\nlet frame = Frame()"]).isEmpty)
    #expect(edges(["A": base, "B": "struct Box<Outer> { var value: Outer }"]).isEmpty)
    #expect(edges(["A": base, "B": "func use() { let size = 1; print(size) }"]).isEmpty)
    #expect(edges(["A": base, "B": "struct Own { struct Inner {}; var inner: Inner }"]).isEmpty)
    #expect(edges(["A": base, "B": "extension Outer.Inner { var a: Int { size() } }"]) == ["B -> A"])
  }

  @Test func casesArgumentsAndErrorsAreUses() {
    let base = "enum Mode { case fast, slow(Int) }\nstruct Failure: Error {}"
    #expect(edges(["A": base, "B": "struct Options { var mode: Mode = .fast }"]) == ["B -> A"])
    let chain: KeyValuePairs = [
      "A": base, "B": "struct Options { var mode = Mode.fast; func run() throws(Failure) {} }",
      "C": "func use(_ o: Options) { if case .slow(let n) = o.mode { print(n) } }",
    ]
    #expect(edges(chain) == ["B -> A", "C -> A", "C -> B"])
  }

  @Test func targetsAreReadFromTheManifest() throws {
    let targets = PackageTarget.targets(inManifest: try #require(PackageFiles.text("Package.swift")))
    let tool = try #require(targets.first { $0.name == "KVCloneTool" })
    #expect(tool.path == "Tools/kvclone")
    #expect(tool.dependencies.contains("KVClone"))
    #expect(targets.contains { $0.name == "KVCloneModel" && $0.path == "Sources/KVCloneModel" })
  }

  // MARK: Sizes

  @Test func largeModulesTypesAndFoldersAreFound() {
    let line = "  func a() {}\n"
    let half = String(repeating: line, count: 800)
    let large: [(path: String, text: String)] = [
      ("Sources/KVTop/A/A.swift", "struct Large {\n\(half)}\n"),
      ("Sources/KVTop/B/B.swift", "extension Large {\n\(half)}\n"),
      (
        "Sources/KVTop/B/C.swift",
        "enum Space { struct Inner {\n\(half)} }\nextension Space { struct Other {\n\(half)} }\n"
      ),
    ]
    #expect(DependencyRules.oversized(program(large)).map(\.key) == ["KVTop.Large: lines"])
    let parts = (0..<13).map { (path: "Sources/KVTop/\($0)/\($0).swift", text: "extension Wide {}") }
    let wide = [(path: "Sources/KVTop/0/Wide.swift", text: "struct Wide {}")] + parts
    #expect(DependencyRules.oversized(program(wide)) == [.init(name: "KVTop.Wide", unit: .files, value: 14, limit: 12)])
    let flat = (0..<26).map { (path: "Sources/KVTop/Flat/\($0).swift", text: "") }
    #expect(DependencyRules.oversized(program(flat)).map(\.key) == ["Sources/KVTop/Flat: files"])
    let long = [(path: "Sources/KVTop/A/A.swift", text: String(repeating: "\n", count: 18_001))]
    #expect(DependencyRules.oversized(program(long)).map(\.key) == ["KVTop: lines"])
  }
}
