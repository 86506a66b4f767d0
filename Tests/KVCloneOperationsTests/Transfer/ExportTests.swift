import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// An export that is loaded again gives the same model and the same objects.
struct ExportTests {
  private static let model = ManagedObjectModel("Photos") {
    EntityDescription("Album") {
      AttributeDescription("title", .string, default: "unnamed", userInfo: ["a & b": "<\"c\">\n"])
      RelationshipDescription("photos", toMany: "Photo", inverse: "album", ordered: true, deleteRule: .cascade)
    }
    EntityDescription("Photo") {
      AttributeDescription("image", .binary)
      RelationshipDescription("album", toOne: "Album", inverse: "photos")
    }
  }

  private func text(_ store: ObjectStore) throws -> String {
    var bytes: [UInt8] = []
    _ = try store.dump { piece in piece.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", maxSplits: 1)
    return lines.count > 1 ? String(lines[1]) : ""
  }

  /// Creates a store from an export.
  private func loaded(_ folder: String, _ result: ExportResult, as path: String) throws -> ObjectStore {
    let model = try ManagedObjectModel.load(contentsOf: "\(folder)/\(result.modelBundle)").model
    let store = try ObjectStore.create(at: path, model: model)
    var options = LoadOptions()
    options.isStrict = true
    #expect(try store.load(contentsOf: "\(folder)/objects.ndjson", options: options).objectCount == result.objectCount)
    return store
  }

  @Test func aStoreComesBackWithItsImages() throws {
    let test = try TestStore(Self.model)
    let image = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    let album = try test.store.insert("Album", ["title": "é<&>\u{1}"])
    for number in 0..<3 {
      let data = number == 2 ? Data([1, 2, 3]) : image
      try test.store.write { tx in
        _ = try tx.insert("Photo", ["image": .binary(data)], relationships: ["album": [album]])
      }
    }
    _ = try test.store.clone([album])
    let folder = test.root + "/export"
    let result = try test.store.export(to: folder)
    #expect(result.objectCount == 8 && result.counts == ["Album": 2, "Photo": 6])
    #expect(result.modelBundle == "Photos.xcdatamodeld" && result.modelVersion == "Photos")
    #expect(result.modelHash == Self.model.modelHash.hex)
    // The clones' shared value has one file.
    #expect(result.blobCount == 2 && result.blobByteCount == 6_000_000)
    let manager = FileManager.default
    let names = try manager.contentsOfDirectory(atPath: folder).sorted()
    #expect(names == ["Photos.xcdatamodeld", "README.txt", "blobs", "objects.ndjson"])
    #expect(try manager.contentsOfDirectory(atPath: folder + "/blobs").count == 2)
    var byteCount: UInt64 = 0
    for item in try ["."] + #require(manager.enumerator(atPath: folder)).compactMap({ $0 as? String }) {
      let facts = try manager.attributesOfItem(atPath: "\(folder)/\(item)")
      let isFile = facts[.type] as? FileAttributeType == .typeRegular
      #expect((facts[.posixPermissions] as? NSNumber)?.intValue == (isFile ? 0o600 : 0o700), "\(item)")
      if isFile { byteCount += (facts[.size] as? NSNumber)?.uint64Value ?? 0 }
    }
    #expect(result.byteCount == byteCount)
    let readme = try String(contentsOfFile: folder + "/README.txt", encoding: .utf8)
    #expect(readme.contains("Photos.xcdatamodeld") && readme.contains("Album: 2"))
    #expect(readme.split(separator: "\n").allSatisfy { $0.count <= 120 })
    let again = try loaded(folder, result, as: test.root + "/again.kvclone")
    defer { again.close() }
    #expect(again.model == Self.model)
    #expect(try text(again) == text(test.store))
    // Objects that shared a file share its bytes again.
    #expect(try again.blobCount() == 2)
    try checked(again)
    try checked(test.store)
  }

  @Test func manySharedValuesHaveAFileEach() throws {
    let test = try TestStore(Self.model)
    let album = try test.store.write { tx in
      let album = try tx.insert("Album")
      for number in 0..<60 {
        let image = Data(repeating: UInt8(number), count: 1_100 + number)
        try tx.insert("Photo", ["image": .binary(image)], relationships: ["album": [album]])
      }
      return album
    }
    for _ in 0..<2 { _ = try test.store.clone([album]) }
    let result = try test.store.export(to: test.root + "/export")
    #expect(result.objectCount == 183 && result.blobCount == 60)
    #expect(try FileManager.default.contentsOfDirectory(atPath: test.root + "/export/blobs").count == 60)
    let again = try loaded(test.root + "/export", result, as: test.root + "/again.kvclone")
    defer { again.close() }
    #expect(try text(again) == text(test.store))
    #expect(try again.blobCount() == 60)
    try checked(again)
    // The last of the objects that share a value deletes it.
    let albums = try again.objects("Album")
    try again.delete(Array(albums.dropLast()))
    try checked(again)
    #expect(try again.blobCount() == 60)
    try again.delete([albums[albums.count - 1]])
    #expect(try again.blobCount() == 0)
  }

  /// Files are identical only if their paths are equal byte by byte.
  @Test func filesWithLikeNamesAreNotMixedUp() throws {
    let test = try TestStore(Self.model)
    let files = ["a/blob-1", "a/blob-01", "b/blob-1", "a/blob-2", "a/blob-1", "b/blob-1", "a/blob-", "a/blob-+1"]
    var lines = ""
    for (number, file) in files.enumerated() {
      let folder = test.root + "/" + file.prefix(1)
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try Data(String(repeating: file + " ", count: 400).utf8).write(to: URL(fileURLWithPath: "\(test.root)/\(file)"))
      lines += #"{"id":"Photo/\#(number + 1)","attributes":{"image":{"file":"\#(file)"}}}"# + "\n"
    }
    try lines.write(toFile: test.root + "/x.ndjson", atomically: true, encoding: .utf8)
    var options = LoadOptions()
    options.batch = 3
    _ = try test.store.load(contentsOf: test.root + "/x.ndjson", options: options)
    for (id, file) in zip(try test.store.objects("Photo"), files) {
      var bytes: [UInt8] = []
      _ = try test.store.read { tx in
        try tx.readData(id, "image") { piece in piece.withUnsafeBytes { bytes.append(contentsOf: $0) } }
      }
      #expect(String(decoding: bytes.prefix(file.utf8.count + 1), as: UTF8.self) == file + " ")
    }
    // Of paths that occur twice, the one in the first directory is shared.
    #expect(try test.store.blobCount() == 7)
    try checked(test.store)
    // A size that differs from the file's is rejected, whether it was loaded before or not.
    let wrong =
      #"{"id":"Photo/1","attributes":{"image":{"file":"a/blob-1"}}}"# + "\n"
      + #"{"id":"Photo/2","attributes":{"image":{"file":"a/blob-1","size":7}}}"# + "\n"
    try wrong.write(toFile: test.root + "/x.ndjson", atomically: true, encoding: .utf8)
    let error = #expect(throws: TransferError.self) { try test.store.load(contentsOf: test.root + "/x.ndjson") }
    #expect(error?.kind == .invalidFile && error?.line == 2)
    #expect(try test.store.objects("Photo").count == files.count)
  }

  @Test func pathsInTheReadmeAreNoOptions() throws {
    for (name, argument) in [("-x", "'./-x.xcdatamodeld'"), ("it's", #"'it'\''s.xcdatamodeld'"#)] {
      let test = try TestStore(ManagedObjectModel(name: name, entities: [EntityDescription(name: "E")]))
      let result = try test.store.export(to: test.root + "/export")
      let readme = try String(contentsOfFile: test.root + "/export/README.txt", encoding: .utf8)
      #expect(readme.contains("kvclone init --store NEW.kvclone --model \(argument)\n"), "\(readme.prefix(1500))")
      // A shell expands it to the bundle's path.
      let shell = Process()
      shell.executableURL = URL(fileURLWithPath: "/bin/sh")
      shell.arguments = ["-c", "test -d \(argument)"]
      shell.currentDirectoryURL = URL(fileURLWithPath: test.root + "/export")
      try shell.run()
      shell.waitUntilExit()
      #expect(shell.terminationStatus == 0 && result.modelBundle == name + ".xcdatamodeld")
    }
  }

  @Test func aSnapshotIsExportedAsItWas() throws {
    let test = try TestStore(Self.model)
    let album = try test.store.insert("Album", ["title": "then"])
    try test.store.createSnapshot(named: "s")
    let before = try text(test.store)
    try test.store.set(album, "title", "now")
    try test.store.insert("Album", [:])
    let snapshot = try test.store.snapshot(named: "s")
    let result = try snapshot.export(to: test.root + "/export")
    #expect(result.objectCount == 1)
    let again = try loaded(test.root + "/export", result, as: test.root + "/again.kvclone")
    defer { again.close() }
    #expect(try text(again) == before)
    try test.store.deleteSnapshots(named: ["s"])
    expectError(.snapshotNotFound) { try snapshot.export(to: test.root + "/other") }
    #expect(!FileManager.default.fileExists(atPath: test.root + "/other"))
  }

  @Test(.enabled(if: Corpus.root != nil, Comment(rawValue: Corpus.missing)))
  func everyCorpusModelComesBackWithObjects() throws {
    // ModelWriterTests covers all models; a fifth of them is enough for the contents of stores.
    for (number, bundle) in Corpus.modelBundles().enumerated() where number % 5 == 0 {
      let model = try ManagedObjectModel.load(contentsOf: bundle).model
      let test = try TestStore(model)
      let made = GraphGenerator.generate(ModelView(model), seed: 7, size: 3)
      let lines = Array(try made.ndjson(model: ModelView(model)).utf8)
      var isRead = false
      _ = try test.store.load { buffer in
        if !isRead { buffer += lines }
        defer { isRead = true }
        return !isRead
      }
      // Ids of a dump depend on its order, so texts are compared from the first copy on.
      let first = try test.store.export(to: test.root + "/first")
      let copy = try loaded(test.root + "/first", first, as: test.root + "/copy.kvclone")
      defer { copy.close() }
      #expect(copy.model == model, "\(bundle)")
      #expect(first.modelHash == model.modelHash.hex)
      let second = try copy.export(to: test.root + "/second")
      let again = try loaded(test.root + "/second", second, as: test.root + "/again.kvclone")
      defer { again.close() }
      #expect(try text(again) == text(copy), "\(bundle)")
      #expect(second.counts == first.counts && first.objectCount == made.graph.objects.count, "\(bundle)")
      try checked(copy)
    }
  }

  @Test func namesThatNoFolderCanHaveAreMadeUsable() throws {
    #expect(ExportRun.fileName("Notes") == "Notes")
    #expect(ExportRun.fileName("a/b\u{0}\n") == "a-b--")
    #expect(ExportRun.fileName("") == "Model")
    #expect(ExportRun.fileName(String(repeating: "é", count: 300)).utf8.count == 200)
    let model = ManagedObjectModel(
      name: "a/b", versionIdentifier: "1/2", entities: [EntityDescription(name: "E")])
    let test = try TestStore(model)
    let result = try test.store.export(to: test.root + "/export")
    #expect(result.modelBundle == "a-b.xcdatamodeld" && result.modelVersion == "1/2")
    let read = try ManagedObjectModel.load(contentsOf: test.root + "/export/a-b.xcdatamodeld").model
    #expect(read.modelHash == model.modelHash && read.versionIdentifier == "1-2")
  }

  @Test(.needsDataFile(.path)) func nothingIsLeftOfWhatCannotBeDone() throws {
    let test = try TestStore(Self.model)
    try test.store.insert("Album", [:])
    let manager = FileManager.default
    let path = test.root + "/export"
    try manager.createSymbolicLink(atPath: path, withDestinationPath: test.root + "/nowhere")
    expectError(.fileExists) { try test.store.export(to: path) }
    expectError(.fileExists) { try test.store.export(to: test.path) }
    expectError(.invalidDestination) { try test.store.export(to: test.root + "/no/export") }
    try manager.removeItem(atPath: path)
    let cancellation = Cancellation()
    expectError(.cancelled) {
      // Cancelled during the work; the last phase also checks for cancellation.
      try test.store.export(to: path, progress: { _ in cancellation.cancel() }, cancellation: cancellation)
    }
    #expect(try manager.contentsOfDirectory(atPath: test.root) == ["test.kvclone"])
    try test.store.export(to: path)
    #expect(try manager.contentsOfDirectory(atPath: test.root).sorted() == ["export", "test.kvclone"])
  }

  @Test(.needsDataFile(.path)) func aModelThatNoFileCanHoldIsRefusedByName() throws {
    var model = EntityDescription(name: "E", attributes: [AttributeDescription("a", .string, userInfo: ["k": "\u{1}"])])
    let controlled = try TestStore(ManagedObjectModel(name: "M", entities: [model]))
    let error = expectError(.invalidModel) { try controlled.store.export(to: controlled.root + "/export") }
    #expect(error?.entity == "E" && error?.property == "a")
    #expect(try FileManager.default.contentsOfDirectory(atPath: controlled.root) == ["test.kvclone"])
    model.attributes = [AttributeDescription("b", .binary, default: .binary(Data([1])))]
    let binary = try TestStore(ManagedObjectModel(name: "M", entities: [model]))
    #expect(expectError(.invalidModel) { try binary.store.export(to: binary.root + "/export") }?.property == "b")
  }

  @Test(.needsDataFile(.path)) func whatACrashLeftIsSweptAndNothingElse() throws {
    let test = try TestStore(Self.model)
    let manager = FileManager.default
    func leave(_ name: String) throws {
      try manager.createDirectory(atPath: "\(test.root)/\(name)/blobs/deeper", withIntermediateDirectories: true)
      try Data([1]).write(to: URL(fileURLWithPath: "\(test.root)/\(name)/blobs/blob-1"))
      try manager.createSymbolicLink(
        atPath: "\(test.root)/\(name)/blobs/link", withDestinationPath: test.root + "/precious")
    }
    try manager.createDirectory(atPath: test.root + "/precious", withIntermediateDirectories: false)
    try Data([2]).write(to: URL(fileURLWithPath: test.root + "/precious/file"))
    try leave(".export.exporting-abcdef")
    try leave(".other.exporting-abcdef")
    try leave(".export.exporting-kept")
    try manager.createSymbolicLink(
      atPath: test.root + "/.export.exporting-linked", withDestinationPath: test.root + "/precious")
    let (store, second) = (test.store, test.root + "/export-2")
    try store.export(to: test.root + "/export") { progress in
      // A concurrent export does not affect this one.
      if progress.phase == .sync { _ = try? store.export(to: second) }
    }
    #expect(
      try manager.contentsOfDirectory(atPath: test.root).sorted() == [
        ".export.exporting-kept", ".export.exporting-linked", ".other.exporting-abcdef", "export", "export-2",
        "precious", "test.kvclone",
      ])
    #expect(manager.fileExists(atPath: test.root + "/precious/file"))
  }
}
