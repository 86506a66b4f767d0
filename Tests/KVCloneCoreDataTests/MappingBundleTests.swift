import Foundation
import KVCloneModel
import Testing

@testable import KVCloneCoreData

/// The folder of a mapping model, and the model versions near it.
struct MappingBundleTests {
  private let minimal = mappingFile(
    object(
      "MAPPINGMODEL", "m",
      [
        "sourcemodelpath": "App/X.xcdatamodeld/X.xcdatamodel",
        "destinationmodelpath": "App/X.xcdatamodeld/X 2.xcdatamodel",
      ]))

  @Test func theFolderIsRead() throws {
    let folder = try TemporaryFolder()
    try folder.write(minimal, to: "XTo2.xcmappingmodel/xcmapping.xml")
    for path in ["/XTo2.xcmappingmodel", "/XTo2.xcmappingmodel//"] {
      let loaded = try MappingModel.load(contentsOf: folder.path + path)
      #expect(loaded.mapping.name == "XTo2" && loaded.mapping.entityMappings.isEmpty && loaded.warnings.isEmpty)
    }
    try folder.write("x", to: "File.xcmappingmodel")
    try folder.write("x", to: "Empty.xcmappingmodel/other")
    try folder.write(minimal, to: "Other.folder/xcmapping.xml")
    let path = folder.path
    #expect(throws: ModelFileError.notFound(path: path + "/No.xcmappingmodel")) {
      try MappingModel.load(contentsOf: path + "/No.xcmappingmodel")
    }
    for name in ["File.xcmappingmodel", "Empty.xcmappingmodel", "Other.folder"] {
      #expect(throws: ModelFileError.notAMapping(path: "\(path)/\(name)")) {
        try MappingModel.load(contentsOf: "\(path)/\(name)")
      }
    }
    try FileManager.default.createDirectory(
      atPath: path + "/Folder.xcmappingmodel/xcmapping.xml", withIntermediateDirectories: true)
    #expect {
      try MappingModel.load(contentsOf: path + "/Folder.xcmappingmodel")
    } throws: {
      ($0 as? ModelFileError)?.kind == .unreadable
    }
  }

  /// Xcode's paths begin at the project's folder, and the mapping is somewhere below it.
  @Test func versionsAreFoundNearTheMapping() throws {
    let folder = try TemporaryFolder()
    let mapping = folder.path + "/Project/App/Migrations/1/XTo2.xcmappingmodel"
    try folder.write(minimal, to: "Project/App/Migrations/1/XTo2.xcmappingmodel/xcmapping.xml")
    try folder.writeVersion("X", entity: "One", in: "Project/App/X.xcdatamodeld")
    let loaded = try MappingModel.load(contentsOf: mapping).mapping
    let source = try loaded.sourceModel(near: mapping)
    #expect(source?.model.entities.map(\.name) == ["One"])
    #expect(source?.model.name == "X" && source?.model.versionIdentifier == "X")
    #expect(try loaded.destinationModel(near: mapping) == nil)
    try folder.writeVersion("X 2", entity: "Two", in: "Project/App/X.xcdatamodeld")
    #expect(try loaded.destinationModel(near: mapping)?.model.entities.map(\.name) == ["Two"])
    // A moved bundle, given by its own path or by its folder.
    try folder.writeVersion("X 2", entity: "Moved", in: "Elsewhere/X.xcdatamodeld")
    for near in ["/Elsewhere/X.xcdatamodeld", "/Elsewhere/X.xcdatamodeld/", "/Elsewhere"] {
      #expect(try loaded.destinationModel(near: folder.path + near)?.model.entities.map(\.name) == ["Moved"])
    }
    #expect(try MappingModel([]).sourceModel(near: mapping) == nil)
    try folder.write("<model", to: "Project/App/X.xcdatamodeld/X.xcdatamodel/contents")
    #expect {
      try loaded.sourceModel(near: mapping)
    } throws: {
      ($0 as? ModelFileError)?.kind == .malformed
    }
  }

  @Test func pathsThatLeadAwayAreNotFollowed() throws {
    let folder = try TemporaryFolder()
    try folder.writeVersion("X", entity: "One", in: "Out/X.xcdatamodeld")
    let near = folder.path + "/In"
    let version = "X.xcdatamodeld/X.xcdatamodel"
    #expect(MappingModel.modelVersion(at: "Out/" + version, near: near) == folder.path + "/Out/" + version)
    for path in [
      "../Out/" + version, "./Out/" + version, folder.path + "/Out/" + version, "Out//" + version,
      "Out/../Out/" + version,
      "Out/" + version + "/", "Out/X.xcdatamodeld", "Out/\u{0}/X.xcdatamodel", "", "/", "..", "X.xcdatamodel",
      String(repeating: "a/", count: 70) + version,
    ] {
      #expect(MappingModel.modelVersion(at: path, near: near) == nil, "\(path)")
    }
  }
}
