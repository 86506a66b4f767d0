import Foundation
import KVClone
import Testing

/// Runs the program of the tutorial.
struct TutorialRunTests {
  @Test func theProgramPrintsWhatTheTutorialSays() throws {
    let folder = NSTemporaryDirectory() + "/kvclone-tutorial-" + UUID().uuidString
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var lines: [String] = []
    let path = folder + "/todo.kvclone"
    try tutorialProgram(model: tutorialModel(), CommandLine: TutorialArguments(arguments: ["Todo", path])) { values in
      lines.append(values.map { "\($0)" }.joined(separator: " "))
    }
    let texts = ["Run the tests", "Tag", "Publish"]
    var expected = texts.map { "[x] \($0)" }
    expected += ["plan: 4 objects, 0 errors"] + texts.map { "[ ] \($0)" }
    expected += ["stamped 10 lists, 40 objects", "45 differences, among them Person/1", "before: 12 lists"]
    #expect(lines == expected + texts.map { "[ ] \($0)" })

    // The sentences of the tutorial that quote output.
    let tutorial = try String(contentsOfFile: Self.tutorial, encoding: .utf8)
    for line in lines where line.hasPrefix("plan") || line.hasPrefix("stamped") {
      #expect(tutorial.contains("`\(line)`"), "\(line)")
    }
    let store = try ObjectStore.open(at: path)
    defer { store.close() }
    try checked(store)
  }

  private static let tutorial = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Sources/KVClone/Documentation.docc/Tutorials/FirstStore.tutorial").path
}
