import Testing

/// Shows that each rule fails on what it is there for.
struct SourceRulesTests {
  @Test(arguments: [
    "import Glibc", "  import Glibc", "public import CKVCloneLMDB", "@preconcurrency import Darwin",
    "@_exported public import Musl", "import struct Glibc.stat", "import Glibc.POSIX",
    "import Foundation; import Glibc",
    "@_spi(Inner) import CKVCloneLMDB", "import `Glibc`",
  ])
  func findsCOutsideItsModule(line: String) {
    let source = "// a file\n\(line)\n"
    let elsewhere = SourceRules.importsOfC(in: "Sources/KVClone/Engine/File.swift", source)
    #expect(elsewhere.count == 1)
    #expect(elsewhere.first?.hasPrefix("Sources/KVClone/Engine/File.swift:2: KVClone imports") == true)
    #expect(SourceRules.importsOfC(in: "Tools/kvclone/File.swift", source).count == 1)
    #expect(SourceRules.importsOfC(in: "Sources/KVCloneLMDB/File.swift", source).isEmpty)
  }

  @Test(arguments: ["// import Glibc", "#if canImport(Glibc)", "let important = Glibc", "import GlibcFriends"])
  func letsOtherLinesPass(line: String) {
    #expect(SourceRules.importsOfC(in: "Sources/KVClone/File.swift", line).isEmpty)
  }

  @Test(arguments: [
    ("Sources/KVCloneModel/A.swift", "package import KVCloneRecords"),
    ("Sources/KVCloneRecords/A.swift", "import KVCloneLMDB"),
    ("Sources/KVCloneRecords/A.swift", "import KVClone"),
    ("Sources/KVCloneLMDB/A.swift", "import KVCloneModel"),
    ("Sources/KVCloneCoreData/A.swift", "public import KVCloneRecords"),
    ("Sources/KVClone/Engine/A.swift", "import KVCloneTool"),
    ("Tools/kvclone/A.swift", "import KVCloneLMDB"),
    ("Benchmarks/Sources/X/A.swift", "import KVCloneRecords"),
    ("Sources/KVCloneNew/A.swift", "import Foundation"),
  ])
  func findsArrowsThatPointUp(path: String, line: String) {
    #expect(SourceRules.importsUpward(in: path, line + "\n").count == 1)
  }

  @Test(arguments: [
    ("Sources/KVCloneRecords/A.swift", "package import KVCloneModel"),
    ("Sources/KVClone/A.swift", "import KVCloneLMDB"),
    ("Tools/kvclone/A.swift", "import KVClone"),
    ("Tests/KVCloneTests/A.swift", "@testable import KVCloneLMDB"),
    ("Sources/KVClone/Documentation.docc/Resources/a.swift", "import KVCloneMerge"),
  ])
  func letsArrowsPass(path: String, line: String) {
    #expect(SourceRules.importsUpward(in: path, line + "\n").isEmpty)
  }

  @Test func findsLongFiles() {
    let limit = String(repeating: "let x = 1\n", count: 500)
    #expect(SourceRules.tooLong("Sources/KVClone/A.swift", limit).isEmpty)
    #expect(SourceRules.tooLong("Sources/KVClone/A.swift", limit + "let y = 2").count == 1)
    #expect(SourceRules.tooLong("Tools/kvclone-faults/Shim/a.c", limit + limit).count == 1)
    #expect(SourceRules.tooLong("Sources/KVClone/Format.md", limit + limit).isEmpty)
  }

  @Test func findsWhatIsNeverInlined() {
    let type = "package struct A {\n  @inlinable package var b: Int { 1 }\n}\n"
    #expect(SourceRules.neverInlined(in: "Sources/X/A.swift", type).count == 1)
    #expect(SourceRules.neverInlined(in: "Sources/X/A.swift", "@usableFromInline\n" + type).isEmpty)
    let beside = "package struct A {\n}\n@inlinable func b() {}\n"
    #expect(SourceRules.neverInlined(in: "Sources/X/A.swift", beside).isEmpty)
  }

  @Test(arguments: ["work", "root", "home", "Users"])
  func findsPathsOfAMachine(folder: String) {
    for line in ["/\(folder)/main", "let path = \"/\(folder)/me/x\"", "see (/\(folder)/shared)", "a:/\(folder)/b"] {
      #expect(SourceRules.machinePaths(in: "README.md", "first\n" + line).count == 1, "\(line)")
    }
    for line in ["https://example.org/\(folder)/x", "../\(folder)/x", "/\(folder)place/x"] {
      #expect(SourceRules.machinePaths(in: "README.md", line).isEmpty, "\(line)")
    }
  }

  @Test func findsWhatIsNotToBeTracked() {
    #expect(SourceRules.unwanted("Package.resolved").count == 1)
    #expect(SourceRules.unwanted("Benchmarks/Package.resolved").count == 1)
    #expect(SourceRules.unwanted(".build/debug/x").count == 1)
    #expect(SourceRules.unwanted("Sources/KVClone/Resolved.swift").isEmpty)
  }
}
