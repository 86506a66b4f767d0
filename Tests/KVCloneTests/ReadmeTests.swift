import Foundation
import KVClone
import Testing

/// What the README shows works.
struct ReadmeTests {
  /// The program below is the README's, line by line, but for the store's path.
  @Test func theProgramIsTheOneThatIsTested() throws {
    let readme = try #require(Self.block(in: try text("README.md"), from: "```swift", to: "```"))
    let tested = try #require(
      Self.block(in: try String(contentsOfFile: #filePath, encoding: .utf8), from: "// begin", to: "// end"))
    let indented = tested.map { $0.hasPrefix("    ") ? String($0.dropFirst(4)) : $0 }
    let program = ["import KVClone"] + indented.map { $0.replacing("at: path", with: "at: \"notes.kvclone\"") }
    #expect(readme == program)
    #expect(readme.count <= 15)
  }

  @Test func theProgramDoesWhatTheReadmeSays() throws {
    let directory = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let printed = try Self.run(directory + "/notes.kvclone")
    let promised = try Self.block(in: text("README.md"), from: "It prints", to: "```", skipping: 2)
    #expect(printed == promised)
  }

  private static func run(_ path: String) throws -> [String] {
    var printed: [String] = []
    func print(_ items: Any...) { printed.append(items.map { "\($0)" }.joined(separator: " ")) }
    // begin
    let model = ManagedObjectModel("Notes") {
      EntityDescription("Note") { RelationshipDescription("items", toMany: "Item", inverse: "note", ordered: true) }
      EntityDescription("Item") {
        AttributeDescription("text", .string)
        RelationshipDescription("note", toOne: "Note", inverse: "items")
      }
    }
    let store = try ObjectStore.open(at: path, model: model)
    let copy = try store.write { tx in
      let note = try tx.insert("Note")
      for text in ["Milk", "Bread"] { try tx.insert("Item", ["text": .string(text)], relationships: ["note": [note]]) }
      return try tx.clone(object: note)
    }
    try store.read { tx in for item in try tx.members(copy, "items") { print(try tx.object(item)["text"] ?? "nil") } }
    // end
    store.close()
    return printed
  }

  /// The lines between the first line that begins with `from` and the next that begins with `to`.
  private static func block(in text: String, from: String, to: String, skipping: Int = 0) -> [String]? {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    func first(_ mark: String, after index: Int) -> Int? {
      lines[index...].firstIndex { $0.drop(while: \.isWhitespace).hasPrefix(mark) }
    }
    guard let begin = first(from, after: 0), let end = first(to, after: begin + 1 + skipping) else { return nil }
    return Array(lines[(begin + 1 + skipping)..<end])
  }

  private func text(_ name: String) throws -> String {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return try String(contentsOf: root.deletingLastPathComponent().appendingPathComponent(name), encoding: .utf8)
  }
}
