import Foundation
import KVClone
import Testing

/// Runs the programs of the tutorials.
struct TutorialRunTests {
  @Test func theProgramPrintsWhatTheTutorialSays() throws {
    try withFolder { folder in
      let path = folder + "/todo.kvclone"
      let lines = try printed { print in
        try tutorialProgram(
          model: tutorialModel(), CommandLine: TutorialArguments(arguments: ["Todo", path]), print: print)
      }
      let texts = ["Run the tests", "Tag", "Publish"]
      var expected = texts.map { "[x] \($0)" }
      expected += ["plan: 4 objects, 0 errors"] + texts.map { "[ ] \($0)" }
      expected += ["stamped 10 lists, 40 objects", "45 differences, among them Person/1", "before: 12 lists"]
      #expect(lines == expected + texts.map { "[ ] \($0)" })

      // The sentences of the tutorial that quote output.
      let tutorial = try Self.text(of: "FirstStore")
      for line in lines where line.hasPrefix("plan") || line.hasPrefix("stamped") {
        #expect(tutorial.contains("`\(line)`"), "\(line)")
      }
      try checkStore(at: path)
    }
  }

  @Test func theDraftIsPublishedAsTheTutorialSays() throws {
    try withFolder { folder in
      let path = folder + "/magazine.kvclone"
      let lines = try printed { print in
        try draftProgram(
          magazine: magazineModel(), CommandLine: TutorialArguments(arguments: ["Magazine", path]), print: print)
      }
      #expect(
        lines == [
          #"Winter ["Harbour", "Lighthouse", "Ridge"]"#, "draft: 4 objects, 3 pictures shared",
          #"Winter 2026 ["Harbour", "Lighthouse", "Ridge"]"#, "conflict: Article/1 title",
          #"Winter in Iceland ["Ridge", "Lighthouse", "Old harbour", "Aurora"]"#, "draft exists: false",
        ])
      let tutorial = try Self.text(of: "PublishDraft")
      for line in lines.dropFirst() { #expect(tutorial.contains("`\(line)`"), "\(line)") }
      try checkStore(at: path)
    }
  }

  private func withFolder(_ body: (String) throws -> Void) throws {
    let folder = NSTemporaryDirectory() + "/kvclone-tutorial-" + UUID().uuidString
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder)
  }

  /// Runs a program, and returns the lines that it prints.
  private func printed(_ program: ((Any...) -> Void) throws -> Void) throws -> [String] {
    var lines: [String] = []
    try program { values in lines.append(values.map { "\($0)" }.joined(separator: " ")) }
    return lines
  }

  private func checkStore(at path: String) throws {
    let store = try ObjectStore.open(at: path)
    defer { store.close() }
    try checked(store)
  }

  private static func text(of tutorial: String) throws -> String {
    let root = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let folder = root.appendingPathComponent("Sources/KVClone/Documentation.docc/Tutorials")
    return try String(contentsOf: folder.appendingPathComponent(tutorial + ".tutorial"), encoding: .utf8)
  }
}
