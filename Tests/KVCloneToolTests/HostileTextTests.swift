import Foundation
import Glibc
import Testing

/// Malicious NDJSON of 64 MB, loaded in a process with limited memory.
@Suite("kvclone load: hostile text")
struct HostileTextTests {
  private static let length = 64 << 20
  /// The limit of the load's writable memory in bytes: eight times the text, for texts that are one line.
  private static let dataLimit = 512 << 20

  /// A text: a prefix, a suffix, and a part repeated in between until the text is 64 MB long.
  struct Text: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let start: String
    let piece: String
    let end: String
    /// The kind of the error, or nil if the text is valid.
    let kind: String?

    init(_ name: String, _ start: String, _ piece: String, _ end: String = "", _ kind: String? = "unreadableLine") {
      testDescription = name
      self.start = start
      self.piece = piece
      self.end = end
      self.kind = kind
    }

    func write(to path: String) throws {
      _ = FileManager.default.createFile(atPath: path, contents: nil)
      let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      try handle.write(contentsOf: Data(start.utf8))
      let pieces = Data(String(repeating: piece, count: max(1, (1 << 20) / piece.utf8.count)).utf8)
      for _ in 0..<HostileTextTests.length / pieces.count { try handle.write(contentsOf: pieces) }
      try handle.write(contentsOf: Data(end.utf8))
      try handle.close()
    }
  }

  private static let note = #"{"id":"Note/1","attributes":{"#
  private static let list = #"{"id":"Note/1","relationships":{"items":["#

  static let texts: [Text] = [
    Text("arrays in arrays", "", "["),
    Text("objects in objects", note + #""name":"#, #"{"a":"#),
    Text("a list in lists", list, "["),
    Text("a line without an end", "", "x"),
    Text("a line of space", "", " ", "", nil),
    Text("lines of nothing", "", "\n", "", nil),
    Text("a text", note + #""name":""#, "a", #""}}"#, nil),
    Text("a text of escapes", note + #""name":""#, #"\u00e9"#, #""}}"#, nil),
    Text("a text of half an escape", note + #""name":""#, #"\ud83d"#, #""}}"#),
    Text("a name", "{\"", "a", "\":1}"),
    Text("an id", #"{"id":""#, "Note/", #"1"}"#),
    Text("an attribute's name", note + "\"", "a", #"":1}}"#, "unknownProperty"),
    Text("a relationship's name", #"{"id":"Note/1","relationships":{""#, "a", #"":1}}"#, "unknownProperty"),
    Text("bytes in base 64", note + #""data":{"base64":""#, "AAAA", #""}}}"#, nil),
    Text("a number of 64 million digits", note + #""total":"#, "7", "}}"),
    Text("a fraction of 64 million digits", note + #""ratio":0."#, "7", "}}", nil),
    Text("an exponent of 64 million digits", note + #""ratio":1e"#, "7", "}}"),
    Text("a decimal of 64 million digits", note + #""price":""#, "7", #""}}"#, "outOfRange"),
    Text("a decimal's exponent of 64 million digits", note + #""price":"1e"#, "7", #""}}"#, "outOfRange"),
    Text("a date of 64 million digits", note + #""created":""#, "7", #""}}"#, "wrongType"),
    Text("an array of numbers", "[", "1,", "1]"),
    Text("an array of numbers for a value", note + #""name":["#, "1,", "1]}}"),
    Text("empty arrays", note + #""name":["#, "[],", "[]]}}"),
    Text("arrays of one", note + #""name":["#, "[1],", "[]]}}"),
    Text("objects of one", note + #""name":["#, #"{"":0},"#, "0]}}"),
    Text("a list of nothing", list, #""","#, #"""]}}"#, "wrongDestination"),
    Text("a list of one", list, #""Item/1","#, #""Item/1"]}}"#, "danglingID"),
    Text("a list of numbers", list, "1,", "1]}}"),
    Text("a list of arrays", list, "[],", "[]]}}"),
    Text("one object, again and again", "", "{\"id\":\"Item/1\"}\n", "", "duplicateID"),
  ]

  @Test("64 MB of it end in an error or in a store, within 512 MiB of memory", arguments: texts)
  func memory(_ text: Text) throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    try text.write(to: scratch.file("data.ndjson"))
    let result = try load("data.ndjson", scratch)
    if let kind = text.kind {
      #expect(result.code == 1, "\(result.errors.prefix(300))")
      #expect(try result.error()["kind"] as? String == kind)
      #expect(result.errors.utf8.count < 1_000)
    } else {
      #expect(result.code == 0, "\(result.errors.prefix(300))")
    }
    try FileManager.default.removeItem(atPath: scratch.file("data.ndjson"))
    try scratch.succeed("check")
  }

  @Test("names of members that are all different end in an error, too")
  func differentNames() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    for start in [Self.note, #"{"id":"Note/1","relationships":{"#, "{"] {
      let members = (0..<5_000_000).lazy.map { #""\#(String($0, radix: 36))":0"# }.joined(separator: ",")
      try scratch.write(start + members + "}}", to: "data.ndjson")
      let result = try load("data.ndjson", scratch)
      #expect(result.code == 1, "\(result.errors.prefix(300))")
      #expect(try result.error()["kind"] as? String == "unreadableLine")
    }
    try scratch.succeed("check")
  }

  @Test("a million objects that nothing defines are refused at the end")
  func danglingIDs() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let ids = (1...4_000_000).lazy.map { #""Item/\#($0)""# }.joined(separator: ",")
    try scratch.write(Self.list + ids + "]}}", to: "data.ndjson")
    let result = try load("data.ndjson", scratch)
    #expect(result.code == 1, "\(result.errors.prefix(300))")
    #expect(try result.error()["kind"] as? String == "danglingID")
    try scratch.succeed("check")
  }

  // MARK: Files

  @Test("no file outside of the text's directory is opened, whatever the path")
  func paths() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let manager = FileManager.default
    for folder in ["outside", "inside", "inside/below"] {
      try manager.createDirectory(atPath: scratch.file(folder), withIntermediateDirectories: false)
    }
    let secret = scratch.file("outside/secret")
    try scratch.write("the secret", to: "outside/secret")
    try scratch.write("no secret", to: "inside/own")
    let links = [
      "link": "../outside/secret", "absolute": secret, "folder": "../outside", "below/up": "..",
      "chain": "folder/secret", "loop": "loop", "zero": "/dev/zero",
    ]
    for (link, target) in links {
      try manager.createSymbolicLink(atPath: scratch.file("inside/" + link), withDestinationPath: target)
    }
    let pipe = mkfifo(scratch.file("inside/pipe"), 0o600)
    #expect(pipe == 0)
    let watch = try OpenWatch(scratch.file("outside"))
    for path in [
      secret, "../outside/secret", "below/../../outside/secret", "./../outside/secret", "..", ".", "", "/", "//",
      "link", "absolute", "folder/secret", "below/up/own", "below/up/../outside/secret", "chain", "loop", "zero",
      "pipe", "below", "below/", "/dev/zero", "/proc/self/environ", "own/", "./own", "below//own", #"own\u0000"#,
      #"\u0000"#, #"..\u002foutside\u002fsecret"#, "~/secret", "file://\(secret)", #"own\n"#,
      String(repeating: "a/", count: 5_000) + "b", String(repeating: "a", count: 100_000),
    ] {
      for entry in [#""file":"\#(path)""#, #""file":"\#(path)","size":10"#] {
        try scratch.write(#"{"id":"Note/1","attributes":{"data":{\#(entry)}}}"#, to: "inside/data.ndjson")
        let result = try load("inside/data.ndjson", scratch)
        #expect(result.code == 1, "\(path.prefix(100))")
        #expect(try result.error()["kind"] as? String == "invalidFile", "\(path.prefix(100))")
        #expect(!result.errors.contains("the secret"))
      }
    }
    #expect(watch.opened().isEmpty)
    try scratch.write(#"{"id":"Note/1","attributes":{"data":{"file":"own","size":9}}}"#, to: "inside/data.ndjson")
    #expect(try load("inside/data.ndjson", scratch).code == 0)
    #expect(try scratch.succeed("blob", "get", "Note/1", "data").text == "no secret")
    #expect(try scratch.read("store/data.mdb").range(of: Data("the secret".utf8)) == nil)
    // Control: the watch detects an opened file.
    _ = try scratch.read("outside/secret")
    #expect(watch.opened() == ["secret"])
  }

  /// Runs the tool with limited memory, except with a sanitizer, because its own memory would not fit.
  private func load(_ file: String, _ scratch: Scratch) throws -> ToolRun {
    let limit = Sanitizer.isOn ? "" : "ulimit -d \(Self.dataLimit >> 10) && "
    return try scratch.runProgram(
      "/bin/sh",
      [
        "-c", limit + #"exec "$0" "$@""#, Scratch.executable, "--store", scratch.store, "load", "--json",
        "--no-progress", scratch.file(file),
      ])
  }
}

/// Records the files that are opened in a directory.
private final class OpenWatch {
  private let descriptor: Int32

  init(_ directory: String) throws {
    descriptor = inotify_init1(Int32(IN_NONBLOCK))
    let watch = inotify_add_watch(descriptor, directory, UInt32(IN_OPEN))
    try #require(descriptor >= 0 && watch >= 0)
  }

  deinit { close(descriptor) }

  /// Returns the names of files opened since the last call, without consecutive repetitions.
  func opened() -> [String] {
    var names: [String] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      guard count > 0 else { return names }
      var offset = 0
      while offset + 16 <= count {
        let length = buffer.withUnsafeBytes { Int($0.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self)) }
        let name = String(decoding: buffer[offset + 16..<offset + 16 + length].prefix { $0 != 0 }, as: UTF8.self)
        if names.last != name { names.append(name) }
        offset += 16 + length
      }
    }
  }
}
