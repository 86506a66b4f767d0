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
    let fill: @Sendable (Scratch) throws -> Void

    static var all: [FeatureSubject] { [demo, large] + (Corpus.root == nil ? [] : [careKit]) }

    private static let demo = FeatureSubject(
      testDescription: "the demo store", entity: "Project", object: "Project/1", title: "title", text: "Iceland",
      predicate: "title = 'Iceland'", neighbour: "Album", fill: ExplorerSite.fillWithDemo)

    private static let careKit = FeatureSubject(
      testDescription: "CareKit's store", entity: "OCKCDTask", object: "OCKCDTask/1", title: "id",
      text: "kegels", predicate: "id BEGINSWITH 'keg'", neighbour: "OCKCDOutcome", fill: importCareKit)

    /// The number of objects of the large store. With 10,000,000, filling it takes minutes.
    private static let objectCount =
      Int(ProcessInfo.processInfo.environment["KVCLONE_EXPLORER_OBJECTS"] ?? "") ?? 20_000

    private static let large = FeatureSubject(
      testDescription: "a store of \(objectCount) objects", entity: "Photo", object: "Photo/7", title: "title",
      text: "title 7", predicate: "number = \(7 * 7919 % objectCount)", neighbour: "Folder", fill: fillLarge)

    static func importCareKit(_ scratch: Scratch) throws {
      let folder = "carekit-apple__CareKit"
      let database = "CareKitStore__CareKitStoreTests__CoreDataSchema__Migrations__SampleStore2.0.sqlite"
      let model = try #require(Corpus.modelBundle("\(folder)/CareKitStore.xcdatamodeld"))
      try scratch.succeed(
        "import", "\(try #require(Corpus.root))/stores/\(folder)/\(database)", "--model", model, "--model-version",
        "CareKitStore2.0")
    }

    /// Objects of two subentities with an indexed number. The first of them are in a folder.
    private static func fillLarge(_ scratch: Scratch) throws {
      try FileManager.default.createDirectory(
        atPath: scratch.file("Large.xcdatamodel"), withIntermediateDirectories: true)
      try scratch.write(
        """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
          <entity name="Folder">
            <attribute name="name" optional="YES" attributeType="String"/>
            <relationship name="items" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Item"
              inverseName="folder" inverseEntity="Item"/>
          </entity>
          <entity name="Item" isAbstract="YES">
            <attribute name="number" optional="YES" attributeType="Integer 64"/>
            <attribute name="title" optional="YES" attributeType="String"/>
            <relationship name="folder" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Folder"
              inverseName="items" inverseEntity="Folder"/>
            <fetchIndex name="byNumber">
              <fetchIndexElement property="number" type="Binary" order="ascending"/>
            </fetchIndex>
          </entity>
          <entity name="Note" parentEntity="Item"/>
          <entity name="Photo" parentEntity="Item"/>
        </model>
        """, to: "Large.xcdatamodel/contents")
      try scratch.succeed("init", "--model", "Large.xcdatamodel")
      // Each number occurs once, because 7919 is prime. Labels and serials are equal.
      let lines = """
        awk -v count=\(objectCount) 'BEGIN {
          print "{\\"id\\":\\"Folder/1\\",\\"attributes\\":{\\"name\\":\\"first\\"}}"
          for (i = 1; i <= count; i++)
            printf "{\\"id\\":\\"%s/%d\\",\\"attributes\\":{\\"number\\":%d,\\"title\\":\\"title %d\\"}%s}\\n",
              i % 3 == 1 ? "Photo" : "Note", i, i * 7919 % count, i,
              i <= 100 ? ",\\"relationships\\":{\\"folder\\":\\"Folder/1\\"}" : ""
        }' | kvclone --store "$0" --quiet --no-progress load - --batch 100000
        """
      let load = try scratch.runProgram("/bin/sh", ["-c", lines, scratch.store], isHere: true)
      try #require(load.code == 0, "\(load.errors)")
    }
  }
#endif
