import Foundation
import Testing

/// `kvclone check` on stores that cannot be opened.
@Suite("kvclone: check of damaged files")
struct CheckCommandTests {
  @Test("a file in any state is checked: exit 4, and one line per issue")
  func damagedFiles() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("insert", "Note", "name=one")
    let sound = try scratch.read("store/data.mdb")
    var oneMetaPage = sound
    oneMetaPage[16] ^= 1
    for bytes in [Data(), Data(repeating: 0xA5, count: 20_000), sound.prefix(9000), oneMetaPage] {
      try bytes.write(to: URL(fileURLWithPath: scratch.file("store/data.mdb")))
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: scratch.file("store/data.mdb"))
      let plain = try scratch.tool("check")
      #expect(plain.code == 4, "\(plain.errors)")
      #expect(plain.text.split(separator: "\n").dropLast().allSatisfy { $0.hasPrefix("page: page ") }, "\(plain.text)")
      let report = try scratch.tool("check", "--json")
      #expect(report.code == 4)
      let damages = try #require(try report.json()["damages"] as? [[String: Any]])
      #expect(damages.allSatisfy { $0["page"] is Int && $0["kind"] as? String == "page" })
    }
    #expect(try scratch.run(["check", "--store", scratch.file("nothing")]).code == 10)
  }
}
