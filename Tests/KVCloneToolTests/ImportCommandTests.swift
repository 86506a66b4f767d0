import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// `kvclone import`.
@Suite("kvclone: import")
struct ImportCommandTests {
  /// Creates a folder with a database and the model that wrote it.
  func place(_ change: (inout CoreDataFixture) -> Void = { _ in }) throws -> (Scratch, String) {
    let scratch = try Scratch()
    var fixture = CoreDataFixture()
    change(&fixture)
    let path = try fixture.write(to: scratch.path)
    let version = scratch.file("Fixture.xcdatamodeld/Fixture.xcdatamodel")
    try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
    try Data(Self.contents.utf8).write(to: URL(fileURLWithPath: version + "/contents"))
    return (scratch, path)
  }

  /// The fixture's model in Xcode's format.
  private static let contents: String = {
    var text = #"<?xml version="1.0" encoding="UTF-8"?><model type="com.apple.IDECoreDataModeler.DataModel">"#
    for entity in CoreDataFixture.model.entities {
      text += #"<entity name="\#(entity.name)""#
      if let parent = entity.superentityName { text += #" parentEntity="\#(parent)""# }
      text += ">"
      for attribute in entity.attributes {
        text += #"<attribute name="\#(attribute.name)" attributeType="\#(attribute.type.rawValue)""#
        if attribute.isOptional { text += #" optional="YES""# }
        if attribute.isTransient { text += #" transient="YES""# }
        if attribute.allowsExternalBinaryDataStorage { text += #" allowsExternalBinaryDataStorage="YES""# }
        if let derivation = attribute.derivationExpression {
          text += #" derived="YES" derivationExpression="\#(derivation)""#
        }
        text += "/>"
      }
      for relationship in entity.relationships {
        text += #"<relationship name="\#(relationship.name)" optional="YES" deletionRule="Nullify""#
        text += #" destinationEntity="\#(relationship.destinationEntityName)""#
        text += relationship.isToMany ? #" toMany="YES""# : #" maxCount="1""#
        if relationship.isOrdered { text += #" ordered="YES""# }
        if let inverse = relationship.inverseName {
          text += #" inverseName="\#(inverse)" inverseEntity="\#(relationship.destinationEntityName)""#
        }
        text += "/>"
      }
      text += "</entity>"
    }
    return text + "</model>"
  }()

  @Test("plan, import and a second one: exit codes and documents")
  func whole() throws {
    let (scratch, path) = try place()
    let model = scratch.file("Fixture.xcdatamodeld")
    let plan = try scratch.run(["import", "--json", "-n", "--model", model, path])
    #expect(plan.code == 0, "\(plan.errors)")
    let planned = try plan.json()
    #expect(planned["committed"] as? Bool == false && planned["objects"] as? Int == 15)
    #expect(planned["store"] is NSNull)
    #expect(!FileManager.default.fileExists(atPath: scratch.store))
    let made = try scratch.succeed("import", "--json", "--model", model, path).json()
    #expect(made["committed"] as? Bool == true && made["store"] as? String == scratch.store)
    #expect(made["counts"] as? [String: Int] == planned["counts"] as? [String: Int])
    #expect(made["links"] as? Int == planned["links"] as? Int && made["externalFiles"] as? Int == 1)
    #expect((made["skipped"] as? [Any])?.isEmpty == true && (made["leftOut"] as? [Any])?.count == 2)
    try scratch.succeed("check")
    #expect(try scratch.succeed("get", "Note/10").text.contains("https://a.b/c"))
    let again = try scratch.tool("import", "--json", "--model", model, path)
    #expect(again.code == 1)
    #expect(try again.error()["kind"] as? String == "storeExists")
    let (other, otherPath) = try place()
    let text = try other.succeed("import", "--quiet", "--model", other.file("Fixture.xcdatamodeld"), otherPath)
    #expect(text.text.isEmpty && text.errors.isEmpty)
  }

  @Test("broken rows: 1, or 3 with --skip-broken; nothing is left of a failed import")
  func broken() throws {
    let (scratch, path) = try place { fixture in
      fixture.rows["ZNOTE"]?.append((60, CoreDataFixture.note(2, ["ZPARENT": .integer(99)])))
    }
    let model = scratch.file("Fixture.xcdatamodeld")
    let refused = try scratch.tool("import", "--json", "--model", model, path)
    #expect(refused.code == 1)
    let error = try refused.error()
    #expect(error["kind"] as? String == "danglingReference" && error["object"] as? String == "Note/60")
    #expect(error["property"] as? String == "parent")
    let names = try FileManager.default.contentsOfDirectory(atPath: scratch.path)
    #expect(!names.contains { $0.contains("store") }, "\(names)")
    #expect(try scratch.run(["import", "--plan", "--model", model, path]).code == 1)
    #expect(try scratch.run(["import", "--plan", "--skip-broken", "--model", model, path]).code == 3)
    let skipped = try scratch.tool("import", "--json", "--skip-broken", "--model", model, path)
    #expect(skipped.code == 3)
    let document = try skipped.json()
    #expect(document["skippedCount"] as? Int == 1 && document["objects"] as? Int == 16)
    try scratch.succeed("check")
  }

  /// An object without a required value is kept, and stays unchanged until the value is set.
  @Test("objects that violate a rule: read, changed, cloned, dumped and loaded")
  func kept() throws {
    let (scratch, path) = try place { fixture in
      fixture.rows["ZFOLDER"]?[2] = (9, CoreDataFixture.folder(nil, cover: nil))
    }
    let model = scratch.file("Fixture.xcdatamodeld")
    let refused = try scratch.tool("import", "--json", "--model", model, path)
    #expect(refused.code == 1)
    let error = try refused.error()
    #expect(error["kind"] as? String == "requiredValueMissing" && error["object"] as? String == "Folder/9")
    #expect((error["message"] as? String)?.contains("--skip-broken") == true)
    let made = try scratch.tool("import", "--json", "--skip-broken", "--model", model, path)
    let document = try made.json()
    #expect(made.code == 3 && document["objects"] as? Int == 15 && document["skippedCount"] as? Int == 1)
    #expect(((document["skipped"] as? [[String: Any]])?.first)?["wholeObject"] as? Bool == false)
    try scratch.succeed("check")
    #expect(try scratch.succeed("query", "Folder", "name == nil", "--format", "ids").text == "Folder/9\n")
    #expect(try scratch.tool("link", "Folder/9", "cover", "ImageNote/20").code == 1)
    // A clone is a copy, including missing values.
    #expect(try scratch.tool("clone", "-n", "Folder/9").code == 0)
    #expect(try scratch.succeed("clone", "Folder/9").text.contains("Folder/10"))
    try scratch.succeed("check")
    try scratch.write(try scratch.succeed("dump").text, to: "dump.ndjson")
    let second = ["--store", scratch.file("second")]
    #expect(try scratch.run(second + ["init", "--model", model]).code == 0)
    let load = try scratch.run(second + ["--json", "load", scratch.file("dump.ndjson")])
    #expect(try load.code == 1 && load.error()["kind"] as? String == "requiredValueMissing")
    try scratch.succeed("set", "Folder/9", "name=Archive")
    try scratch.succeed("set", "Folder/10", "name=Copy")
    try scratch.succeed("link", "Folder/9", "cover", "ImageNote/20")
    try scratch.succeed("clone", "Folder/9")
    try scratch.write(try scratch.succeed("dump").text, to: "dump.ndjson")
    let again = try scratch.run(second + ["--json", "load", scratch.file("dump.ndjson")])
    #expect(again.code == 0, "\(again.errors)")
    try scratch.succeed("check")
  }

  @Test("a model that does not fit is an error with the versions to choose from, a line for each")
  func versions() throws {
    let (scratch, path) = try place()
    let other = scratch.file("Fixture.xcdatamodeld/Fixture 2.xcdatamodel")
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
    try Data("<model><entity name=\"Other\"/></model>".utf8).write(to: URL(fileURLWithPath: other + "/contents"))
    let model = scratch.file("Fixture.xcdatamodeld")
    let mismatch = try scratch.tool("import", "--model", model, "--model-version", "Fixture 2", path)
    #expect(
      mismatch.code == 1 && mismatch.errors.hasSuffix("(--model-version):\n  Fixture 2\n  Fixture\n"),
      "\(mismatch.errors)")
    let unknown = try scratch.tool("import", "--model", model, "--model-version", "Fixture 3", path)
    #expect(unknown.code == 1 && unknown.errors.hasSuffix("--to):\n  Fixture 2\n  Fixture\n"), "\(unknown.errors)")
    let json = try scratch.tool("import", "--json", "--model", model, "--model-version", "Fixture 3", path).error()
    #expect(json["choices"] as? [String] == ["Fixture 2", "Fixture"] && json["kind"] as? String == "unknownVersion")
  }

  @Test("compiled models, wherever a model is read")
  func compiled() throws {
    let (scratch, path) = try place()
    let bundle = scratch.file("Fixture.momd")
    try FileManager.default.createDirectory(atPath: bundle, withIntermediateDirectories: true)
    var entities = CoreDataFixture.model.entities
    entities.append(EntityDescription(name: "Added", attributes: [AttributeDescription("name", .string)]))
    let first = ManagedObjectModel(
      name: "Fixture", versionIdentifier: "Fixture", entities: CoreDataFixture.model.entities)
    let second = ManagedObjectModel(name: "Fixture", versionIdentifier: "Fixture 2", entities: entities)
    for (model, isXML) in [(first, true), (second, false)] {
      try Data(ModelArchiveWriter.bytes(model, .init(usesProxies: true, isXML: isXML))).write(
        to: URL(fileURLWithPath: "\(bundle)/\(model.versionIdentifier).mom"))
    }
    try Data(ModelArchiveWriter.versionInfo([first, second], current: "Fixture 2")).write(
      to: URL(fileURLWithPath: bundle + "/VersionInfo.plist"))
    let one = bundle + "/Fixture.mom"
    let source = scratch.file("Fixture.xcdatamodeld")
    // The source has no delete rules.
    let shown = try scratch.succeed("model", "show", one).text
    #expect(shown.contains("PinnedNote"))
    #expect(try scratch.succeed("model", "lint", bundle).code == 0)
    #expect(try scratch.tool("model", "diff", one, bundle, "--exit-code").code == 5)
    #expect(try scratch.succeed("model", "diff", one, bundle).text == "+ Added\n")
    #expect(!(try scratch.succeed("model", "diff", one, source).text.contains("type")))
    try scratch.succeed("model", "generate", bundle, "-o", scratch.file("generated"))
    #expect(FileManager.default.fileExists(atPath: scratch.file("generated/Added.swift")))
    let made = try scratch.tool("import", "--json", "--model", bundle, "--model-version", "Fixture", path)
    #expect(try made.code == 0 && made.json()["objects"] as? Int == 15, "\(made.errors)")
    try scratch.succeed("migrate", "--model", bundle, "--plan")
    try scratch.succeed("migrate", "--model", bundle)
    #expect(try scratch.succeed("insert", "Added", "name=x").text.contains("Added/1"))
    try scratch.succeed("check")
    let other = try scratch.run(["--store", scratch.file("other"), "init", "--json", "--model", one])
    #expect(try other.code == 0 && other.json()["modelVersion"] as? String == "Fixture", "\(other.errors)")
  }

  @Test("wrong usage, and files that are not databases")
  func usage() throws {
    let (scratch, path) = try place()
    #expect(try scratch.tool("import").code == 64)
    #expect(try scratch.run(["import", path]).code == 64)
    #expect(try scratch.tool("import", "--model-version", "1", path).code == 64)
    let missing = try scratch.tool("import", "--json", path)
    #expect(missing.code == 1)
    #expect(try missing.error()["kind"] as? String == "modelMissing")
    try scratch.write("no database", to: "x.sqlite")
    #expect(try scratch.tool("import", "--json", scratch.file("x.sqlite")).error()["kind"] as? String == "notADatabase")
  }

  @Test("an interrupt ends it with 130 and nothing left")
  func interrupted() throws {
    let (scratch, path) = try place { fixture in
      // Enough rows for the import to run for a while.
      fixture.rows["ZNOTE"] = (Int64(100)..<8_000).map { key in
        (id: key, values: CoreDataFixture.note(2, ["ZNAME": .text("note \(key)"), "ZPARENT": .integer(key)]))
      }
      fixture.rows["ZSUMMARY"] = []
      fixture.rows["ZFOLDER"] = []
      fixture.links = [:]
    }
    let process = scratch.process(
      ["--store", scratch.store, "import", "--model", scratch.file("Fixture.xcdatamodeld"), path])
    let errors = scratch.file("errors")
    _ = FileManager.default.createFile(atPath: errors, contents: nil)
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle(forWritingAtPath: errors)
    try process.run()
    // The import has begun when its directory exists.
    while process.isRunning,
      try !FileManager.default.contentsOfDirectory(atPath: scratch.path).contains(where: { $0.contains("creating") })
    {
      usleep(1_000)
    }
    process.interrupt()
    process.waitUntilExit()
    #expect(process.terminationStatus == 130)
    let names = try FileManager.default.contentsOfDirectory(atPath: scratch.path)
    #expect(!names.contains { $0.contains("store") }, "\(names)")
  }
}
