import Foundation
import Testing

@testable import KVCloneTool

@Suite("kvclone: init, info, model, check, demo")
struct StoreCommandTests {
  @Test("init creates a store once")
  func create() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let again = try scratch.tool("init", "--model", scratch.file("Notes.xcdatamodeld"), "--json")
    #expect(again.code == 1)
    #expect(try again.error()["kind"] as? String == "storeExists")
    let missing = try scratch.run(["-s", scratch.file("other"), "init", "--model", "nothing.xcdatamodeld", "--json"])
    #expect(missing.code == 1)
    #expect(try missing.error()["kind"] as? String == "notFound")
    #expect(!FileManager.default.fileExists(atPath: scratch.file("other")))
  }

  @Test("info shows all its facts")
  func info() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("insert", "Tag", "label=a")
    let info = try scratch.succeed("info", "--json").json()
    #expect(UUID(uuidString: info["store"] as? String ?? "") != nil)
    #expect(info["format"] as? Int == 3)
    #expect(info["model"] as? String == "Notes")
    #expect(info.keys.contains("modelVersion"))
    #expect((info["modelHash"] as? String)?.count == 64)
    #expect(info["objects"] as? Int == 1)
    #expect(info["counts"] as? [String: Int] == ["Item": 0, "Note": 0, "Summary": 0, "Tag": 1])
    #expect((info["fileBytes"] as? Int ?? 0) > 0)
    #expect(info["commit"] is Int)
    #expect(info["snapshots"] as? Int == 0)
    #expect(try scratch.succeed("info").text.contains("Notes"))
  }

  @Test("model show in each format")
  func show() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let model = try scratch.succeed("model", "show", "--format", "json").json()
    let entities = try #require(model["entities"] as? [[String: Any]])
    #expect(entities.compactMap { $0["name"] as? String } == ["Base", "Item", "Note", "Summary", "Tag"])
    let note = entities[2]
    #expect(note["parent"] is NSNull)
    #expect(entities[1]["parent"] as? String == "Base")
    #expect(note["abstract"] as? Bool == false)
    let attributes = try #require(note["attributes"] as? [[String: Any]])
    let names = attributes.compactMap { $0["name"] as? String }
    #expect(names == names.sorted() && names.contains("name"))
    #expect(attributes.first { $0["name"] as? String == "name" }?["default"] as? String == "unnamed")
    let items = try #require((note["relationships"] as? [[String: Any]])?.first)
    #expect(
      items["name"] as? String == "items" && items["ordered"] as? Bool == true && items["toMany"] as? Bool == true)
    #expect(entities[4]["uniquenessConstraints"] as? [[String]] == [["label"]])
    for (format, sign) in [("tree", "Note"), ("mermaid", "classDiagram"), ("dot", "digraph"), ("svg", "<svg")] {
      #expect(try scratch.succeed("model", "show", "--format", format).text.contains(sign), "\(format)")
    }
    #expect(try scratch.run(["model", "show", scratch.file("Notes.xcdatamodeld"), "--json"]).json()["name"] != nil)
  }

  @Test("a model that rules values out is warned of by lint, by init, and where a value is refused")
  func contradictions() throws {
    let scratch = try Scratch()
    try TestModel.write(
      to: scratch.file("Odd.xcdatamodeld"),
      contents: """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
          <entity name="A"><attribute name="bad" optional="YES" attributeType="String" regularExpressionString="["/>
            <attribute name="x" optional="YES" attributeType="Integer 32" minValueString="10" maxValueString="5"
              defaultValueString="7"/>
            <attribute name="low" optional="YES" attributeType="Integer 32" minValueString="10" defaultValueString="7"/>
            <attribute name="odd" optional="YES" attributeType="Date" defaultValueString="January 1, 2010"/></entity>
        </model>
        """)
    let lint = try scratch.run(["model", "lint", "Odd.xcdatamodeld"])
    let made = try scratch.tool("init", "--model", scratch.file("Odd.xcdatamodeld"))
    #expect(lint.code == 0 && made.code == 0)
    for name in ["bad", "x", "low", "odd"] {
      #expect(lint.text.split(separator: "\n").count { $0.contains("A.\(name): ") } == 1, "\(lint.text)")
      #expect(made.errors.split(separator: "\n").count { $0.contains("A.\(name): ") } == 1, "\(made.errors)")
    }
    let refused = try scratch.tool("insert", "A", "bad=abc", "x:=null", "low=10")
    #expect(refused.code == 1 && refused.errors.contains("regular expression"), "\(refused.errors)")
    try scratch.succeed("insert", "A", "x:=null", "low=10")
    #expect(try scratch.tool("insert", "A", "x:=null").code == 1)
  }

  @Test("model lint: 0 with warnings, one a line; 1 with an error")
  func lint() throws {
    let scratch = try Scratch()
    let oneSided = TestModel.contents.replacing(#" inverseName="tags" inverseEntity="Item""#, with: "")
    try TestModel.write(to: scratch.file("Odd.xcdatamodeld"), contents: oneSided)
    let odd = try scratch.run(["model", "lint", scratch.file("Odd.xcdatamodeld")])
    #expect(odd.code == 0, "\(odd.errors)")
    #expect(odd.text.split(separator: "\n").contains { $0.contains(": Item.tags: ") || $0.contains(": Tag.items: ") })
    let json = try scratch.run(["model", "lint", scratch.file("Odd.xcdatamodeld"), "--json"]).json()
    #expect(json["ok"] as? Bool == true && (json["warnings"] as? [Any])?.isEmpty == false)
    let broken = TestModel.contents.replacing("value=\"uuid\"", with: "value=\"never\"")
    try TestModel.write(to: scratch.file("Broken.xcdatamodeld"), contents: broken)
    let result = try scratch.run(["model", "lint", scratch.file("Broken.xcdatamodeld"), "--json"])
    #expect(result.code == 1)
    #expect(try result.json()["ok"] as? Bool == false)
    #expect(try result.error()["kind"] as? String == "rebuildTypeMismatch")
  }

  @Test("check finds nothing in a sound store, and a changed byte in a damaged one")
  func check() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("insert", "Note", "name=a very particular name", "count=7")
    let sound = try scratch.succeed("check", "--read-data", "--json").json()
    #expect(sound["ok"] as? Bool == true)
    #expect(sound["objects"] as? Int == 1)
    #expect((sound["pages"] as? Int ?? 0) > 0)
    #expect((sound["damages"] as? [Any])?.isEmpty == true)
    var bytes = try scratch.read("store/data.mdb")
    var changed = 0
    while let range = bytes.range(of: Data("a very particular name".utf8)) {
      bytes[range.lowerBound] ^= 1
      changed += 1
    }
    #expect(changed > 0)
    try #require(FileHandle(forWritingAtPath: scratch.file("store/data.mdb"))).write(contentsOf: bytes)
    let damaged = try scratch.tool("check", "--json")
    #expect(damaged.code == 4)
    let report = try damaged.json()
    #expect(report["ok"] as? Bool == false)
    let damage = try #require((report["damages"] as? [[String: Any]])?.first)
    #expect(Set(damage.keys).isSuperset(of: ["kind", "object", "property", "page", "message"]))
    #expect(try scratch.tool("check").code == 4)
    #expect(try scratch.tool("get", "Note/1").code == 1)
  }

  @Test("the demo runs anywhere, fits 100 columns, and leaves a sound store")
  func demo() throws {
    let scratch = try Scratch()
    let demo = try scratch.run(["demo", "--at", scratch.store])
    #expect(demo.code == 0, "\(demo.errors)")
    for line in demo.text.split(separator: "\n") where !line.contains(scratch.path) {
      #expect(line.count <= 100, "\(line)")
    }
    for rule in ["R5", "R6", "R7", "R9", "R15", "R16", "R17"] { #expect(demo.text.contains(rule)) }
    #expect(!demo.text.contains("\u{1B}"))
    // The PATH of the tests contains another kvclone, or none.
    let alias = try #require(ShellWords.alias(for: Scratch.executable, path: ""))
    let values = #"base "Iceland", original "Iceland 2026", draft "Iceland in winter""#
    for line in ["  ! Project/1 title: \(values)", #"  M Photo/22 title "Cat" → "Harbour cat""#, " Photo/49 "] {
      #expect(demo.text.contains(line))
    }
    #expect(demo.text.contains("\n  \(alias)\n  export KVCLONE_STORE=\(ShellWords.word(scratch.store))\n"))
    try scratch.succeed("check", "--read-data")
    #expect(try scratch.succeed("get", "Project/1").text.contains("Iceland in winter"))
    #expect(try scratch.succeed("get", "Photo/24").text.contains("Old bakery"))
    #expect(try scratch.succeed("get", "Photo/49").text.contains("Album/1"))
    try scratch.succeed("blob", "get", "Photo/1", "image", "-o", scratch.file("photo.bmp"))
    #expect(try scratch.read("photo.bmp").starts(with: Data("BM".utf8)))
    #expect(try scratch.run(["demo", "--at", scratch.store]).code == 1)
    let json = try scratch.run(["demo", "--at", scratch.file("second"), "--json"]).json()
    let clone = try #require(json["clone"] as? [String: Any])
    #expect(clone["blobsShared"] as? Int == 24)
    #expect(clone["bytesCopied"] as? Int == 0)
    let merge = try #require(json["merge"] as? [String: Any])
    #expect(merge["conflictCount"] as? Int == 1)
  }

  @Test("an alias is offered where the shell finds another program, or none")
  func aliases() throws {
    let scratch = try Scratch()
    let manager = FileManager.default
    for folder in ["here", "linked", "other", "folder/kvclone"] {
      try manager.createDirectory(atPath: scratch.file(folder), withIntermediateDirectories: true)
    }
    for name in ["here/kvclone", "other/kvclone", "an 'old' one"] {
      try scratch.write("#!/bin/sh\n", to: name)
      try manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: scratch.file(name))
    }
    try scratch.write("no program", to: "kvclone")
    let program = scratch.file("here/kvclone")
    try manager.createSymbolicLink(atPath: scratch.file("linked/kvclone"), withDestinationPath: program)
    func alias(_ folders: String...) -> String? {
      ShellWords.alias(for: program, path: folders.map(scratch.file).joined(separator: ":"))
    }
    #expect(alias("here") == nil && alias("linked", "other") == nil)
    // A shell skips a folder of the same name, and a file that is not executable.
    #expect(alias("folder", "", "here") == nil)
    for path in [alias(), alias("other", "here"), alias("missing")] { #expect(path == "alias kvclone='\(program)'") }
    #expect(ShellWords.word("a b") == "'a b'" && ShellWords.word("") == "''" && ShellWords.word("$HOME") == "'$HOME'")
    // A shell that reads the lines one by one, like a terminal, runs the program.
    let odd = scratch.file("an 'old' one")
    try scratch.write("#!/bin/sh\necho \"$1\"\n", to: "an 'old' one")
    try manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: odd)
    let line = try #require(ShellWords.alias(for: odd, path: ""))
    try scratch.write("\(line)\nkvclone works\n", to: "script")
    #expect(try scratch.runProgram("/bin/sh", [scratch.file("script")]).text == "works\n")
  }
}
