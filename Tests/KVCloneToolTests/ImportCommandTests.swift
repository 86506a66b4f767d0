import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone

/// `kvclone import`.
@Suite("kvclone: import")
struct ImportCommandTests {
  /// A folder with a database and the model that wrote it.
  private func place(_ change: (inout CoreDataFixture) -> Void = { _ in }) throws -> (Scratch, String) {
    let scratch = try Scratch()
    var fixture = CoreDataFixture()
    change(&fixture)
    let path = try fixture.write(to: scratch.path)
    let version = scratch.file("Fixture.xcdatamodeld/Fixture.xcdatamodel")
    try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
    try Data(Self.contents.utf8).write(to: URL(fileURLWithPath: version + "/contents"))
    return (scratch, path)
  }

  /// As Xcode writes the fixture's model.
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

  @Test("broken rows: 1, or 3 with --skip-broken; nothing is left of what was refused")
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

  @Test("wrong usage, and databases that are none")
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
      // Enough rows to be at work for a while.
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
    // It has begun when its directory is there.
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
