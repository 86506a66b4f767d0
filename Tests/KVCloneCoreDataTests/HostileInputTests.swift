import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVCloneCoreData

/// Corrupted and malicious files cause a typed error, never a trap, and never access to another file.
struct HostileInputTests {
  private func kind(_ bytes: Data) -> String? {
    do {
      _ = try read(bytes)
      return nil
    } catch { return error.modelError?.kind.rawValue ?? error.kind.rawValue }
  }

  private func kind(_ text: String) -> String? { kind(Data(text.utf8)) }

  @Test func declarationsAreRefused() throws {
    let secret = try TemporaryFolder()
    try secret.write("<entity name=\"Secret\"/>", to: "secret.xml")
    #expect(
      kind("<!DOCTYPE model [<!ENTITY x SYSTEM \"file://\(secret.path)/secret.xml\">]><model>&x;</model>")
        == "forbiddenDeclaration")
    let bomb = (1...20).map { "<!ENTITY e\($0) \"&e\($0 - 1);&e\($0 - 1);\">" }.joined()
    #expect(kind("<!DOCTYPE m [<!ENTITY e0 \"x\">\(bomb)]><model>&e20;</model>") == "forbiddenDeclaration")
    #expect(kind("<?x <!-- ?><!DOCTYPE model><model/>") == "forbiddenDeclaration")
    // Foundation's parser crashes on an instruction without content.
    for text in ["<?x?><model/>", "<?xml?><model/>", "<?xml version='1.0'?><?x?><model/>", "<model/><?x y?>"] {
      #expect(kind(text) == "forbiddenDeclaration", "\(text)")
    }
    #expect(kind("<model>&unknown;</model>") == "malformed")
    #expect(kind("<model><entity name=\"&unknown;\"/></model>") == "malformed")
  }

  @Test func onlyUTF8IsRead() throws {
    #expect(
      kind(Data([0xFF, 0xFE]) + Data("<model/>".utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] })) == "notUTF8")
    #expect(kind(Data("<model/>".utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] })) == "notUTF8")
    #expect(kind(Data("<model name=\"".utf8) + Data([0xE9]) + Data("\"/>".utf8)) == "notUTF8")
    #expect(kind("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><model/>") == "notUTF8")
    // An encoding far behind the usual position.
    let far = String(repeating: " ", count: 600)
    #expect(kind("<?xml version=\"1.0\"\(far)encoding=\"ISO-8859-1\"?><model/>") == "notUTF8")
    #expect(kind("<?xml version='1.0' encoding = 'utf-8'?><model/>") == nil)
    #expect(kind("\u{FEFF}<?xml version='1.0'?><model/>") == nil)
    let loaded = try readEntity("<attribute name='größe' attributeType='String' defaultValueString='👋'/>")
    #expect(loaded.model.attribute("größe", of: "E")?.defaultValue == "👋")
  }

  @Test func sizesAreLimited() {
    let deep = String(repeating: "<a>", count: 65) + String(repeating: "</a>", count: 65)
    #expect(kind(deep) == "limitExceeded")
    #expect(kind(String(repeating: "<a>", count: 100_000)) == "limitExceeded")
    let wide = (0...256).map { "a\($0)=\"\"" }.joined(separator: " ")
    #expect(kind("<model \(wide)/>") == "limitExceeded")
    #expect(kind(Data(count: XMLLimits.bytes + 1)) == "tooLarge")
  }

  /// A small file must not cause unbounded allocation: every leaf inherits every property of its parent.
  @Test func inheritanceThatExplodesIsRefused() {
    let attributes = (0..<2_000).map { "<attribute name='a\($0)' attributeType='String'/>" }.joined()
    let leaves = (0..<2_000).map { "<entity name='E\($0)' parentEntity='B'/>" }.joined()
    #expect(kind("<model><entity name='B'>\(attributes)</entity>\(leaves)</model>") == "tooLarge")
  }

  /// Nor must many attributes with the elements of one composite.
  @Test func compositesThatExplodeAreRefused() {
    let elements = (0..<4_000).map { "<attribute name='e\($0)' attributeType='String'/>" }.joined()
    func model(_ count: Int) -> String {
      let attributes = (0..<count).map { "<attribute name='a\($0)' attributeType='Composite' composite='C'/>" }.joined()
      return "<model><entity name='E'>\(attributes)</entity><composite name='C'>\(elements)</composite></model>"
    }
    #expect(kind(model(2)) == nil)
    #expect(kind(model(32_000)) == "tooLarge")
  }

  /// A file that reports a size of 0, and has any number of bytes.
  @Test func filesWithoutAnEndAreRefused() throws {
    let folder = try TemporaryFolder()
    let bundle = folder.path + "/V.xcdatamodel"
    try FileManager.default.createDirectory(atPath: bundle, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: bundle + "/contents", withDestinationPath: "/proc/self/pagemap")
    let error = #expect(throws: ModelFileError.self) { try ManagedObjectModel.load(contentsOf: bundle) }
    #expect(error?.kind == .tooLarge)
  }

  @Test func brokenFilesAreMalformed() {
    for text in [
      "", " ", "<", "<model>", "<model></modle>", "model", "<model/><model/>", "<model a='1' a='2'/>", "\u{0}",
    ] {
      #expect(["malformed", "notUTF8"].contains(kind(text)), "\(text)")
    }
  }

  @Test func everyTruncationIsMalformed() {
    let bytes = Data(everything.utf8)
    for length in stride(from: 0, to: bytes.count, by: 7) {
      #expect(["malformed", "notUTF8"].contains(kind(bytes.prefix(length))), "\(length)")
    }
  }

  @Test func mutationsNeverTrap() throws {
    let seed: UInt64 = 20_240_611
    var numbers = SeededNumbers(state: seed)
    var sources = [Array(everything.utf8)]
    for (bundle, version) in Corpus.allContents().prefix(12) {
      let file = URL(fileURLWithPath: "\(bundle)/\(version).xcdatamodel/contents")
      sources.append([UInt8](try Data(contentsOf: file)))
    }
    let words = [
      "<", ">", "\"", "/", "&", "<entity name=\"E\">", "</entity>", "parentEntity=\"Note\"", "YES", "-1", "\u{0}",
    ]
    .map { Array($0.utf8) }
    var accepted = 0
    for turn in 0..<3_000 {
      var bytes = sources[turn < 2_000 ? 0 : Int.random(in: 0..<sources.count, using: &numbers)]
      if bytes.count > 20_000 { bytes = Array(bytes.prefix(20_000)) }
      for _ in 0..<Int.random(in: 1...6, using: &numbers) {
        let place = Int.random(in: 0..<bytes.count, using: &numbers)
        let end = min(bytes.count, place + Int.random(in: 0...40, using: &numbers))
        switch Int.random(in: 0..<5, using: &numbers) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &numbers)
        case 1: bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &numbers)
        case 2: if end - place < bytes.count { bytes.removeSubrange(place..<end) }
        case 3: bytes.insert(contentsOf: words[Int.random(in: 0..<words.count, using: &numbers)], at: place)
        default: bytes.insert(contentsOf: bytes[place..<end], at: Int.random(in: 0...bytes.count, using: &numbers))
        }
      }
      if kind(Data(bytes)) == nil { accepted += 1 }
    }
    // Both outcomes must occur; otherwise the mutations test nothing.
    #expect(accepted > 0 && accepted < 3_000, "seed \(seed)")
  }
}
