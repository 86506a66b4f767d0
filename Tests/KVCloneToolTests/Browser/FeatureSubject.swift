#if Explorer
  import Foundation
  import KVCloneTestSupport
  import Testing

  /// A store that all features of the explorer are used on, and the names that the features need.
  struct FeatureSubject: CustomTestStringConvertible {
    let testDescription: String
    /// The entity of the object, with more than one object.
    let entity: String
    let object: String
    /// A text attribute of the object, which names it.
    let title: String
    /// The object's title, and a predicate that finds it and few others.
    let text: String
    let predicate: String
    /// The entity of an object that a link of the object leads to.
    let neighbour: String
    /// Whether the object has an image.
    var hasImage = false
    let fill: @Sendable (Scratch) throws -> Void

    static let demo = FeatureSubject(
      testDescription: "the demo store", entity: "Project", object: "Project/1", title: "title",
      text: "Iceland in winter", predicate: "title = 'Iceland in winter'", neighbour: "Album",
      fill: ExplorerSite.fillWithDemo)

    static let careKit = FeatureSubject(
      testDescription: "CareKit's store", entity: "OCKCDTask", object: "OCKCDTask/1", title: "id",
      text: "kegels", predicate: "id BEGINSWITH 'keg'", neighbour: "OCKCDOutcome", fill: importCareKit)

    /// The number of objects of the large store. With 10,000,000, filling it takes minutes.
    private static let objectCount =
      Int(ProcessInfo.processInfo.environment["KVCLONE_EXPLORER_OBJECTS"] ?? "") ?? 20_000

    static let large = FeatureSubject(
      testDescription: "a store of \(objectCount) objects", entity: "Photo", object: "Photo/7", title: "title",
      text: "title 7", predicate: "number = \(7 * 7919 % objectCount)", neighbour: "Folder", hasImage: true,
      fill: fillLarge)

    static func importCareKit(_ scratch: Scratch) throws {
      let folder = "carekit-apple__CareKit"
      let database = "CareKitStore__CareKitStoreTests__CoreDataSchema__Migrations__SampleStore2.0.sqlite"
      let model = try #require(Corpus.modelBundle("\(folder)/CareKitStore.xcdatamodeld"))
      try scratch.succeed(
        "import", "\(try #require(Corpus.root))/stores/\(folder)/\(database)", "--model", model, "--model-version",
        "CareKitStore2.0")
    }

    private static func fillLarge(_ scratch: Scratch) throws {
      let load = try scratch.runProgram(
        "/bin/bash",
        ["\(Programs.root)/Tools/lib/large-store.sh", Scratch.executable, scratch.store, "\(objectCount)"], isHere: true
      )
      try #require(load.code == 0, "\(load.errors)")
    }
  }
#endif
