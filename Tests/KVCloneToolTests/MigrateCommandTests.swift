import Foundation
import KVCloneTestSupport
import Testing

/// `migrate` in cases that cannot be inferred.
struct MigrateCommandTests {
  private static let old = """
    <model><entity name="Note">
      <attribute name="title" optional="YES" attributeType="String"/>
      <attribute name="size" optional="YES" attributeType="Double"/>
    </entity></model>
    """
  private static let new = """
    <model><entity name="Note">
      <attribute name="title" attributeType="String"/>
      <attribute name="size" optional="YES" attributeType="Integer 16"/>
    </entity></model>
    """

  /// The file that names the current version.
  private static let current = """
    <?xml version="1.0" encoding="UTF-8"?>
    <plist version="1.0"><dict><key>_XCCurrentVersionName</key><string>Notes 2.xcdatamodel</string></dict></plist>
    """

  /// Creates a store of the first of two versions, with a note.
  private func scratch(_ lines: String...) throws -> Scratch {
    let scratch = try Scratch()
    for (name, contents) in [("Notes", Self.old), ("Notes 2", Self.new)] {
      let folder = scratch.file("Notes.xcdatamodeld/\(name).xcdatamodel")
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try scratch.write(contents, to: "Notes.xcdatamodeld/\(name).xcdatamodel/contents")
    }
    try scratch.write(Self.current, to: "Notes.xcdatamodeld/.xccurrentversion")
    try scratch.succeed("init", "--model", scratch.file("Notes.xcdatamodeld"), "--model-version", "Notes")
    for line in lines { try scratch.succeed("insert", "Note", line) }
    return scratch
  }

  @Test func aRefusedStepComesWithTheMappingModelThatWouldDoIt() throws {
    let scratch = try scratch("size:=1.5")
    let bundle = scratch.file("Notes.xcdatamodeld")
    let marks = [
      #"PropertyMapping("title", .unsupported("FILL IN Note.title")),"#,
      #"PropertyMapping("size", .unsupported("FILL IN Note.size")),"#,
    ]
    let plan = try scratch.tool("migrate", "--model", bundle, "--to", "Notes 2", "--plan")
    #expect(plan.code == 1 && plan.errors == "")
    #expect(plan.text.contains("Notes → Notes 2: cannot be inferred\n"))
    for mark in marks { #expect(plan.text.contains(mark), "\(plan.text)") }
    #expect(plan.text.hasSuffix("  ], sourceModelPath: \"Notes\", destinationModelPath: \"Notes 2\")\n"))
    let json = try scratch.tool("migrate", "--model", bundle, "--to", "Notes 2", "--plan", "--json").json()
    let steps = try #require(json["steps"] as? [[String: Any]])
    #expect((steps.first?["mappingSkeleton"] as? String)?.contains(marks[0]) == true)
    // Without --plan the same text goes to stdout, and the error stays one line.
    let run = try scratch.tool("migrate", "--model", bundle, "--to", "Notes 2")
    #expect(run.code == 1 && run.errors.split(separator: "\n").count == 1)
    for mark in marks { #expect(run.text.contains(mark), "\(run.text)") }
    let refused = try scratch.tool("migrate", "--model", bundle, "--to", "Notes 2", "--json")
    let error = try refused.error()
    #expect(refused.code == 1 && refused.text == "" && error["kind"] as? String == "notInferable")
    #expect((error["mappingSkeleton"] as? String)?.contains(marks[1]) == true)
    #expect(error["entity"] as? String == "Note")
  }

  @Test func whatConcernsNoObjectIsNotRefused() throws {
    let scratch = try scratch()
    let bundle = scratch.file("Notes.xcdatamodeld")
    let json = try scratch.tool("migrate", "--model", bundle, "--to", "Notes 2", "--plan", "--json").json()
    let steps = try #require(json["steps"] as? [[String: Any]])
    #expect(json["possible"] as? Bool == true && steps.first?["mappingSkeleton"] is NSNull)
    let run = try scratch.succeed("migrate", "--model", bundle, "--to", "Notes 2", "--json")
    #expect(try run.json()["versions"] as? [String] == ["Notes", "Notes 2"])
  }

  @Test func mappingModelsThatCannotBeUsedAreNamed() throws {
    let scratch = try scratch("title=x")
    let bundle = scratch.file("Notes.xcdatamodeld")
    func fails(_ mapping: String, _ kind: String, _ words: String..., location: SourceLocation = #_sourceLocation)
      throws
    {
      let run = try scratch.tool(
        "migrate", "--model", bundle, "--to", "Notes 2", "--mapping", scratch.file(mapping), "--json")
      let error = try run.error()
      #expect(run.code == 1 && error["kind"] as? String == kind, "\(run.errors)", sourceLocation: location)
      for word in words + [mapping] {
        #expect((error["message"] as? String)?.contains(word) == true, "\(run.errors)", sourceLocation: location)
      }
    }
    try fails("None.xcmappingmodel", "notFound", "check the path")
    try FileManager.default.createDirectory(
      atPath: scratch.file("Empty.xcmappingmodel"), withIntermediateDirectories: true)
    try fails("Empty.xcmappingmodel", "notAMapping", "xcmapping.xml")
    try scratch.write("<database", to: "Empty.xcmappingmodel/xcmapping.xml")
    try fails("Empty.xcmappingmodel", "malformed", "line")
    try scratch.write("x", to: "File.xcmappingmodel")
    try fails("File.xcmappingmodel", "notAMapping", "folder")
  }

  @Test(
    "one that does not fit its versions, or is for others",
    .enabled(if: Corpus.mappingModel("jessesquires__JSQCoreDataKit/Version1_to_Version2.xcmappingmodel") != nil))
  func mappingModelsOfOtherVersions() throws {
    let scratch = try scratch("size:=1.5")
    let name = "jessesquires__JSQCoreDataKit/Version1_to_Version2.xcmappingmodel"
    let mapping = try #require(Corpus.mappingModel(name))
    let other = try scratch.tool(
      "migrate", "--model", scratch.file("Notes.xcdatamodeld"), "--to", "Notes 2", "--mapping", mapping, "--plan")
    #expect(other.code == 1)
    #expect(other.errors.contains("mapping model Version1_to_Version2 (Version 1 → Version 2) cannot be used"))
    for version in ["Version 1", "Version 2"] {
      try FileManager.default.createDirectory(
        atPath: scratch.file("V.xcdatamodeld/\(version).xcdatamodel"), withIntermediateDirectories: true)
      try scratch.write(Self.new, to: "V.xcdatamodeld/\(version).xcdatamodel/contents")
    }
    let run = try scratch.tool(
      "migrate", "--model", scratch.file("V.xcdatamodeld"), "--to", "Version 2", "--mapping", mapping, "--json")
    let error = try run.error()
    #expect(run.code == 1 && error["kind"] as? String == "unknownEntity" && error["entity"] is String)
    #expect((error["message"] as? String)?.hasPrefix(mapping) == true, "\(run.errors)")
  }

  @Test func lintReportsWhatAVersionWouldLose() throws {
    let scratch = try Scratch()
    func write(_ version: String, _ contents: String) throws {
      let folder = "Notes.xcdatamodeld/\(version).xcdatamodel"
      try FileManager.default.createDirectory(atPath: scratch.file(folder), withIntermediateDirectories: true)
      try scratch.write("<model>\(contents)</model>", to: "\(folder)/contents")
    }
    func attribute(_ name: String, _ type: String = "String", _ more: String = #"optional="YES""#) -> String {
      "<attribute name=\"\(name)\" attributeType=\"\(type)\" \(more)/>"
    }
    try write(
      "Notes",
      """
      <entity name="Note">\(attribute("title"))\(attribute("text"))\(attribute("size", "Double"))</entity>
      <entity name="Tag">\(attribute("label"))\(attribute("weight", "Float"))</entity>
      <entity name="Author">\(attribute("name"))\(attribute("age", "Float"))</entity>
      """)
    try write(
      "Notes 2",
      """
      <entity name="Memo">\(attribute("title"))\(attribute("text"))\(attribute("length", "Double"))</entity>
      <entity name="Tag">\(attribute("name"))\(attribute("weight", "Float"))\(attribute("rank", "Integer 16", ""))</entity>
      <entity name="Writer" elementID="Author">\(attribute("name"))\(attribute("years", "Float", #"optional="YES" elementID="age""#))</entity>
      """)
    try write("Notes 3", #"<entity name="Other"></entity>"#)
    try scratch.write(Self.current, to: "Notes.xcdatamodeld/.xccurrentversion")
    let run = try scratch.run(["model", "lint", "Notes.xcdatamodeld", "--json"])
    let warnings = try #require(try run.json()["warnings"] as? [[String: Any]])
    let told = warnings.map { "\($0["kind"] ?? "") \($0["entity"] ?? "").\($0["property"] as? String ?? "")" }.sorted()
    #expect(run.code == 0)
    #expect(told == ["notInferable Tag.rank", "unidentifiedRename Memo.", "unidentifiedRename Tag.name"])
    let messages = warnings.map { $0["message"] as? String ?? "" }
    #expect(messages.contains { $0.contains("set the renaming identifier to 'Note'") })
    #expect(messages.contains { $0.contains("set the renaming identifier to 'label'") })
    #expect(warnings.allSatisfy { $0["file"] as? String == "Notes.xcdatamodeld/Notes 2.xcdatamodel" })
    // Versions that were not selected are not reported; neither is the first one.
    #expect(try scratch.run(["model", "lint", "Notes.xcdatamodeld", "--model-version", "Notes"]).text == "")
  }
}
