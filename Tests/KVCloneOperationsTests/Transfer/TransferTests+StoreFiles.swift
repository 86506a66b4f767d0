import Foundation
import KVClone
import KVCloneOperations
import KVCloneTestSupport
import Testing

/// Values may name files, but never those of an open store: opening and closing them would release its locks.
@Suite("Load and dump, and the store's own files")
struct TransferStoreFileTests {
  private static let model = ManagedObjectModel("Files") {
    EntityDescription("Item") {
      AttributeDescription("name", .string)
      AttributeDescription("data", .binary)
    }
  }
  private static let names = ["data.mdb", "lock.mdb", "writer.lock", "stagers.lock"]

  let test: TestStore

  init() throws {
    test = try TestStore(Self.model)
    // Opens the side file of uploads, too.
    _ = try test.store.stageBlob { writer in try writer.append(Data(count: 100_000)) }
  }

  /// Returns the locks that LMDB holds on its lock file.
  private func locks() throws -> [Substring] {
    try ProcessLocks.lines(on: test.path + "/lock.mdb").filter { $0.contains("POSIX") }
  }

  @Test("a line that names one is refused, with its place, and the locks stay", .needsDataFile(.path))
  func load() throws {
    let before = try locks().count
    #expect(before > 0)
    try FileManager.default.linkItem(atPath: test.path + "/lock.mdb", toPath: test.root + "/hard")
    for file in Self.names.map({ "test.kvclone/\($0)" }) + ["hard"] {
      #expect(FileManager.default.fileExists(atPath: test.root + "/" + file), "\(file)")
      let lines = #"{"id":"Item/1"}"# + "\n" + #"{"id":"Item/2","attributes":{"data":{"file":"\#(file)"}}}"# + "\n"
      try lines.write(toFile: test.root + "/x.ndjson", atomically: true, encoding: .utf8)
      let error = #expect(throws: TransferError.self, "\(file)") {
        try test.store.load(contentsOf: test.root + "/x.ndjson")
      }
      #expect(error?.kind == .invalidFile, "\(file)")
      #expect(error?.line == 2 && error?.object == "Item/2" && error?.property == "data" && error?.entity == "Item")
      #expect(error?.message.contains("belongs to an open store") == true, "\(error?.message ?? "")")
    }
    #expect(try locks().count == before)
    #expect(try test.store.info().objectCount == 0)
  }

  @Test("a store's file is no NDJSON file either", .needsDataFile(.bytes))
  func loadTheStoreItself() throws {
    let before = try locks().count
    for name in Self.names {
      let error = #expect(throws: TransferError.self, "\(name)") {
        try test.store.load(contentsOf: "\(test.path)/\(name)")
      }
      #expect(error?.kind == .invalidFile, "\(name)")
    }
    #expect(try locks().count == before)
  }

  @Test("dumps do not write over one, and leave other names of older files alone", .needsDataFile(.path))
  func dump() throws {
    let id = try test.store.insert("Item", ["data": .binary(Data(repeating: 7, count: 100_000))])
    guard case .blob(let blob)? = try test.store.value(id, "data") else {
      Issue.record("the value is not a large one")
      return
    }
    var options = DumpOptions()
    options.blobsDirectory = test.root + "/blobs"
    let path = "\(test.root)/blobs/blob-\(blob.id)"
    try FileManager.default.createDirectory(atPath: test.root + "/blobs", withIntermediateDirectories: true)
    let before = try locks().count
    for name in Self.names {
      try FileManager.default.linkItem(atPath: "\(test.path)/\(name)", toPath: path)
      let error = #expect(throws: TransferError.self, "\(name)") { try test.store.dump(options) { _ in } }
      #expect(error?.kind == .invalidFile, "\(name)")
      try FileManager.default.removeItem(atPath: path)
    }
    #expect(try locks().count == before)
    let other = test.root + "/other"
    try Data("other".utf8).write(to: URL(fileURLWithPath: other))
    try FileManager.default.linkItem(atPath: other, toPath: path)
    _ = try test.store.dump(options) { _ in }
    #expect(try Data(contentsOf: URL(fileURLWithPath: other)) == Data("other".utf8))
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == 100_000)
    try checked(test.store)
  }
}
