import Foundation
import Testing

/// `kvclone salvage` and `repair`.
@Suite("kvclone: salvage, repair")
struct SalvageCommandTests {
  /// Corrupts the store's file.
  private func damage(_ scratch: Scratch, _ change: (inout Data) throws -> Void) throws {
    var bytes = try scratch.read("store/data.mdb")
    try change(&bytes)
    let file = scratch.file("store/data.mdb")
    try bytes.write(to: URL(fileURLWithPath: file))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
  }

  @Test("a sound store: exit 0, and the same dump")
  func sound() throws {
    let scratch = try Scratch.filled()
    let dump = try scratch.succeed("dump").text
    let made = try scratch.succeed("salvage", "-o", scratch.file("new"), "--json").json()
    #expect(made["complete"] as? Bool == true && made["objects"] as? Int == 300)
    #expect(made["path"] as? String == scratch.file("new"))
    #expect((made["losses"] as? [Any])?.isEmpty == true)
    #expect(try scratch.run(["-s", scratch.file("new"), "dump"]).text == dump)
    let again = try scratch.tool("salvage", "-o", scratch.file("new"))
    #expect(again.code == 1 && again.output.isEmpty, "\(again.errors)")
  }

  @Test("a corrupted record: exit 3, the losses, and a sound store")
  func damaged() throws {
    let scratch = try Scratch.filled()
    try damage(scratch) { bytes in
      // Every copy of the record, including those on free pages.
      var start = bytes.startIndex
      while let range = bytes.range(of: Data("note 77".utf8), in: start..<bytes.endIndex) {
        bytes[range.lowerBound] ^= 1
        start = range.upperBound
      }
    }
    #expect(try scratch.tool("check").code == 4)
    let plain = try scratch.tool("salvage", "-o", scratch.file("new"))
    #expect(plain.code == 3, "\(plain.errors)")
    #expect(plain.text.hasPrefix("object: Note/77 page "), "\(plain.text)")
    #expect(plain.text.contains("299 objects"), "\(plain.text)")
    #expect(plain.text.hasSuffix("lost: 1 object; object 1\n"), "\(plain.text)")
    #expect(try scratch.run(["-s", scratch.file("new"), "check", "--read-data"]).code == 0)
    let json = try scratch.tool("salvage", "-o", scratch.file("json"), "--json")
    #expect(json.code == 3)
    let report = try json.json()
    #expect(report["lostObjects"] as? Int == 1 && report["complete"] as? Bool == false)
    let losses = try #require(report["losses"] as? [[String: Any]])
    #expect(losses.map { $0["object"] as? String } == ["Note/77"] && losses[0]["page"] is Int)
    // The salvaged store replaces the corrupted one.
    #expect(try scratch.run(["-s", scratch.file("new"), "insert", "Note", "name=new"]).text == "Note/301\n")
  }

  @Test("the model can be given where the store's own is lost")
  func model() throws {
    let scratch = try Scratch.filled()
    let dump = try scratch.succeed("dump").text
    try damage(scratch) { bytes in
      for page in 2..<bytes.count / 4096 {
        let range = page * 4096..<(page + 1) * 4096
        if bytes.range(of: Data("model-0001".utf8), in: range) != nil { bytes.resetBytes(in: range) }
      }
    }
    let without = try scratch.tool("salvage", "-o", scratch.file("new"), "--json")
    #expect(without.code == 1)
    #expect(try without.error()["kind"] as? String == "damaged")
    #expect(!FileManager.default.fileExists(atPath: scratch.file("new")))
    let with = try scratch.tool(
      "salvage", "-o", scratch.file("new"), "--model", scratch.file("Notes.xcdatamodeld"), "--model-version", "Notes")
    #expect(with.code == 3, "\(with.errors)")
    let lines = try scratch.run(["-s", scratch.file("new"), "dump"]).text.split(separator: "\n").dropFirst()
    #expect(Array(lines) == Array(dump.split(separator: "\n").dropFirst()))
  }

  @Test("no store: 10; no store of ours: 1; wrong usage: 64; nothing is left of any")
  func refusals() throws {
    let scratch = try Scratch.filled()
    #expect(try scratch.run(["-s", scratch.file("nothing"), "salvage", "-o", scratch.file("new")]).code == 10)
    #expect(try scratch.tool("salvage").code == 64)
    #expect(try scratch.tool("salvage", "-o", "").code == 64)
    #expect(try scratch.tool("salvage", "-o", scratch.file("new"), "--model-version", "x").code == 64)
    try damage(scratch) { $0 = Data(repeating: 0xA5, count: 20_000) }
    let foreign = try scratch.tool("salvage", "-o", scratch.file("new"), "--json")
    #expect(foreign.code == 1)
    #expect(try foreign.error()["kind"] as? String == "notAStore")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: scratch.path).sorted() == ["Notes.xcdatamodeld", "store"])
  }

  @Test("an interrupt ends it (130), and nothing is left; the damaged store is unchanged")
  func interrupt() throws {
    let scratch = try Scratch.filled(1)
    // Large enough that a signal arrives before the end.
    let blob = Data(count: 24_000_000)
    try blob.write(to: URL(fileURLWithPath: scratch.file("blob")))
    try scratch.succeed("blob", "put", "Note/1", "data", scratch.file("blob"))
    try FileManager.default.removeItem(atPath: scratch.file("blob"))
    let before = try scratch.read("store/data.mdb")
    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: scratch.path).sorted() }
    let process = scratch.process(["-s", scratch.store, "salvage", "-o", "new"])
    let errors = Pipe()
    process.standardError = errors
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    // The temporary folder has another name than the result.
    while process.isRunning, try names().count < 3 {}
    #expect(try names().contains { $0.hasPrefix(".new.") })
    process.interrupt()
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == 130, "\(text)")
    #expect(text == "kvclone: interrupted; no partial changes remain\n")
    #expect(try names() == ["Notes.xcdatamodeld", "store"])
    #expect(try scratch.read("store/data.mdb") == before)
    // A killed salvage leaves its folder, which the next salvage removes.
    let killed = scratch.process(["-s", scratch.store, "salvage", "-o", "new"])
    killed.standardError = FileHandle.nullDevice
    killed.standardOutput = FileHandle.nullDevice
    try killed.run()
    while killed.isRunning, try names().count < 3 {}
    kill(killed.processIdentifier, SIGKILL)
    killed.waitUntilExit()
    #expect(!(try names().contains("new")))
    try scratch.succeed("salvage", "-o", scratch.file("new"))
    #expect(try names() == ["Notes.xcdatamodeld", "new", "store"])
  }

  @Test("repair leaves a sound store unchanged, rejects corrupted objects, and only reports without --yes")
  func repair() throws {
    let scratch = try Scratch.filled()
    let commit = try scratch.succeed("info", "--json").json()["commit"] as? Int
    #expect(try scratch.succeed("repair").text.hasPrefix("ok: 300 objects"))
    #expect(try scratch.succeed("repair", "--yes").text == "ok: 300 objects\n")
    #expect(try scratch.succeed("repair", "--yes", "--json").json()["repaired"] as? Int == 0)
    #expect(try scratch.succeed("info", "--json").json()["commit"] as? Int == commit)
    try damage(scratch) { bytes in
      let range = try #require(bytes.range(of: Data("note 77".utf8), options: .backwards))
      bytes[range.lowerBound] ^= 1
    }
    for arguments in [["repair", "--yes", "--json"], ["repair", "--json"]] {
      let refused = try scratch.run(["--store", scratch.store] + arguments)
      guard refused.code != 0 else { continue }
      #expect(refused.code == 1, "\(refused.errors)")
      #expect(try refused.error()["kind"] as? String == "damaged")
    }
  }
}
