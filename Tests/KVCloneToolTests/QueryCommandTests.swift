import Foundation
import Testing

@Suite("kvclone: query")
struct QueryCommandTests {
  private func filled() throws -> Scratch {
    let scratch = try Scratch()
    try scratch.makeStore()
    let lines = """
      {"id":"Note/1","attributes":{"name":"b, \\"quoted\\""},"relationships":{"items":["Item/1","Item/2"]}}
      {"id":"Note/2","attributes":{"name":"A"}}
      {"id":"Note/3","attributes":{"name":"c"},"relationships":{"items":["Item/3"]}}
      {"id":"Item/1","attributes":{},"relationships":{"tags":["Tag/1","Tag/2"]}}
      {"id":"Item/2"}
      {"id":"Item/3","attributes":{},"relationships":{"tags":["Tag/2"]}}
      {"id":"Tag/1","attributes":{"label":"Apple"}}
      {"id":"Tag/2","attributes":{"label":"pear"}}
      """
    try scratch.succeed("load", "-", input: lines)
    return scratch
  }

  private func ids(_ scratch: Scratch, _ arguments: String...) throws -> [String] {
    try scratch.run(["--store", scratch.store, "query"] + arguments + ["--format", "ids"]).text.split(separator: "\n")
      .map(String.init)
  }

  @Test("objects are found by subqueries, counts, members and names, in the requested order")
  func finds() throws {
    let scratch = try filled()
    #expect(
      try ids(scratch, "Item", "SUBQUERY(tags, $tag, $tag.label BEGINSWITH 'A').@count > 0") == ["Item/1"])
    #expect(try ids(scratch, "Item", "ANY tags.label ==[c] 'PEAR'") == ["Item/1", "Item/3"])
    #expect(try ids(scratch, "Item", "note == 'Note/1'") == ["Item/1", "Item/2"])
    #expect(try ids(scratch, "Note", "items.@count == 0 OR name == 'c'", "--sort", "-name") == ["Note/3", "Note/2"])
    #expect(try ids(scratch, "Note", "TRUEPREDICATE", "--sort", "name[c]") == ["Note/2", "Note/1", "Note/3"])
    #expect(
      try ids(scratch, "Note", "TRUEPREDICATE", "--sort", "items.@count,-name") == ["Note/2", "Note/3", "Note/1"])
    #expect(try ids(scratch, "Note", "TRUEPREDICATE", "--offset", "1", "--limit", "1") == ["Note/2"])
    #expect(try ids(scratch, "Note", "TRUEPREDICATE", "--limit", "0") == [])
    #expect(try ids(scratch, "Note", "SELF IN {'Note/3', 'Note/1', 'Note/99'}") == ["Note/1", "Note/3"])
  }

  @Test("results come as a table, JSON, CSV, ids, or as their number")
  func formats() throws {
    let scratch = try filled()
    let json = try scratch.succeed("query", "Note", "name == 'A'", "--json").json()
    let objects = try #require(json["objects"] as? [[String: Any]])
    #expect(objects.map { $0["id"] as? String } == ["Note/2"])
    let count = try scratch.succeed("query", "Note", "name != nil", "--count", "--json").json()
    #expect(count["count"] as? Int == 3)
    #expect(try scratch.succeed("query", "Note", "name != nil", "--count", "--limit", "2").text == "2\n")
    let csv = try scratch.succeed("query", "Note", "name CONTAINS 'quoted'", "--format", "csv").text
    #expect(csv.hasPrefix("objectID,name,"), "the entity has an attribute id")
    #expect(csv.split(separator: "\n").count == 2 && csv.contains("\"b, \"\"quoted\"\"\""))
    let table = try scratch.succeed("query", "Note", "TRUEPREDICATE", "--sort", "name").text.split(separator: "\n")
    #expect(table.count == 4 && table[0].hasPrefix("objectID ") && table[1].hasPrefix("Note/2"))
    let steps = try scratch.succeed("query", "Item", "note == 'Note/1'", "--explain").text
    #expect(steps.hasPrefix("read the members of items of 1 object (about 2 objects)\n"))
  }

  private static let valueModel = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
      <entity name="T"><attribute name="name" optional="YES" attributeType="String"/>
        <attribute name="n" optional="YES" attributeType="Integer 64"/>
        <attribute name="p" optional="YES" attributeType="Decimal"/>
        <attribute name="t" optional="YES" attributeType="Date"/></entity>
    </model>
    """

  private func values(_ lines: String) throws -> Scratch {
    let scratch = try Scratch()
    try TestModel.write(to: scratch.file("Values.xcdatamodeld"), contents: Self.valueModel)
    try scratch.succeed("init", "--model", scratch.file("Values.xcdatamodeld"))
    try scratch.succeed("load", "-", input: lines)
    return scratch
  }

  @Test(
    "a date that does not exist is an error with a column, and no other day",
    arguments: [
      "2019-02-29T00:00:00Z", "2020-02-30T00:00:00Z", "2020-01-01T25:00:00Z", "2020-01-01T24:00:00Z",
      "2020-01-01T00:00:60Z", "2020-01-01T00:00:00+25:00", "2019-03-01T00:00:00Zjunk", "2019-03-01T00:00:00",
      "2019-03-01 00:00:00Z", "2019-03-01", "nonsense",
    ])
  func datesThatDoNotExist(_ text: String) throws {
    let scratch = try values(#"{"id":"T/1","attributes":{"t":"2019-03-01T00:00:00Z"}}"#)
    for predicate in ["t == '\(text)'", "t IN {'\(text)'}", "t == CAST('\(text)', 'NSDate')", "'\(text)' < t"] {
      let refused = try scratch.tool("query", "T", predicate, "--json")
      #expect(refused.code == 1 && refused.output.isEmpty, "\(predicate)")
      let error = try refused.error()
      #expect(error["kind"] as? String == "wrongType")
      let message = try #require(error["message"] as? String)
      let column = predicate.hasPrefix("'") ? 1 : predicate.contains("CAST") ? 11 : 6
      #expect(message.contains("column \(column):") && !message.contains(text), "\(message)")
    }
    #expect(try scratch.tool("insert", "T", "t=\(text)").code == 1)
    #expect(try scratch.tool("load", "-", input: #"{"id":"T/2","attributes":{"t":"\#(text)"}}"#).code == 1)
  }

  @Test(
    "a date in any spelling of RFC 3339 is found everywhere",
    arguments: ["2020-03-29t02:30:00.000+02:00", "2020-03-29T00:30:00z"])
  func spellingsOfDates(_ text: String) throws {
    let scratch = try values(#"{"id":"T/1","attributes":{"t":"\#(text)"}}"#)
    #expect(
      try ids(scratch, "T", "t == '2020-03-29T00:30:00Z' AND t == '\(text)' AND t == CAST('\(text)', 'NSDate')") == [
        "T/1"
      ])
  }

  @Test("CAST of a stored text that means nothing names the object, and shows nothing of it")
  func castsOfStoredTexts() throws {
    let scratch = try values(
      """
      {"id":"T/1","attributes":{"name":"12","n":12}}
      {"id":"T/2","attributes":{"name":"secret"}}
      {"id":"T/3"}
      """)
    #expect(try ids(scratch, "T", "name != 'secret' AND CAST(name, 'NSNumber') == n") == ["T/1", "T/3"])
    let refused = try scratch.tool("query", "T", "CAST(name, 'NSNumber') == n", "--json", "--count")
    #expect(refused.code == 1)
    let error = try refused.error()
    #expect(error["object"] as? String == "T/2" && error["property"] as? String == "name")
    #expect((error["message"] as? String)?.contains("secret") == false)
  }

  @Test("numbers keep all of their digits, in literals, in values and in sums")
  func digits() throws {
    let scratch = try values(
      """
      {"id":"T/1","attributes":{"n":9223372036854775807,"p":"12345678901234567890.12345678901234567"}}
      {"id":"T/2","attributes":{"n":3,"p":"0.1"}}
      {"id":"T/3","attributes":{"n":-9223372036854775807,"p":"99999999999999999999999999999999999999"}}
      """)
    #expect(try ids(scratch, "T", "p == 12345678901234567890.12345678901234567") == ["T/1"])
    #expect(try ids(scratch, "T", "p == 12345678901234567890.12345678901234568") == [])
    #expect(try ids(scratch, "T", "n < 9223372036854775808 AND n + 1 > 9223372036854775807") == ["T/1"])
    #expect(try scratch.tool("query", "T", "p == 0.\(String(repeating: "1", count: 39))").code == 64)
    #expect(try scratch.tool("insert", "T", "p=0.\(String(repeating: "1", count: 39))").code == 1)
    let sums = try scratch.succeed("query", "T", "TRUEPREDICATE", "--select", "sum:(n),average:(n)", "--format", "csv")
      .text
    #expect(sums.hasSuffix("\n3,1\n"), "\(sums)")
    let partial = try scratch.succeed("query", "T", "n > 0", "--select", "sum:(n)", "--format", "csv").text
    #expect(partial.hasSuffix("\nNULL\n"), "\(partial)")
  }

  @Test("--sort counts digits as numbers with [numeric], alone and with [cd]")
  func numericOrder() throws {
    let scratch = try values(
      ["file10", "File2", "file1"].enumerated().map { #"{"id":"T/\#($0 + 1)","attributes":{"name":"\#($1)"}}"# }.joined(
        separator: "\n"))
    #expect(try ids(scratch, "T", "TRUEPREDICATE", "--sort", "name[numeric]") == ["T/2", "T/3", "T/1"])
    for key in ["name[c][numeric]", "name[numeric][cd]", "name[c,numeric]"] {
      #expect(try ids(scratch, "T", "TRUEPREDICATE", "--sort", key) == ["T/3", "T/2", "T/1"], "\(key)")
    }
    #expect(try ids(scratch, "T", "TRUEPREDICATE", "--sort=-name[numeric],n") == ["T/1", "T/3", "T/2"])
    let steps = try scratch.succeed("query", "T", "TRUEPREDICATE", "--sort", "name[numeric]", "--explain").text
    #expect(steps.contains("no index has the order of [numeric]"))
    #expect(try scratch.tool("query", "T", "TRUEPREDICATE", "--sort", "name[n]").code == 64)
    #expect(try scratch.tool("query", "T", "name ==[numeric] 'a'").code == 64)
  }

  @Test("the column of names is called otherwise where the entity has an attribute of that name")
  func attributeCalledID() throws {
    let scratch = try Scratch()
    try TestModel.write(
      to: scratch.file("Cards.xcdatamodeld"),
      contents: """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
          <entity name="Card"><attribute name="id" optional="YES" attributeType="String"/></entity>
        </model>
        """)
    try scratch.succeed("init", "--model", scratch.file("Cards.xcdatamodeld"))
    try scratch.succeed("load", "-", input: #"{"id":"Card/1","attributes":{"id":"K"}}"#)
    let csv = try scratch.succeed("query", "Card", "TRUEPREDICATE", "--format", "csv").text
    #expect(csv == "objectID,id\nCard/1,K\n")
  }

  @Test("values instead of objects, in every format")
  func values() throws {
    let scratch = try filled()
    func text(_ arguments: String...) throws -> String {
      try scratch.run(["--store", scratch.store, "query"] + arguments).text
    }
    #expect(
      try text("Item", "TRUEPREDICATE", "--select", "note,note.name, tags.@count", "--format", "csv") == #"""
        note,note.name,tags.@count
        Note/1,"b, ""quoted""",2
        Note/1,"b, ""quoted""",0
        Note/3,c,1

        """#)
    #expect(
      try text("Note", "TRUEPREDICATE", "--select", "name,n=items.@count,half=items.@count / 2.0", "--sort", "name")
        == #"""
        name             n  half
        "A"              0  0
        "b, \"quoted\""  2  1
        "c"              1  0.5

        """#)
    let json = try scratch.succeed(
      "query", "Item", "TRUEPREDICATE", "--select", "note,rank,tags=tags.@count", "--limit", "1", "--offset", "2",
      "--json"
    ).json()
    let objects = try #require(json["objects"] as? [[String: Any]])
    #expect(objects.count == 1 && objects[0]["note"] as? String == "Note/3" && objects[0]["tags"] as? Int == 1)
    #expect(objects[0]["rank"] is NSNull)
    #expect(try text("Note", "TRUEPREDICATE", "--select", "name", "--limit", "0", "--format", "csv") == "name\n")
    #expect(try text("Note", "name == 'x'", "--select", "name", "--json") == "{\"objects\":[]}\n")
  }

  @Test("groups, their predicate, and equal results once")
  func groups() throws {
    let scratch = try filled()
    func csv(_ arguments: String...) throws -> [String] {
      let run = try scratch.run(["--store", scratch.store, "query"] + arguments + ["--format", "csv"])
      #expect(run.code == 0, "\(run.errors)")
      return run.text.split(separator: "\n").dropFirst().map(String.init)
    }
    #expect(
      try csv("Item", "TRUEPREDICATE", "--group-by", "note", "--select", "note,n=@count") == ["Note/1,2", "Note/3,1"])
    #expect(
      try csv(
        "Item", "TRUEPREDICATE", "--group-by", "note.name", "--select", "note.name,n=count:(SELF),max:(tags.@count)",
        "--having", "$n < 2", "--sort=-$n") == ["c,1,1"])
    #expect(try csv("Item", "TRUEPREDICATE", "--select", "@count,sum:(tags.@count)") == ["3,3"])
    #expect(try csv("Item", "TRUEPREDICATE", "--select", "note", "--distinct") == ["Note/1", "Note/3"])
    #expect(try csv("Item", "TRUEPREDICATE", "--select", "note", "--distinct", "--offset", "1") == ["Note/3"])
  }

  @Test("unsupported values are rejected")
  func refusesValues() throws {
    let scratch = try filled()
    for (arguments, code, text) in [
      (["--select", "nope"], 1, "nope"), (["--select", "items"], 1, "items"),
      (["--select", "name,,id"], 64, "--select"),
      (["--select", ""], 64, "--select"), (["--select", "name,name"], 64, "NAME="),
      (["--select", "sum:("], 64, "--select"),
      (["--select", "name,@count"], 1, "name"), (["--select", "@count", "--group-by", "("], 64, "--group-by"),
      (["--select", "@count", "--having", "name =="], 64, "--having"),
      (["--select", "@count", "--having", "$n > 1"], 1, "$n"), (["--group-by", "name"], 64, "--select"),
      (["--having", "name == 'x'"], 64, "--select"), (["--distinct"], 64, "--select"),
      (["--select", "name", "--count"], 64, "--count"), (["--select", "name", "--explain"], 64, "--explain"),
      (["--select", "name", "--format", "ids"], 64, "ids"),
    ] {
      let result = try scratch.run(["--store", scratch.store, "query", "Note", "TRUEPREDICATE"] + arguments)
      #expect(result.code == Int32(code), "\(arguments): \(result.errors)")
      #expect(result.errors.contains(text) && result.text.isEmpty, "\(arguments): \(result.errors)")
    }
    let help = try scratch.run(["query", "--help"]).text
    #expect(help.contains("--group-by") && help.contains("--having '$n > 10'"))
  }

  @Test("unsupported queries are rejected, and the error names them")
  func refuses() throws {
    let scratch = try filled()
    for (arguments, code, text) in [
      (["Note", "nope == 1"], 1, "nope"), (["Note", "name == 1"], 1, "name"),
      (["Note", "items.note == nil"], 1, "ANY"), (["Nope", "TRUEPREDICATE"], 1, "Nope"),
      (["Note", "name =="], 64, "column 8"), (["Note", "name == $x"], 1, "$x"),
      (["Note", "TRUEPREDICATE", "--sort", "items"], 1, "items"),
      (["Note", "TRUEPREDICATE", "--sort", "("], 64, "--sort"),
      (["Note", "TRUEPREDICATE", "--limit", "-1"], 64, "--limit"),
    ] {
      let result = try scratch.run(["--store", scratch.store, "query"] + arguments)
      #expect(result.code == Int32(code), "\(arguments): \(result.errors)")
      #expect(result.errors.contains(text), "\(arguments): \(result.errors)")
    }
  }
}
