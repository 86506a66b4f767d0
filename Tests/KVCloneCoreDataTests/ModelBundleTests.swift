import Foundation
import KVCloneCoreData
import KVCloneModel
import Testing

/// Real bundles: without a current version, with stray files, or very old.
struct ModelBundleTests {
  private func entities(_ path: String, _ version: String? = nil) throws -> [String] {
    try ManagedObjectModel.load(contentsOf: path, version: version).model.entities.map(\.name)
  }

  @Test func theCurrentVersionIsNamedByThePlist() throws {
    let folder = try TemporaryFolder()
    let bundle = folder.path + "/X.xcdatamodeld"
    try folder.writeVersion("X", entity: "One")
    try folder.writeVersion("X 2", entity: "Two")
    try folder.writeVersion("X 10", entity: "Ten")
    try folder.writeCurrent("X 2.xcdatamodel")
    #expect(try entities(bundle) == ["Two"])
    #expect(try entities(bundle + "/") == ["Two"])
    #expect(try entities(bundle, "X 10") == ["Ten"])
    #expect(try entities(bundle, "X.xcdatamodel") == ["One"])
    #expect(try entities(bundle + "/X 10.xcdatamodel") == ["Ten"])
    let loaded = try ManagedObjectModel.load(contentsOf: bundle + "/X 10.xcdatamodel").model
    #expect(loaded.name == "X" && loaded.versionIdentifier == "X 10")
    let versions = try ManagedObjectModel.modelVersions(at: bundle)
    #expect(versions.names == ["X 10", "X 2", "X"] && versions.current == "X 2" && versions.warnings.isEmpty)
    #expect(throws: ModelFileError.unknownVersion(path: bundle, version: "Y", available: ["X 10", "X 2", "X"])) {
      try ManagedObjectModel.load(contentsOf: bundle, version: "Y")
    }
  }

  @Test func theOnlyVersionIsCurrent() throws {
    let folder = try TemporaryFolder()
    let bundle = folder.path + "/X.xcdatamodeld"
    try folder.writeVersion("Other", entity: "One")
    #expect(try ManagedObjectModel.load(contentsOf: bundle).warnings == [])
    for current in [nil, "Gone.xcdatamodel", "../../etc/passwd"] {
      try folder.writeCurrent(current)
      let loaded = try ManagedObjectModel.load(contentsOf: bundle)
      #expect(loaded.model.versionIdentifier == "Other" && loaded.model.name == "X")
      #expect(loaded.warnings.map(\.kind) == [.currentVersion])
    }
  }

  @Test func severalVersionsWithoutACurrentOne() throws {
    let folder = try TemporaryFolder()
    let bundle = folder.path + "/X.xcdatamodeld"
    try folder.writeVersion("A", entity: "One")
    try folder.writeVersion("B", entity: "Two")
    #expect(throws: ModelFileError.currentVersionUnknown(path: bundle, available: ["A", "B"])) {
      try ManagedObjectModel.load(contentsOf: bundle)
    }
    #expect(try entities(bundle, "B") == ["Two"])
    // The first version of the bundle.
    try folder.writeVersion("X", entity: "Three")
    let loaded = try ManagedObjectModel.load(contentsOf: bundle)
    #expect(loaded.model.versionIdentifier == "X" && loaded.warnings.map(\.kind) == [.currentVersion])
  }

  @Test func aPlistThatIsNoneIsLivedWith() throws {
    let folder = try TemporaryFolder()
    let bundle = folder.path + "/X.xcdatamodeld"
    try folder.writeVersion("X", entity: "One")
    var nested = String(repeating: "<array>", count: 500)
    for text in ["", "bplist00", "<plist><string>X</string></plist>", "\u{0}\u{1}", nested] {
      try folder.write(text, to: "X.xcdatamodeld/.xccurrentversion")
      #expect(try entities(bundle) == ["One"])
    }
    nested = String(repeating: "<array>", count: 5_000)
    try folder.write(nested, to: "X.xcdatamodeld/.xccurrentversion")
    #expect(throws: ModelFileError.tooLarge(path: bundle + "/.xccurrentversion", limit: 4_096)) {
      try entities(bundle)
    }
  }

  @Test func mergeDebrisIsIgnoredWithAWarning() throws {
    let folder = try TemporaryFolder()
    try folder.writeVersion("X", entity: "One")
    try folder.write("<model>", to: "X.xcdatamodeld/X.xcdatamodel/contents~HEAD")
    try folder.write("x", to: "X.xcdatamodeld/X.xcdatamodel~theirs/contents")
    try folder.write("x", to: "X.xcdatamodeld/Empty.xcdatamodel/other")
    let loaded = try ManagedObjectModel.load(contentsOf: folder.path + "/X.xcdatamodeld")
    #expect(loaded.warnings.map(\.kind) == [.strayFile, .strayFile, .strayFile])
    #expect(loaded.model.entities.map(\.name) == ["One"])
  }

  @Test func binaryModelsAreNamedAsSuch() throws {
    let folder = try TemporaryFolder()
    try folder.write("bplist00", to: "X.xcdatamodel/elements")
    try folder.write("bplist00", to: "X.xcdatamodel/layout")
    #expect(throws: ModelFileError.binaryModel(path: folder.path + "/X.xcdatamodel")) {
      try entities(folder.path + "/X.xcdatamodel")
    }
    try folder.write("bplist00", to: "Y.xcdatamodeld/Y.xcdatamodel/elements")
    #expect(throws: ModelFileError.binaryModel(path: folder.path + "/Y.xcdatamodeld/Y.xcdatamodel")) {
      try entities(folder.path + "/Y.xcdatamodeld")
    }
  }

  /// Otherwise the version before it would be the current one, and a migration would lead back to it, or past it.
  @Test func aVersionThatTheSystemDoesNotGiveIsNotLeftOut() throws {
    let folder = try TemporaryFolder()
    let bundle = folder.path + "/X.xcdatamodeld"
    try folder.writeVersion("X", entity: "One")
    try folder.writeCurrent("X 2.xcdatamodel")
    // Simulates a folder that is listed, and cannot be read.
    try FileManager.default.createSymbolicLink(atPath: bundle + "/X 2.xcdatamodel", withDestinationPath: "nowhere")
    func expectUnreadable(_ load: () throws -> Void) {
      #expect(performing: load, throws: { ($0 as? ModelFileError)?.kind == .unreadable })
    }
    expectUnreadable { _ = try entities(bundle) }
    expectUnreadable { _ = try ManagedObjectModel.loadVersions(contentsOf: bundle) }
    try FileManager.default.removeItem(atPath: bundle + "/X 2.xcdatamodel")
    // Simulates a file that cannot be read.
    try FileManager.default.createDirectory(
      atPath: bundle + "/X 2.xcdatamodel/contents", withIntermediateDirectories: true)
    expectUnreadable { _ = try ManagedObjectModel.loadVersions(contentsOf: bundle) }
    #expect(try entities(bundle, "X") == ["One"])
  }

  @Test func whatIsNoModelIsAClearError() throws {
    let folder = try TemporaryFolder()
    try folder.write("x", to: "file.xcdatamodeld")
    try folder.write("x", to: "folder/x")
    try folder.write("x", to: "Empty.xcdatamodeld/.xccurrentversion")
    let path = folder.path
    #expect(throws: ModelFileError.notFound(path: path + "/none")) { try entities(path + "/none") }
    #expect(throws: ModelFileError.notAModel(path: path + "/file.xcdatamodeld")) {
      try entities(path + "/file.xcdatamodeld")
    }
    #expect(throws: ModelFileError.notAModel(path: path + "/folder")) { try entities(path + "/folder") }
    #expect(throws: ModelFileError.noVersion(path: path + "/Empty.xcdatamodeld")) {
      try entities(path + "/Empty.xcdatamodeld")
    }
    try FileManager.default.createDirectory(
      atPath: path + "/Z.xcdatamodel/contents", withIntermediateDirectories: true)
    #expect {
      try entities(path + "/Z.xcdatamodel")
    } throws: {
      ($0 as? ModelFileError)?.kind == .unreadable
    }
  }
}
