import Foundation
import Testing

/// CSV as other programs read it: RFC 4180, with nil distinct from the empty string.
@Suite("kvclone: CSV")
struct CSVTests {
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    try scratch.makeStore()
  }

  private func csv(_ arguments: String...) throws -> String {
    let run = try scratch.run(["-s", scratch.store, "query"] + arguments + ["--format", "csv"])
    #expect(run.code == 0, "\(run.errors)")
    return run.text
  }

  @Test("nil is nothing, the empty text two quotes; alone in its row, nil is NULL")
  func nils() throws {
    for assignment in ["label=", "label=NULL", "label=x"] { try scratch.succeed("insert", "Tag", assignment) }
    try scratch.succeed(
      "insert", "Summary", "text=", "note=" + scratch.succeed("insert", "Note", "name:=null").text.trimmed)
    try scratch.succeed(
      "insert", "Summary", "text:=null", "note=" + scratch.succeed("insert", "Note", "name=").text.trimmed)
    #expect(try csv("Summary", "TRUEPREDICATE") == "id,text,note\nSummary/1,\"\",Note/1\nSummary/2,,Note/2\n")
    #expect(try csv("Summary", "TRUEPREDICATE", "--select", "text,note.name") == "text,note.name\n\"\",\n,\"\"\n")
    #expect(try csv("Summary", "TRUEPREDICATE", "--select", "text") == "text\n\"\"\nNULL\n")
    #expect(try csv("Summary", "TRUEPREDICATE", "--select", "note.name") == "note.name\nNULL\n\"\"\n")
    #expect(try csv("Tag", "TRUEPREDICATE", "--select", "label") == "label\n\"\"\n\"NULL\"\nx\n")
    // In a record of several columns the string needs no quotes.
    #expect(try csv("Tag", "label == 'NULL'") == "id,label\nTag/2,NULL\n")
    // Strings are quoted in single-column output.
    #expect(try scratch.succeed("query", "Summary", "TRUEPREDICATE", "--select", "text").text == "text\n\"\"\n\n")
  }

  @Test("commas, quotes and line ends are quoted, also with a combining mark behind them")
  func quotes() throws {
    let texts = [
      "a,b", "a\"b", "a\nb", "a\rb", "a\r\nb", "\"", ",", "a,\u{301}b", "\"\u{301}", "a\n\u{301}", " a ", "é", "a;b",
      "''",
    ]
    for text in texts { try scratch.succeed("insert", "Note", "name=" + text) }
    try scratch.write(try csv("Note", "TRUEPREDICATE", "--select", "objectID,name"), to: "notes.csv")
    try scratch.write(try csv("Note", "TRUEPREDICATE", "--select", "name"), to: "names.csv")
    #expect(Self.parse(try scratch.read("notes.csv")).dropFirst().map(\.last) == texts)
    #expect(Self.parse(try scratch.read("names.csv")).dropFirst().map(\.first) == texts)
  }

  /// Parses records of fields from the bytes by RFC 4180.
  private static func parse(_ data: Data) -> [[String]] {
    var records: [[String]] = []
    var fields: [String] = []
    var field: [UInt8] = []
    var isQuoted = false
    var index = data.startIndex
    while index < data.endIndex {
      let byte = data[index]
      let next = index + 1 < data.endIndex ? data[index + 1] : 0
      if isQuoted {
        if byte == 0x22, next == 0x22 {
          field.append(byte)
          index += 1
        } else if byte == 0x22 {
          isQuoted = false
        } else {
          field.append(byte)
        }
      } else if byte == 0x22 {
        isQuoted = true
      } else if byte == 0x2C || byte == 0x0A {
        fields.append(String(decoding: field, as: UTF8.self))
        field = []
        if byte == 0x0A {
          records.append(fields)
          fields = []
        }
      } else {
        field.append(byte)
      }
      index += 1
    }
    return records
  }
}

extension String {
  fileprivate var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }
}
