import Foundation
import Testing

/// Output paths: exit code 1 with the path in the message, never 10, and no file in the store's own directory.
@Suite("kvclone: destinations")
struct DestinationTests {
  private enum Kind { case newDirectory, directory, file }

  /// Returns commands that write to `path`; the store is that of the scratch directory unless the arguments name
  /// another.
  private static func commands(_ scratch: Scratch, _ path: String) -> [(kind: Kind, arguments: [String])] {
    let store = ["-s", scratch.store]
    let model = scratch.file("Notes.xcdatamodeld")
    return [
      (.newDirectory, store + ["backup", path]), (.newDirectory, store + ["backup", "--reflink", path]),
      (.newDirectory, store + ["backup", "--since", "first", path]), (.newDirectory, store + ["compact", "-o", path]),
      (.newDirectory, store + ["salvage", "-o", path]), (.newDirectory, store + ["export", path]),
      (.newDirectory, ["restore", scratch.file("backup"), "--to", path]),
      (.newDirectory, ["-s", path, "import", scratch.file("App.sqlite")]),
      (.newDirectory, ["-s", path, "init", "--model", model]), (.newDirectory, ["demo", "--at", path]),
      (.directory, store + ["dump", "--blobs", path]), (.directory, ["model", "generate", model, "-o", path]),
      (.file, store + ["blob", "get", "Note/1", "data", "-o", path]), (.file, store + ["stat", "-o", path]),
    ]
  }

  private let scratch: Scratch

  init() throws {
    scratch = try Scratch.filled(2)
    try scratch.succeed("blob", "put", "Note/1", "data", "-", input: "bytes")
    try scratch.succeed("snapshot", "create", "first")
    try scratch.succeed("backup", scratch.file("backup"))
  }

  /// Expects exit code 1 and one line that contains `words`, without a mention of a missing store.
  private func expectRefusal(_ arguments: [String], _ words: String...) throws {
    let run = try scratch.run(arguments)
    #expect(run.code == 1, "\(arguments): \(run.errors)")
    #expect(run.errors.split(separator: "\n").count == 1 && run.output.isEmpty, "\(arguments): \(run.errors)")
    for word in words { #expect(run.errors.contains(word), "\(arguments): \(run.errors)") }
    for word in ["no store", "kernel"] { #expect(!run.errors.contains(word), "\(arguments): \(run.errors)") }
  }

  private func names(_ path: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path).sorted()
  }

  @Test("a missing parent, and one that is a file, are named")
  func parents() throws {
    try scratch.write("text", to: "file")
    for (_, arguments) in Self.commands(scratch, scratch.file("no/dir/x")) {
      try expectRefusal(arguments, scratch.file("no/dir"), "not exist")
    }
    for (_, arguments) in Self.commands(scratch, scratch.file("file/x")) {
      try expectRefusal(arguments, scratch.file("file"))
    }
    #expect(!FileManager.default.fileExists(atPath: scratch.file("no")))
    let into = ["-s", scratch.store, "clone", "Note/1", "--into"]
    for name in ["no/dir/x", "nothing"] { try expectRefusal(into + [scratch.file(name)], scratch.file(name)) }
    try FileManager.default.createDirectory(atPath: scratch.file("empty"), withIntermediateDirectories: true)
    try expectRefusal(into + [scratch.file("empty")], scratch.file("empty"))
    try expectRefusal(into + [scratch.file("file")], scratch.file("file"))
    // An input that is read counts as the store of the command.
    #expect(try scratch.run(["restore", scratch.file("nothing"), "--to", scratch.file("new")]).code == 10)
  }

  @Test("existing destinations are not replaced, unless it is a file for a file")
  func existing() throws {
    let manager = FileManager.default
    for (kind, arguments) in Self.commands(scratch, scratch.file("there")) {
      try scratch.write("text", to: "there")
      if kind == .file {
        #expect(try scratch.run(arguments).code == 0, "\(arguments)")
        #expect(try scratch.read("there") != Data("text".utf8))
      } else {
        try expectRefusal(arguments, scratch.file("there"))
        #expect(try scratch.read("there") == Data("text".utf8))
      }
    }
    try manager.createDirectory(atPath: scratch.file("full/inner"), withIntermediateDirectories: true)
    try manager.createSymbolicLink(atPath: scratch.file("dangling"), withDestinationPath: "nowhere/at/all")
    for (kind, arguments) in Self.commands(scratch, scratch.file("full")) where kind != .directory {
      try expectRefusal(arguments, scratch.file("full"))
    }
    for (kind, arguments) in Self.commands(scratch, scratch.file("dangling")) where kind != .file {
      try expectRefusal(arguments, scratch.file("dangling"))
    }
    #expect(try names(scratch.file("full")) == ["inner"])
  }

  @Test("the store's own directory is refused, whichever way it is written")
  func insideStore() throws {
    let manager = FileManager.default
    let inner = scratch.store + "/inner"
    try manager.createDirectory(atPath: inner, withIntermediateDirectories: false)
    try manager.createSymbolicLink(atPath: scratch.file("link"), withDestinationPath: scratch.store)
    try manager.createSymbolicLink(atPath: scratch.file("innerlink"), withDestinationPath: inner)
    let before = try names(scratch.store)
    for (_, arguments) in Self.commands(scratch, scratch.store + "/x") { try expectRefusal(arguments, "a store") }
    for path in ["link/x", "store/../store/x", "./store//x/", "innerlink/../x"] {
      try expectRefusal(Self.commands(scratch, path)[0].arguments, "a store")
      try expectRefusal(["-s", scratch.store, "dump", "--blobs", path], "a store")
    }
    for (_, arguments) in Self.commands(scratch, "innerlink/x") { try expectRefusal(arguments, "a store") }
    for (_, arguments) in Self.commands(scratch, scratch.store) { try expectRefusal(arguments, scratch.store) }
    try expectRefusal(["-s", scratch.store, "dump", "--blobs", inner], "a store")
    #expect(try names(scratch.store) == before && names(inner).isEmpty)
    try scratch.succeed("check", "--read-data")
  }

  @Test(
    "a directory that may not be written is named, with the right remedy", .enabled(if: hasReadOnlyPlace, "no /sys"))
  func readOnlyParent() throws {
    // Rejected for root, too. An import reads its database first.
    for (_, arguments) in Self.commands(scratch, "/sys/kvclone-test") where !arguments.contains("import") {
      try expectRefusal(arguments, "/sys")
    }
  }

  private static let hasReadOnlyPlace = FileManager.default.fileExists(atPath: "/sys/kernel")

  @Test("a file for results goes through links and into devices, and replaces neither")
  func files() throws {
    let manager = FileManager.default
    try scratch.write("old", to: "real")
    try manager.createSymbolicLink(atPath: scratch.file("link"), withDestinationPath: "real")
    try scratch.succeed("blob", "get", "Note/1", "data", "-o", scratch.file("link"))
    #expect(try scratch.read("real") == Data("bytes".utf8))
    #expect(try manager.destinationOfSymbolicLink(atPath: scratch.file("link")) == "real")
    try manager.createSymbolicLink(atPath: scratch.file("null"), withDestinationPath: "/dev/null")
    try scratch.succeed("blob", "get", "Note/1", "data", "-o", scratch.file("null"))
    #expect(try manager.destinationOfSymbolicLink(atPath: scratch.file("null")) == "/dev/null")
    try manager.createSymbolicLink(atPath: scratch.file("full"), withDestinationPath: "/dev/full")
    for arguments in [["blob", "get", "Note/1", "data"], ["stat"]] {
      try expectRefusal(
        ["-s", scratch.store] + arguments + ["-o", scratch.file("full")], scratch.file("full"), "free disk space")
    }
  }
}
