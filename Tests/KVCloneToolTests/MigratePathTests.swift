import Foundation
import KVCloneTestSupport
import Testing

/// `migrate` with mapping models: all of them are used, or nothing is written; and the plan's report of removed
/// properties and identifiers.
struct MigratePathTests {
  private static func attribute(_ name: String, _ type: String = "String", _ more: String = "") -> String {
    "<attribute name=\"\(name)\" optional=\"YES\" attributeType=\"\(type)\" \(more)/>"
  }

  private static func entity(_ name: String, _ more: String = "", _ properties: String...) -> String {
    "<entity name=\"\(name)\" \(more)>\(properties.joined())</entity>"
  }

  private static func write(_ scratch: Scratch, _ bundle: String, _ versions: [(String, String)]) throws {
    for (name, contents) in versions {
      let folder = "\(bundle).xcdatamodeld/\(name).xcdatamodel"
      try FileManager.default.createDirectory(atPath: scratch.file(folder), withIntermediateDirectories: true)
      try scratch.write("<model>\(contents)</model>", to: "\(folder)/contents")
    }
  }

  /// Writes a mapping model between two versions, for notes and tags; `body` comes from `text`, in Xcode's format.
  private static func writeMapping(
    _ scratch: Scratch, _ name: String, _ from: String, _ to: String, renames: Bool, policy: String? = nil
  ) throws {
    func object(_ kind: String, _ id: String, _ values: [(String, String)], _ references: [(String, String)] = [])
      -> String
    {
      let values = values.map { "<attribute name=\"\($0.0)\" type=\"string\">\($0.1)</attribute>" }.joined()
      let references = references.map { "<relationship name=\"\($0.0)\" idrefs=\"\($0.1)\"/>" }.joined()
      return "<object type=\"XDDEV\(kind)\" id=\"\(id)\">\(values)\(references)</object>"
    }
    let text =
      renames
      ? [("name", "body"), ("sourcekeypath", "$source.text"), ("autogenerateexpression", "1")] : [("name", "text")]
    let note = [("sourcename", "Note"), ("destinationname", "Note"), ("mappingnumber", "1")]
    let file =
      object(
        "MAPPINGMODEL", "m",
        [
          ("sourcemodelpath", "App/Path.xcdatamodeld/\(from).xcdatamodel"),
          ("destinationmodelpath", "App/Path.xcdatamodeld/\(to).xcdatamodel"),
        ], [("entitymappings", "n t")])
      + object(
        "ENTITYMAPPING", "n", note + (policy.map { [("migrationpolicyclassname", $0)] } ?? []),
        [("attributemappings", "a")])
      + object(
        "ENTITYMAPPING", "t", [("sourcename", "Tag"), ("destinationname", "Tag"), ("mappingnumber", "2")],
        [("attributemappings", "b")]) + object("ATTRIBUTEMAPPING", "a", text)
      + object("ATTRIBUTEMAPPING", "b", [("name", "label")])
    try FileManager.default.createDirectory(
      atPath: scratch.file("\(name).xcmappingmodel"), withIntermediateDirectories: true)
    try scratch.write("<database>\(file)</database>", to: "\(name).xcmappingmodel/xcmapping.xml")
  }

  /// Four versions, the third of which lacks the tags that the others have; `text` is `body` in the fourth, without a
  /// renaming identifier.
  private static func scratch(at version: String) throws -> Scratch {
    let scratch = try Scratch()
    let (note, tag) = (attribute("text"), entity("Tag", "", attribute("label")))
    try write(
      scratch, "Path",
      [
        ("V 1", entity("Note", "", note) + tag), ("V 2", entity("Note", "", note, attribute("rank", "Double")) + tag),
        ("V 3", entity("Note", "", note)), ("V 4", entity("Note", "", attribute("body")) + tag),
      ])
    try writeMapping(scratch, "jump", "V 2", "V 4", renames: true)
    try writeMapping(scratch, "first", "V 1", "V 2", renames: false)
    try scratch.succeed("init", "--model", scratch.file("Path.xcdatamodeld"), "--model-version", version)
    try scratch.succeed("insert", "Note", "text=kept")
    try scratch.succeed("insert", "Tag", "label=kept, too")
    return scratch
  }

  private static func migrate(_ scratch: Scratch, _ more: String...) throws -> ToolRun {
    try scratch.run(
      ["--store", scratch.store, "migrate", "--model", scratch.file("Path.xcdatamodeld"), "--to", "V 4"] + more)
  }

  @Test func aMappingForAJumpDoesTheWholeStep() throws {
    let scratch = try Self.scratch(at: "V 2")
    let plan = try Self.migrate(scratch, "--mapping", scratch.file("jump.xcmappingmodel"), "--plan", "--json")
    let steps = try #require(try plan.json()["steps"] as? [[String: Any]])
    #expect(steps.map { $0["kind"] as? String } == ["mapping"] && plan.code == 0)
    let run = try Self.migrate(scratch, "--mapping", scratch.file("jump.xcmappingmodel"), "--json")
    #expect(try run.json()["versions"] as? [String] == ["V 2", "V 4"], "\(run.errors)")
    let dump = try scratch.succeed("dump").text
    #expect(dump.contains(#""body":"kept""#) && dump.contains(#""label":"kept, too""#), "\(dump)")
    let again = try Self.migrate(scratch, "--mapping", scratch.file("jump.xcmappingmodel"))
    #expect(again.code == 1 && again.errors.contains("already"))
  }

  @Test func oneInferredStepMayComeBeforeOrAfterThem() throws {
    let scratch = try Self.scratch(at: "V 1")
    let jump = try Self.migrate(scratch, "--mapping", scratch.file("jump.xcmappingmodel"), "--plan", "--json")
    #expect(try (jump.json()["steps"] as? [[String: Any]])?.map { $0["to"] as? String } == ["V 2", "V 4"])
    let both = try Self.migrate(
      scratch, "--mapping", scratch.file("jump.xcmappingmodel"), "--mapping", scratch.file("first.xcmappingmodel"),
      "--json")
    #expect(try both.json()["versions"] as? [String] == ["V 1", "V 2", "V 4"], "\(both.errors)")
    #expect(try scratch.succeed("dump").text.contains(#""body":"kept""#))
    let other = try Self.scratch(at: "V 1")
    let first = try Self.migrate(other, "--mapping", other.file("first.xcmappingmodel"), "--json")
    #expect(try first.json()["versions"] as? [String] == ["V 1", "V 2", "V 4"])
    // The following step is inferred and drops the text; the tags remain, although the third version lacks them.
    #expect(try other.succeed("query", "Tag", "TRUEPREDICATE", "--count").text.contains("1"))
  }

  @Test func oneThatCannotBeUsedIsRefusedBeforeAnythingIsWritten() throws {
    let scratch = try Self.scratch(at: "V 2")
    let before = try scratch.succeed("dump").text
    for more in [["--plan"], []] {
      for mappings in [["first"], ["jump", "first"]] {
        let options = mappings.flatMap { ["--mapping", scratch.file("\($0).xcmappingmodel")] }
        let run = try scratch.run(
          ["--store", scratch.store, "migrate", "--model", scratch.file("Path.xcdatamodeld"), "--to", "V 4", "--json"]
            + options + more)
        #expect(run.code == 1 && run.text == "", "\(mappings): \(run.text)")
        let error = try run.error()
        #expect(error["kind"] as? String == "invalidMapping")
        #expect((error["message"] as? String)?.contains("\(mappings.last ?? "") (V ") == true, "\(run.errors)")
      }
    }
    #expect(try scratch.succeed("dump").text == before)
    #expect(try scratch.succeed("snapshot", "list", "--json").text.contains(#""snapshots":[]"#))
  }

  @Test func aMissingPolicyIsRefusedInThePlanBecauseItIsCode() throws {
    let scratch = try Self.scratch(at: "V 2")
    try Self.writeMapping(scratch, "coded", "V 2", "V 4", renames: true, policy: "App.NotePolicy")
    for more in [["--plan"], []] {
      let run = try scratch.run(
        [
          "--store", scratch.store, "migrate", "--model", scratch.file("Path.xcdatamodeld"), "--to", "V 4", "--mapping",
          scratch.file("coded.xcmappingmodel"),
        ] + more)
      #expect(run.code == 1 && run.text == "")
      for word in ["coded", "App.NotePolicy", "NoteToNote", "policies are code", "command line"] {
        #expect(run.errors.contains(word), "\(run.errors)")
      }
    }
  }

  @Test func withoutMappingsTheStepIsOneWhateverTheFolderHas() throws {
    let scratch = try Self.scratch(at: "V 2")
    let plan = try Self.migrate(scratch, "--plan")
    #expect(plan.text.contains("V 2 → V 4: ") && !plan.text.contains("V 3"))
    #expect(try Self.migrate(scratch).code == 0)
    // The path does not pass through the third version, which lacks the tags.
    #expect(try scratch.succeed("dump").text.contains("kept, too"))
  }

  @Test(
    "the mapping of a real project, with $source, keeps a note's image and the link to it",
    .enabled(if: Corpus.mappingModel("kodecocodes__cdt-materials") != nil, "\(Corpus.missing)"))
  func unCloudNotes() throws {
    let project = "kodecocodes__cdt-materials"
    let mapping = try #require(
      Corpus.mappingModel("\(project)/UnCloudNotesMappingModel_v2_to_v3.xcmappingmodel"))
    let model = try #require(Corpus.modelBundle("\(project)/UnCloudNotesDataModel.xcdatamodeld"))
    let scratch = try Scratch()
    try scratch.succeed("init", "--model", model, "--model-version", "UnCloudNotesDataModel v2")
    let lines = [
      #"{"id":"Note/1","attributes":{"title":"plain","body":"no image"}}"#,
      #"{"id":"Note/2","attributes":{"title":"pictured","body":"b","dateCreated":"2021-11-15T08:10:00Z","image":{"base64":"AQIDBA=="}}}"#,
    ]
    try scratch.succeed("load", "-", input: lines.joined(separator: "\n"))
    let arguments = ["migrate", "--model", model, "--to", "UnCloudNotesDataModel v3", "--mapping", mapping]
    #expect(try scratch.run(["--store", scratch.store] + arguments + ["--plan"]).code == 0)
    let run = try scratch.run(["--store", scratch.store] + arguments + ["--json"])
    #expect(run.code == 0, "\(run.errors)")
    #expect(try run.json()["created"] as? Int == 3)
    var objects: [[String: Any]] = []
    for line in try scratch.succeed("dump").text.split(separator: "\n").dropFirst() {
      objects.append(try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]))
    }
    let attachments = objects.filter { ($0["id"] as? String)?.hasPrefix("Attachment/") == true }
    #expect(attachments.count == 1 && objects.count == 3)
    let values = try #require(attachments.first?["attributes"] as? [String: Any])
    #expect((values["image"] as? [String: Any])?["base64"] as? String == "AQIDBA==")
    #expect(values["dateCreated"] as? String == "2021-11-15T08:10:00Z")
    let link = try #require((attachments.first?["relationships"] as? [String: Any])?["note"] as? String)
    let note = try #require(objects.first { $0["id"] as? String == link })
    #expect((note["attributes"] as? [String: Any])?["title"] as? String == "pictured")
    #expect(
      (note["relationships"] as? [String: Any])?["attachments"] as? [String]
        == attachments.compactMap { $0["id"] as? String })
    #expect(try scratch.succeed("check", "--read-data", "--json").text.contains(#""ok":true"#))
  }

  @Test func unmatchedIdentifiersAndRemovalsAreReported() throws {
    let scratch = try Scratch()
    func relationship(_ name: String, _ target: String, _ inverse: String, _ more: String) -> String {
      "<relationship name=\"\(name)\" optional=\"YES\" deletionRule=\"Nullify\" destinationEntity=\"\(target)\" "
        + "inverseName=\"\(inverse)\" inverseEntity=\"\(target)\" \(more)/>"
    }
    try Self.write(
      scratch, "Path",
      [
        (
          "V 1",
          Self.entity("Vehicle", "", relationship("events", "MaintenaceEvent", "vehicle", "toMany=\"YES\""))
            + Self.entity("MaintenaceEvent", "", relationship("vehicle", "Vehicle", "events", "maxCount=\"1\""))
            + Self.entity("Track", "", Self.attribute("title"))
        ),
        (
          "V 2",
          Self.entity("Vehicle", "", relationship("events", "MaintenanceEvent", "vehicle", "toMany=\"YES\""))
            + Self.entity("MaintenanceEvent", "", relationship("vehicle", "Vehicle", "events", "maxCount=\"1\""))
            + Self.entity("Piece", "elementID=\"Song\"", Self.attribute("title", "String", "elementID=\"heading\""))
        ),
      ])
    let bundle = scratch.file("Path.xcdatamodeld")
    try scratch.succeed("init", "--model", bundle, "--model-version", "V 1")
    let lines = [
      #"{"id":"Vehicle/1","relationships":{"events":["MaintenaceEvent/1","MaintenaceEvent/2"]}}"#,
      #"{"id":"MaintenaceEvent/1"}"#, #"{"id":"MaintenaceEvent/2"}"#, #"{"id":"Track/1"}"#,
    ]
    try scratch.succeed("load", "-", input: lines.joined(separator: "\n"))
    let plan = try scratch.succeed("migrate", "--model", bundle, "--to", "V 2", "--plan").text
    #expect(plan.contains("V 1 → V 2: 3 objects deleted\n"), "\(plan)")
    #expect(
      plan.contains("  removes MaintenaceEvent (2 objects) and the links to its objects: Vehicle.events\n"), "\(plan)")
    #expect(plan.contains("  removes Track (1 object)\n"), "\(plan)")
    #expect(plan.contains("  warning: Piece: the renaming identifier 'Song' matches nothing in V 1"), "\(plan)")
    // The properties of a new entity are not listed.
    #expect(!plan.contains("heading"))
    let json = try scratch.succeed("migrate", "--model", bundle, "--to", "V 2", "--plan", "--json").json()
    let step = try #require((json["steps"] as? [[String: Any]])?.first)
    #expect((step["warnings"] as? [[String: Any]])?.map { $0["kind"] as? String } == ["unmatchedRenamingIdentifier"])
    #expect((step["removals"] as? [[String: Any]])?.map { $0["objects"] as? Int } == [2, 1])
    let folders = ["V 1", "V 2"].map { "\(bundle)/\($0).xcdatamodel" }
    let diff = try scratch.run(["model", "diff"] + folders)
    #expect(diff.code == 0 && diff.errors.contains("kvclone: warning: Piece: the renaming identifier 'Song'"))
    let lint = try scratch.run(["model", "lint", bundle, "--model-version", "V 2"])
    #expect(lint.text.contains("Piece: the renaming identifier 'Song' matches nothing in V 1"), "\(lint.text)")
    let run = try scratch.tool("migrate", "--model", bundle, "--to", "V 2")
    #expect(run.code == 0 && run.errors.contains("warning: Piece: the renaming identifier 'Song'"))
    #expect(try scratch.succeed("dump", "Vehicle").text.contains(#""relationships":{}"#))
    #expect(try scratch.succeed("check", "--json").text.contains(#""ok":true"#))
  }
}
