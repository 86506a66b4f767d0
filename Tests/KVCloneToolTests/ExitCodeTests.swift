import CKVCloneLMDB
import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// Each documented exit code, from a command that exits with it.
@Suite("kvclone: exit codes")
struct ExitCodeTests {
  @Test("0, 1, 3, 4, 5, 6, 10, 64")
  func codes() throws {
    let scratch = try Scratch.filled(20)
    try scratch.succeed("snapshot", "create", "first")
    #expect(try scratch.tool("snapshot", "diff", "first", "--exit-code").code == 0)
    #expect(try scratch.tool("get", "Note/99").code == 1)
    #expect(try scratch.tool("insert", "Note").code == 0)
    #expect(try scratch.tool("snapshot", "diff", "first", "--exit-code").code == 5)
    #expect(try scratch.tool("snapshot", "diff", "first").code == 0)
    try scratch.succeed("branch", "create", "spring")
    try scratch.succeed("set", "Note/2", "name=store")
    try scratch.succeed("set", "Note/2", "name=branch", "--branch", "spring")
    #expect(try scratch.tool("branch", "merge", "spring").code == 6)
    try scratch.succeed("branch", "delete", "spring")
    #expect(try scratch.run(["-s", scratch.file("nothing"), "info"]).code == 10)
    #expect(try scratch.tool("info", "--nonsense").code == 64)
    #expect(try scratch.tool("check").code == 0)
    let file = scratch.file("store/data.mdb")
    var bytes = try scratch.read("store/data.mdb")
    var start = bytes.startIndex
    while let range = bytes.range(of: Data("note 7".utf8), in: start..<bytes.endIndex) {
      bytes[range.lowerBound] ^= 1
      start = range.upperBound
    }
    try bytes.write(to: URL(fileURLWithPath: file))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    #expect(try scratch.tool("check").code == 4)
    #expect(try scratch.tool("salvage", "-o", scratch.file("salvaged")).code == 3)
    #expect(try scratch.run(["-s", scratch.file("salvaged"), "check"]).code == 0)
  }

  @Test("11 and 130, and `info -v` shows the holder of the write lock and since when")
  func writer() throws {
    let scratch = try Scratch.filled(2)
    #expect(try scratch.succeed("info", "--verbose").text.contains("\nwriter      none\n"))
    #expect(!(try scratch.succeed("info").text.contains("writer")))
    #expect(try scratch.succeed("info", "--verbose", "--json").json()["writer"] is NSNull)
    #expect(try scratch.succeed("info", "--json").json().keys.contains("writer") == false)
    let holder = try LockHolder(scratch.store, label: "reindex")
    #expect(try scratch.tool("insert", "Note").code == 11)
    let text = try scratch.succeed("info", "--verbose").text
    #expect(text.contains("\nwriter      process \(holder.pid) (KVClonePeer), “reindex”, since 2"), "\(text)")
    let writer = try #require(try scratch.succeed("info", "-v", "--json").json()["writer"] as? [String: Any])
    #expect(writer["pid"] as? Int == Int(holder.pid) && writer["label"] as? String == "reindex")
    #expect(writer["since"] is String && (writer["seconds"] as? Double ?? -1) >= 0)
    try holder.release()
    try scratch.succeed("insert", "Note")
    try scratch.succeed("check")
  }

  @Test("compact reports sizes before and after")
  func compact() throws {
    let scratch = try Scratch.filled(300)
    let blob = Data((0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    try blob.write(to: URL(fileURLWithPath: scratch.file("blob")))
    try scratch.succeed("blob", "put", "Note/1", "data", scratch.file("blob"))
    try scratch.succeed("delete", "Note/1")
    let before = try scratch.read("store/data.mdb").count
    let json = try scratch.succeed("compact", "-o", scratch.file("json"), "--json").json()
    let after = try scratch.read("json/data.mdb").count
    #expect(json["bytesBefore"] as? Int == before && json["bytes"] as? Int == after && after < before)
    let saved = try #require(json["savedPercent"] as? Double)
    #expect(abs(saved - (1 - Double(after) / Double(before)) * 100) < 0.06)
    let lines = try scratch.succeed("compact", "-o", scratch.file("text")).text.split(separator: "\n")
    #expect(lines.count == 2 && lines[0].hasPrefix("compacted ") && lines[0].contains(" → "), "\(lines)")
    #expect(lines[0].contains("\(String(format: "%.1f", saved)) % smaller, in "), "\(lines)")
    #expect(lines[1].hasPrefix("the copy: \(scratch.file("text")), commit "), "\(lines)")
  }

  @Test("a store that another process does not finish to open is busy (11)")
  func openingIsBusy() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    // Locked like by a process that is stopped while it opens the store.
    let file = open(scratch.store + "/lock.mdb", O_RDWR | O_CLOEXEC)
    defer { close(file) }
    #expect(kvclone_ofd_lock_byte(file, 1 << 62, 1) == 0)
    var options = StoreOptions()
    options.busyTimeout = .milliseconds(100)
    expectError(.busy) { _ = try ObjectStore.open(at: scratch.store, options: options) }
    let run = try scratch.tool("info", "--json")
    #expect(run.code == 11)
    let error = try run.error()
    #expect(error["kind"] as? String == "busy")
    let message = try #require(error["message"] as? String)
    #expect(message.contains("lock.mdb") && message.contains("resume it (kill -CONT \(getpid()))"), "\(message)")
  }

  @Test("a model's picture has colours for dark pages, and for programs without style sheets")
  func darkPicture() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let svg = try scratch.succeed("model", "show", "--format", "svg").text
    let style = try #require(svg.firstMatch(of: /<style>([^<]*)<\/style>/)?.1)
    let dark = try #require(style.split(separator: "@media screen and (prefers-color-scheme: dark)").last)
    #expect(!style.contains("var("))
    // Every class in the drawing is in the style sheet, and its colours have variants for dark pages.
    let classes = Set(svg.matches(of: /class="([\w -]+)"/).flatMap { $0.1.split(separator: " ") })
    #expect(classes.isSuperset(of: ["model", "ground", "plate", "plate-head", "wire", "follow", "share", "mark"]))
    for name in classes { #expect(style.contains(".\(name) ") || style.contains(".\(name),"), "\(name)") }
    for name in ["ground", "plate", "plate-head", "wire", "mark", "detail"] { #expect(dark.contains(".\(name) {")) }
    // Programs without style sheets would fill shapes with black.
    #expect(svg.matches(of: /<rect [^>]*>/).allSatisfy { $0.0.contains("fill=\"") })
  }
}
