import Testing

/// Shows that the rule fails on planted text, and on nothing else.
struct ProseRulesTests {
  private func problems(_ path: String, _ text: String) -> [String] {
    ProseRules.findings(in: path, text).map(\.description)
  }

  @Test func everyIdiomIsFoundInEveryKindOfText() {
    for idiom in ProseRules.idioms {
      // `told of` and others contain a shorter one; each is found at least once.
      let sentence = "It is so: \(idiom) here."
      #expect(!problems("README.md", sentence).isEmpty, "\(idiom)")
      #expect(!problems("Sources/KVClone/A.swift", "/// \(sentence)\npublic var a: Int").isEmpty, "\(idiom)")
      #expect(!problems("Sources/KVCloneLMDB/A.swift", "throw E(\"\(sentence)\")").isEmpty, "\(idiom)")
      #expect(!problems("Tools/kvclone/A.swift", "@Option(help: \"\(sentence)\") var a").isEmpty, "\(idiom)")
      #expect(!problems("Tools/demo", "#!/usr/bin/env bash\nsay \"\(sentence)\"").isEmpty, "\(idiom)")
    }
  }

  @Test func idiomsAreFoundAcrossLinesAndInAnyCase() {
    #expect(problems("README.md", "Read it once\nmore. Nobody\nreads.") == ["1: “once more”", "2: “nobody”"])
    #expect(problems("a.docc/A.tutorial", "@Step {\n  Who reads?\n}") == ["2: “who”"])
    let joined = "fail(\n  \"it was given \"\n    + \"up, because\")"
    #expect(problems("Sources/KVClone/A.swift", joined) == ["2: “given up”"])
    let long = "let a = \"\"\"\n  One writer.\n  Who writes \\(name(\"x\")) waits.\n  \"\"\""
    #expect(problems("Sources/KVClone/A.swift", long) == ["3: “who”"])
  }

  @Test func codeLinksAndOtherTextPass() {
    let article = """
      The option `who` and ``whoever(_:)``, and <doc:Told#Who> and [a page](https://example.org/who).
      <!-- who -->
      ```
      $ who
      ```
      <!-- capture: x -->
      who
      <!-- end of capture -->
      The whole wholesale, and whoso.
      """
    #expect(problems("README.md", article) == [])
    #expect(problems("Tests/A/notes.md", "Who?") == [])
    #expect(problems("Sources/KVClone/A.swift", "// Who?\nlet who = 1 // \"who\"\nlet a = \"\\(who)\"") == [])
    #expect(problems("Tools/demo", "#!/usr/bin/env bash\n# Who?\n") == [])
    #expect(problems("Tests/A.swift", "let a = \"who\"") == [])
  }

  @Test func internalCommentsAreRead() {
    func problems(_ text: String, _ path: String = "Tests/A/A.swift") -> [String] {
      ProseRules.commentFindings(in: path, text).map(\.description)
    }
    #expect(problems("  /// What it returns.\n  var a = 1") == ["1: begins with “What”"])
    #expect(problems("/// A value.\n/// What follows is its use.\nvar a = 1") == [])
    #expect(problems("// What it returns.") == [])
    #expect(problems("let a = 1  // for whoever reads") == ["1: “whoever”"])
    #expect(problems("// It is written once\n// more.\nlet a = 1") == ["1: “once more”"])
    #expect(problems("// It is written once\nlet a = 1\n// more.") == [])
    #expect(problems("let a = \"https://nobody.org\"") == [])
    #expect(problems("// `who` reads") == [])
    #expect(problems("// Nobody reads it.", "Sources/C/a.h") == ["1: “nobody”"])
    #expect(problems("// Nobody reads it.", "README.md") == [])
  }

  @Test func onlyPublicDeclarationsCount() {
    let source = """
      /// Who?
      struct A {
        /// Who?
        public var a: Int
      }

      /// Who?
      @frozen
      public enum B {
        /// Who?
        case one
        /// Who?
        private var b: Int
        /// Who?
        struct C {}
      }

      /// Who?
      package func c() {}

      /// Who?
      public protocol P {
        /// Who?
        func d()
      }

      extension B {
        /// Who?
        var e: Int { 1 }
      }
      """
    let lines = ProseRules.findings(in: "Sources/KVCloneModel/A.swift", source).map(\.line)
    #expect(lines == [3, 7, 10, 21, 23])
    #expect(ProseRules.findings(in: "Sources/KVCloneRecords/A.swift", source).isEmpty)
  }

  @Test func wideProseIsFound() {
    let wide = String(repeating: "word ", count: 25)
    #expect(problems("README.md", wide) == ["1: 125 columns"])
    #expect(problems("README.md", "- item\n  \(wide)") == ["2: 127 columns"])
    #expect(problems("Sources/KVClone/A.swift", "/// \(wide)\npublic var a: Int") == ["1: 129 columns"])
    let link = "[a link](https://example.org/\(String(repeating: "x", count: 120)))"
    for line in [
      "| \(wide) |", "# \(wide)", "```\n\(wide)\n```", "Follow \(link).", String(repeating: "x", count: 130),
    ] {
      #expect(problems("README.md", line) == [], "\(line)")
    }
    #expect(problems("Sources/KVClone/A.swift", "let a = \"\(wide)\"") == [])
  }
}
