import Foundation
import KVClone
import KVCloneGenerator
import KVCloneTestSupport
import Testing

/// Generation of Swift code for models.
struct GeneratorTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

  private func notebook() throws -> ManagedObjectModel {
    try ManagedObjectModel.load(contentsOf: Self.folder.appendingPathComponent("Notebook.xcdatamodeld").path).model
  }

  private func text(_ model: ManagedObjectModel) throws -> String {
    try ModelGenerator(model).singleFile(named: "M.swift").text
  }

  /// Golden files; set KVCLONE_WRITE_GOLDEN=1 to rewrite them after an intended change.
  @Test func theNotebookIsWrittenAsItAlwaysWas() throws {
    let folder = Self.folder.appendingPathComponent("Golden")
    let files = try ModelGenerator(try notebook()).files()
    if ProcessInfo.processInfo.environment["KVCLONE_WRITE_GOLDEN"] == "1" {
      for file in files { try Data(file.text.utf8).write(to: folder.appendingPathComponent(file.name + ".txt")) }
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(names == files.map { $0.name + ".txt" }.sorted())
    for file in files {
      let golden = try String(contentsOf: folder.appendingPathComponent(file.name + ".txt"), encoding: .utf8)
      #expect(file.text == golden, "\(file.name)")
    }
  }

  /// The generated model, compiled and executed, equals the model that was read.
  @Test func theGeneratedModelIsTheModel() throws {
    let model = try notebook()
    #expect(ManagedObjectModel.notebook == model)
    #expect(ManagedObjectModel.notebook.modelHash == model.modelHash)
    #expect(Note.entity == model.entity(named: "Note"))
  }

  @Test func everyPropertyIsNamed() throws {
    let model = try notebook()
    func check<Object: EntityObject>(_ type: Object.Type) {
      let name = Object.entity.name
      let expected =
        model.attributes(of: name).filter { !$0.isTransient }.map(\.name) + model.relationships(of: name).map(\.name)
      #expect(Set(Object.Fields.properties.keys) == Set(expected + ["SELF"]))
      #expect(Set(Object.Fields.properties.values.map { $0 as AnyKeyPath }).count == expected.count + 1)
    }
    check(Entry.self)
    check(Item.self)
    check(Note.self)
    check(Tag.self)
  }

  @Test func namesOfTheLanguageAreEscaped() throws {
    let model = ManagedObjectModel("M") {
      EntityDescription("Data") {
        AttributeDescription("class", .date)
        AttributeDescription("self", .binary)
        AttributeDescription("hashValue", .string)
        AttributeDescription("named", .string, userInfo: ["swiftName": "other", "documentation": "Two\nlines."])
      }
    }
    let text = try text(model)
    #expect(text.contains("public struct Data: EntityObject {"))
    #expect(text.contains("public var `class`: Date?") && text.contains("public var self_: BinaryValue?"))
    #expect(
      text.contains("public var hashValue_: String?") && text.contains("  /// Two\n  /// lines.\n  public var other:"))
    #expect(text.contains("public var self_: Foundation.Data? { switch self {} }"))
    #expect(text.contains("\"named\": \\.other"))
  }

  @Test func whatCannotBeWrittenIsAnError() throws {
    func message(_ attributes: AttributeDescription...) -> String? {
      let model = ManagedObjectModel(name: "M", entities: [EntityDescription(name: "E", attributes: attributes)])
      do {
        _ = try text(model)
        return nil
      } catch { return "\(error)" }
    }
    func number(_ annotation: String, default value: AttributeValue? = nil) -> AttributeDescription {
      AttributeDescription("a", .integer16, default: value, userInfo: ["swiftEnum": annotation])
    }
    #expect(message(number("P: a, b")) == nil)
    #expect(message(number("P")) == nil)
    #expect(message(number(""))?.contains("name of an enum") == true)
    #expect(message(number("P: a = x"))?.contains("raw value of a") == true)
    #expect(message(number("P: a = 70000"))?.contains("raw value of a") == true)
    #expect(message(number("P: a = 1, b = 1"))?.contains("twice") == true)
    #expect(message(number("P: a, a"))?.contains("twice") == true)
    #expect(message(number("P: a", default: 3))?.contains("default") == true)
    #expect(
      message(AttributeDescription("a", .date, userInfo: ["swiftEnum": "P: a"]))?.contains("integers") == true)
    #expect(
      message(AttributeDescription("a_", .date), AttributeDescription("b", .date, userInfo: ["swiftName": "a_"]))?
        .contains("two properties") == true)
  }

  @Test func theSameModelGivesTheSameText() throws {
    for _ in 0..<3 { #expect(try text(try notebook()) == text(try notebook())) }
  }

  /// All models of the corpus, each in a separate enum, compiled together.
  @Test(.enabled(if: Corpus.root != nil, "\(Corpus.missing)"))
  func theCorpusCompiles() throws {
    let folder = URL(fileURLWithPath: NSTemporaryDirectory() + "/kvclone-generated-" + UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var paths: [String] = []
    for (index, bundle) in Corpus.modelBundles().enumerated() {
      guard let model = try? ManagedObjectModel.load(contentsOf: bundle).model else { continue }
      let options = ModelGenerator.Options(namespace: "Model\(index)")
      let file = try ModelGenerator(model, options: options).singleFile(named: "Model\(index).swift")
      let url = folder.appendingPathComponent(file.name)
      try Data((file.text + "\npublic enum Model\(index) {}\n").utf8).write(to: url)
      paths.append(url.path)
    }
    #expect(paths.count > 20)
    let output = try typecheck(paths)
    #expect(output == "", "\(output.prefix(3000))")
  }

  /// Returns the compiler's diagnostics; empty on success.
  func typecheck(_ paths: [String]) throws -> String {
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    let build = URL(fileURLWithPath: tests).deletingLastPathComponent()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    let package = Self.folder.deletingLastPathComponent().deletingLastPathComponent()
    let moduleOfC = package.appendingPathComponent("Sources/CKVCloneLMDB/module.modulemap").path
    process.arguments =
      [
        "swiftc", "-typecheck", "-swift-version", "6", "-module-name", "Generated", "-I", build.path + "/Modules",
        "-Xcc", "-fmodule-map-file=" + moduleOfC,
      ]
      + paths
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("kvclone-typecheck-" + UUID().uuidString)
    _ = FileManager.default.createFile(atPath: file.path, contents: nil)
    defer { try? FileManager.default.removeItem(at: file) }
    let output = try FileHandle(forWritingTo: file)
    (process.standardOutput, process.standardError) = (output, output)
    try process.run()
    process.waitUntilExit()
    let text = try String(contentsOf: file, encoding: .utf8)
    return process.terminationStatus == 0 || !text.isEmpty ? text : "exit \(process.terminationStatus)"
  }
}
