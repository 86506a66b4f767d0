import Foundation
import Testing

/// `model generate`.
struct GenerateCommandTests {
  private func scratch(_ userInfo: String = "") throws -> Scratch {
    let scratch = try Scratch()
    let folder = scratch.file("Notes.xcdatamodeld/Notes.xcdatamodel")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let attribute = "<attribute name=\"rank\" optional=\"YES\" attributeType=\"Integer 16\">\(userInfo)</attribute>"
    try scratch.write(
      "<model><entity name=\"Note\">\(attribute)</entity></model>", to: "Notes.xcdatamodeld/Notes.xcdatamodel/contents")
    return scratch
  }

  private let names = ["Note.swift", "ManagedObjectModel+Notes.swift"]

  @Test func writesAFileForEachEntityAndOneForTheModel() throws {
    let scratch = try scratch()
    let first = try scratch.run(["model", "generate", "Notes.xcdatamodeld", "-o", "out"])
    #expect(first.code == 0 && first.errors == "")
    #expect(first.text.split(separator: "\n").map(String.init) == names)
    let text = String(decoding: try scratch.read("out/Note.swift"), as: UTF8.self)
    #expect(text.contains("public struct Note: EntityObject {\n  public var rank: Int16?\n"))
    // Unchanged files are not written.
    let again = try scratch.run(["model", "generate", "Notes.xcdatamodeld", "-o", "out", "--json"])
    let json = try again.json()
    #expect(json["files"] as? [String] == names && json["written"] as? Int == 0)
  }

  @Test func optionsSayHowItIsWritten() throws {
    let scratch = try scratch()
    let run = try scratch.run([
      "model", "generate", "Notes.xcdatamodeld", "-o", "out", "--single-file", "All.swift", "--access", "internal",
      "--namespace", "Model",
    ])
    #expect(run.code == 0 && run.text == "All.swift\n")
    let text = String(decoding: try scratch.read("out/All.swift"), as: UTF8.self)
    #expect(text.contains("extension Model {\n") && text.contains("  struct Note: EntityObject {"))
    #expect(text.contains("  static let managedObjectModel = ManagedObjectModel(") && !text.contains("public "))
  }

  @Test func whatCannotBeWrittenIsAnError() throws {
    let scratch = try scratch("<userInfo><entry key=\"swiftEnum\" value=\"Rank: a = x\"/></userInfo>")
    let run = try scratch.run(["model", "generate", "Notes.xcdatamodeld", "-o", "out", "--json"])
    let error = try run.error()
    #expect(run.code == 1 && error["kind"] as? String == "cannotGenerate")
    #expect(error["entity"] as? String == "Note" && error["property"] as? String == "rank")
    #expect(try scratch.run(["model", "generate", "Notes.xcdatamodeld"]).code == 64)
    for name in ["a b", "", "1a", "A..B", "A."] {
      let run = try scratch.run(["model", "generate", "Notes.xcdatamodeld", "-o", "out", "--namespace", name])
      #expect(run.code == 64, "\(name)")
    }
  }
}
