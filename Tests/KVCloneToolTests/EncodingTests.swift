import Foundation
import Testing

/// Texts that begin with a byte order mark, as Windows editors write them.
@Suite("kvclone: byte order marks")
struct EncodingTests {
  private static let mark = "\u{FEFF}"
  private static let line = #"{"id":"Note/1","attributes":{"name":"a"}}"# + "\n"
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    try scratch.makeStore()
  }

  private func load(_ data: Data, _ arguments: String...) throws -> [ToolRun] {
    try data.write(to: URL(fileURLWithPath: scratch.file("text")))
    let tool = ["-s", scratch.store, "load"] + arguments
    let shell = #"exec "$0" -s "$1" load - "$2" <text"#
    let last = arguments.first ?? "--no-progress"
    return [
      try scratch.run(tool + [scratch.file("text")]),
      try scratch.runProgram("/bin/sh", ["-c", shell, Scratch.executable, scratch.store, last], isHere: true),
    ]
  }

  @Test("NDJSON may begin with that of UTF-8: alone, before an object, before the header")
  func utf8() throws {
    let header = try #require(scratch.succeed("dump").text.split(separator: "\n").first)
    for text in [Self.line, "\(header)\n" + Self.line, "\r\n" + Self.line] {
      for run in try load(Data((Self.mark + text).utf8)) { #expect(run.code == 0, "\(run.errors)") }
    }
    for run in try load(Data((Self.mark + "\(header)\n" + Self.line).utf8), "--strict") { #expect(run.code == 0) }
    for run in try load(Data(Self.mark.utf8)) { #expect(run.code == 0, "\(run.errors)") }
    #expect(try scratch.succeed("query", "Note", "name == 'a'", "--count").text == "8\n")
    try scratch.succeed("check")
  }

  @Test("elsewhere, and that of UTF-16, it is an error that says what to do")
  func others() throws {
    for run in try load(Data((Self.line + Self.mark + Self.line).utf8)) {
      #expect(
        run.code == 1 && run.errors.contains("line 2: ") && run.errors.contains("byte order mark"), "\(run.errors)")
    }
    for encoding in [String.Encoding.utf16LittleEndian, .utf16BigEndian, .utf32LittleEndian, .utf32BigEndian] {
      for text in [Self.mark + Self.line, Self.line] {
        for run in try load(try #require(text.data(using: encoding))) {
          #expect(run.code == 1 && run.errors.contains("UTF-16"), "\(encoding): \(run.errors)")
          #expect(run.errors.contains("iconv"), "\(run.errors)")
        }
      }
    }
    #expect(try scratch.succeed("info", "--json").json()["objects"] as? Int == 0)
  }

  @Test("a model's XML may begin with one, and UTF-16 is named")
  func models() throws {
    try TestModel.write(to: scratch.file("Marked.xcdatamodeld"), contents: Self.mark + TestModel.contents)
    let marked = scratch.file("Marked.xcdatamodeld")
    #expect(try scratch.run(["-s", scratch.file("marked"), "init", "--model", marked]).code == 0)
    let wide = try #require((Self.mark + TestModel.contents).data(using: .utf16LittleEndian))
    try wide.write(to: URL(fileURLWithPath: marked + "/Notes.xcdatamodel/contents"))
    let refused = try scratch.run(["-s", scratch.file("wide"), "init", "--model", marked])
    #expect(refused.code == 1 && refused.errors.contains("UTF-8"), "\(refused.errors)")
  }
}
