import Foundation
import KVClone
import Testing

/// The program of the README prints the output in the README, and its model is that of an example.
struct ReadmeTests {
  @Test func theProgramPrintsWhatTheReadmeShows() throws {
    let folder = NSTemporaryDirectory() + "/kvclone-readme-" + UUID().uuidString
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var printed: [String] = []
    try readmeProgram(ObjectStore: ReadmeStores(folder: folder)) { values in
      printed.append(values.map { "\($0)" }.joined(separator: " "))
    }
    let blocks = try text("README.md").components(separatedBy: "\n```\n")
    #expect(blocks.contains(printed.joined(separator: "\n")), "\(printed)")
    let store = try ObjectStore.open(at: folder + "/todo.kvclone")
    defer { store.close() }
    try checked(store)
    #expect(try store.read { tx in try tx.count(TodoItem.self) } == 4)
    #expect(try store.read { tx in try tx.count(Person.self) } == 1)
  }

  @Test func theProgramIsShort() throws {
    let program = try #require(try text("README.md").components(separatedBy: "```swift\n").dropFirst().first)
    let lines = program.components(separatedBy: "\n```").first?.components(separatedBy: "\n") ?? []
    #expect((10...15).contains(lines.count), "\(lines.count) lines")
  }

  @Test func theModelIsThatOfTheExample() throws {
    let path = "Todo.xcdatamodeld/Todo.xcdatamodel/contents"
    #expect(try text("Examples/Templates/\(path)") == text("Tests/KVCloneTypedTests/\(path)"))
  }

  private func text(_ path: String) throws -> String {
    let root = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }
}
