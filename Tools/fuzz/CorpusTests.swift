import Foundation
import Testing

/// Runs the kept inputs through the fuzz targets without the fuzzer. A target with a violated property ends the process
/// with a message.
@Suite("Inputs that the fuzzer kept", .serialized)
struct CorpusTests {
  @Test("all go through their target", arguments: FuzzTarget.all.map(\.name))
  func inputs(name: String) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    #expect(!target.kept.isEmpty)
    for input in target.seeds + target.kept { input.withUnsafeBytes { target.run($0) } }
  }

  @Test("every file is of a target")
  func files() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Corpus")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(Set(names) == Set(FuzzTarget.all.map { $0.name + ".txt" }))
  }
}
