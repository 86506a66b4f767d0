import Foundation
import KVClone
import KVCloneCoreData
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneOperations

/// Imports of a store in Core Data's format, with every form of attribute and relationship.
@Suite("import of Core Data's stores")
struct CoreDataImportTests {
  private typealias Place = CoreDataPlace

  @Test("counts, keys and omissions; the plan has the same")
  func report() throws {
    let place = try Place()
    let plan = try place.plan()
    #expect(place.others.isEmpty)
    let report = try place.run()
    #expect(
      report.counts == ["Folder": 3, "Note": 1, "ImageNote": 1, "LinkNote": 1, "PinnedNote": 2, "Summary": 2, "Tag": 5])
    #expect(report.objectCount == 15 && report.skippedCount == 0 && report.byteCount > 0)
    #expect(report.externalFileCount == 1 && report.externalByteCount == 300_000)
    #expect(
      report.omissions.map(\.name) == ["CHANGE", "NSCKEvent"]
        && report.omissions.map(\.reason) == ["the history of changes", "CloudKit's mirror"])
    #expect(plan.counts == report.counts && plan.linkCount == report.linkCount)
    #expect(plan.binaryByteCount == report.binaryByteCount && plan.omissions == report.omissions)
    #expect(plan.byteCount == report.byteCount)
    #expect(place.others == ["imported"])
    let store = try place.open()
    defer { store.close() }
    try checked(store)
    #expect(try store.info().counts == report.counts)
    // Keys are not reused, not even those of rows that were deleted before.
    let id = try store.write { try $0.insert("Note") }
    #expect(id.serial == 61)
  }

  private func refusal(_ place: Place, _ model: ManagedObjectModel) throws -> CoreDataImportError? {
    var options = CoreDataImportOptions()
    options.model = model
    do {
      _ = try ObjectStore.importCoreData(from: place.database, to: place.store, options: options)
      return nil
    } catch {
      #expect(place.others.isEmpty)
      return try #require(error as? CoreDataImportError)
    }
  }

  @Test("what the model knows nothing of is refused, and not lost")
  func unknownToTheModel() throws {
    var fixture = CoreDataFixture()
    fixture.columns["ZFOLDER"]?.append("ZCOLOUR VARCHAR")
    let column = try refusal(Place(fixture), CoreDataFixture.model)
    #expect(column?.kind == .modelMismatch && column?.entity == "Folder" && column?.message.contains("ZCOLOUR") == true)
    fixture = CoreDataFixture()
    fixture.columns["Z_1OTHERS"] = ["Z_1FOLDERS1 INTEGER", "Z_7OTHERS INTEGER"]
    fixture.links["Z_1OTHERS"] = CoreDataFixture.keys([[1, 1]])
    let table = try refusal(Place(fixture), CoreDataFixture.model)
    #expect(table?.kind == .modelMismatch && table?.message.contains("Z_1OTHERS") == true)
    fixture = CoreDataFixture()
    fixture.columns["ZNOTE"]?.removeAll { $0.hasPrefix("Z_FOK_FOLDER") }
    fixture.rows["ZNOTE"] = []
    let order = try refusal(Place(fixture), CoreDataFixture.model)
    #expect(order?.kind == .modelMismatch && order?.entity == "Folder" && order?.property == "notes")
  }

  @Test("the name of a file is never taken for bytes")
  func unmarkedReference() throws {
    var entities = CoreDataFixture.model.entities
    for place in entities.indices {
      for attribute in entities[place].attributes.indices {
        entities[place].attributes[attribute].allowsExternalBinaryDataStorage = false
      }
    }
    let error = try refusal(Place(), ManagedObjectModel(name: "Fixture", entities: entities))
    #expect(error?.kind == .wrongType && error?.object == "PinnedNote/40" && error?.property == "image")
  }

  @Test("lists that are ordered on both sides keep both orders")
  func bothSidesOrdered() throws {
    var fixture = CoreDataFixture()
    fixture.columns["Z_2LABELS"]?.insert("Z_FOK_2NOTES INTEGER", at: 3)
    fixture.links["Z_2LABELS"] = CoreDataFixture.keys([
      [10, 3, 30, 1], [10, 1, 10, 9], [10, 2, 20, 1], [30, 1, 5, 2],
    ])
    let place = try Place(fixture)
    // The model declares it, or the import is rejected.
    #expect(try refusal(place, CoreDataFixture.model)?.property == "notes")
    var entities = CoreDataFixture.model.entities
    for entity in entities.indices where entities[entity].name == "Tag" {
      entities[entity].relationships[0].isOrdered = true
    }
    #expect(try refusal(place, ManagedObjectModel(name: "Fixture", entities: entities)) == nil)
    let store = try place.open()
    defer { store.close() }
    #expect(try store.members("Note/10", "labels") == ["Tag/1", "Tag/2", "Tag/3"])
    #expect(try store.members("Tag/1", "notes") == ["LinkNote/30", "Note/10"])
    try checked(store)
  }

  @Test("keys that a store says it has given out may be any number")
  func greatestKeys() throws {
    var fixture = CoreDataFixture()
    for place in fixture.numbers.indices { fixture.numbers[place].3 = .max }
    let place = try Place(fixture)
    #expect(try place.plan().objectCount == 15)
    #expect(try place.run().objectCount == 15)
  }

  @Test("a database that is written concurrently is rejected")
  func writtenConcurrently() throws {
    let place = try Place()
    let log = place.database + "-wal"
    var options = CoreDataImportOptions()
    options.model = CoreDataFixture.model
    let error = #expect(throws: CoreDataImportError.self) {
      try ObjectStore.importCoreData(
        from: place.database, to: place.store, options: options,
        progress: { _ in try? Data([1]).write(to: URL(fileURLWithPath: log)) })
    }
    #expect(error?.kind == .changedDatabase)
    #expect(!FileManager.default.fileExists(atPath: place.store))
  }

  /// Without this error, transactions that are only in the log would be missing silently.
  @Test("a log that cannot be looked up is not taken for one that is not there")
  func logThatCannotBeLookedUp() throws {
    let place = try Place()
    // A file may have a name of this length. With "-wal" appended, the system reports that the name is too long instead
    // of a missing file.
    let name = String(repeating: "a", count: 255 - ".sqlite".utf8.count) + ".sqlite"
    let database = place.root + "/" + name
    try FileManager.default.moveItem(atPath: place.database, toPath: database)
    var options = CoreDataImportOptions()
    options.model = CoreDataFixture.model
    let error = #expect(throws: CoreDataImportError.self) {
      try ObjectStore.importCoreData(from: database, to: place.store, options: options)
    }
    #expect(error?.kind == .unreadableDatabase)
    #expect(error?.message.contains("-wal cannot be determined") == true, "\(error as Any)")
    #expect(!FileManager.default.fileExists(atPath: place.store))
  }

  @Test("attributes of every type")
  func attributes() throws {
    let place = try Place()
    try place.run()
    let store = try place.open()
    defer { store.close() }
    let names = [
      "count", "flag", "small", "created", "price", "ratio", "single", "link", "name", "uuid", "tags", "numberOfLines",
    ]
    let uuid = try #require(UUID(uuidString: "01020304-0506-0708-090A-0B0C0D0E0F10"))
    let wanted: [AttributeValue?] = [
      .integer(.max), .boolean(true), .integer(-32_768), .date(Date(timeIntervalSinceReferenceDate: 1.5)),
      .decimal(Decimal(string: "12.25") ?? 0), .double(0.1), .float(0.1), .uri("https://a.b/c"), .string("Ünïcödé 𝄞"),
      .uuid(uuid), .transformable(Data([9, 8, 7])), .integer(3),
    ]
    #expect(try store.values("Note/10", names) == wanted)
    // NULL stays nil, even if the model has a default value.
    #expect(try store.values("ImageNote/20", ["count", "name"]) == [nil, nil])
    #expect(
      try store.values("ImageNote/20", ["created", "price"]) == [
        .date(Date(timeIntervalSinceReferenceDate: -3)), .decimal(.nan),
      ])
    #expect(
      try store.values("LinkNote/30", ["created", "price"]) == [
        .date(Date(timeIntervalSinceReferenceDate: 1e300)), .decimal(7),
      ])
    // Sibling entities have separate columns for one name.
    #expect(try store.values("ImageNote/20", ["pin"]) == [.integer(33)])
    #expect(try store.values("LinkNote/30", ["pin"]) == [.integer(44)])
    // Recomputed.
    #expect(try store.values("Folder/1", ["size"]) == [.integer(3)])
  }

  @Test("binary values: in the row, marked as such, in a file, and too long for memory")
  func binary() throws {
    let place = try Place()
    var fixture = CoreDataFixture()
    fixture.rows["ZNOTE"]?.append(
      (60, CoreDataFixture.note(3, ["ZIMAGE": .blob([1] + [UInt8](repeating: 4, count: 90_000))])))
    fixture.rows["ZNOTE"]?.append((61, CoreDataFixture.note(3, ["ZIMAGE": .blob([3] + Array("reference".utf8))])))
    fixture.rows["ZNOTE"]?.append((62, CoreDataFixture.note(3, ["ZIMAGE": .blob([9, 8, 7])])))
    try Data(fixture.bytes()).write(to: URL(fileURLWithPath: place.database))
    // A reference that is not a file name.
    #expect { try place.run() } throws: { ($0 as? CoreDataImportError)?.object == "ImageNote/61" }
    #expect(try place.run(skip: true).skippedCount == 1)
    let store = try place.open()
    defer { store.close() }
    try checked(store)
    func bytes(_ name: String, _ attribute: String) throws -> [UInt8] {
      try store.read { transaction in
        var result: [UInt8] = []
        _ = try transaction.readData(try transaction.objectID(named: name), attribute) { span in
          span.withUnsafeBytes { result.append(contentsOf: $0) }
        }
        return result
      }
    }
    #expect(try bytes("ImageNote/20", "image") == [UInt8](repeating: 7, count: 100))
    #expect(try bytes("PinnedNote/40", "image") == [UInt8](repeating: 0x5A, count: 300_000))
    #expect(try bytes("ImageNote/60", "image") == [UInt8](repeating: 4, count: 90_000))
    #expect(try bytes("PinnedNote/50", "tags") == [UInt8](repeating: 0xAB, count: 2_000_000))
  }

  @Test("relationships of every form")
  func relationships() throws {
    let place = try Place()
    try place.run()
    let store = try place.open()
    defer { store.close() }
    // Ordered by Z_FOK, not by key.
    #expect(try store.members("Folder/1", "notes") == ["ImageNote/20", "Note/10", "LinkNote/30"])
    #expect(try store.members("Folder/2", "notes") == ["PinnedNote/40"])
    #expect(try store.members("Folder/9", "notes").isEmpty)
    #expect(try store.target("Folder/1", "cover") == "ImageNote/20")
    #expect(try store.target("Note/10", "summary") == "Summary/3")
    #expect(try store.target("Summary/3", "note") == "Note/10")
    #expect(try store.target("Summary/4", "note") == nil)
    #expect(Set(try store.members("Note/10", "children")) == ["ImageNote/20", "LinkNote/30"])
    // It is its own parent.
    #expect(try store.target("PinnedNote/40", "parent") == "PinnedNote/40")
    #expect(try store.members("Note/10", "labels") == ["Tag/1", "Tag/2", "Tag/3"])
    #expect(Set(try store.members("Tag/1", "notes")) == ["Note/10", "LinkNote/30"])
    #expect(Set(try store.members("Tag/2", "related")) == ["Tag/1", "Tag/3"])
    #expect(Set(try store.members("Tag/3", "related")) == ["Tag/2", "Tag/3"])
    #expect(Set(try store.members("Tag/1", "narrower")) == ["Tag/2", "Tag/3"])
    #expect(Set(try store.members("Tag/3", "broader")) == ["Tag/1", "Tag/2"])
    #expect(try store.members("Tag/1", "broader").isEmpty)
    #expect(Set(try store.members("Folder/1", "favourites")) == ["Tag/4", "Tag/5"])
  }

  // MARK: Broken rows

  struct Breakage: Sendable, CustomTestStringConvertible {
    let kind: CoreDataImportError.Kind
    let object: String?
    let property: String?
    /// The number of objects that are imported with --skip-broken.
    let left: Int
    let change: @Sendable (inout CoreDataFixture) -> Void

    var testDescription: String { "\(kind.rawValue) \(object ?? "") \(property ?? "")" }

    static func note(_ values: [String: SQLiteValue], _ entity: Int64 = 2) -> @Sendable (inout CoreDataFixture) -> Void
    {
      { $0.rows["ZNOTE"]?.append((60, CoreDataFixture.note(entity, values))) }
    }
  }

  static let breakages: [Breakage] = [
    Breakage(
      kind: .outOfRange, object: "Note/60", property: "small", left: 16,
      change: Breakage.note(["ZSMALL": .integer(40_000)])),
    Breakage(
      kind: .wrongType, object: "Note/60", property: "uuid", left: 16, change: Breakage.note(["ZUUID": .blob([1])])),
    Breakage(
      kind: .invalidKey, object: "Note/60", property: "parent", left: 16,
      change: Breakage.note(["ZPARENT": .integer((1 << 48) - 1)])),
    Breakage(
      kind: .wrongType, object: "Note/60", property: "name", left: 16,
      change: Breakage.note(["ZNAME": .unreadableText(.encoding)])),
    Breakage(
      kind: .wrongType, object: "Note/60", property: "price", left: 16,
      change: Breakage.note(["ZPRICE": .unreadableText(.encoding)])),
    Breakage(kind: .unknownEntity, object: "Note/60", property: nil, left: 15, change: Breakage.note([:], 7)),
    Breakage(
      kind: .danglingReference, object: "Note/60", property: "parent", left: 16,
      change: Breakage.note(["ZPARENT": .integer(99)])),
    Breakage(
      kind: .danglingReference, object: "Note/60", property: "folder", left: 16,
      change: Breakage.note(["ZFOLDER": .integer(3)])),
    Breakage(
      kind: .wrongDestination, object: "Folder/2", property: "cover", left: 15,
      change: { $0.rows["ZFOLDER"]?[1] = (2, CoreDataFixture.folder("Work", cover: 30)) }),
    Breakage(
      kind: .inverseMismatch, object: "Note/60", property: "summary", left: 16,
      change: Breakage.note(["ZSUMMARY": .integer(3)])),
    Breakage(
      kind: .invalidFile, object: "ImageNote/60", property: "image", left: 16,
      change: Breakage.note(["ZIMAGE": .blob([2] + Array("00000000-0000-0000-0000-000000000000".utf8) + [0])], 3)),
    Breakage(
      kind: .wrongType, object: "ImageNote/60", property: "image", left: 16,
      change: Breakage.note(["ZIMAGE": .blob([2] + Array("../../../../../../../../../etc/passwd".utf8) + [0])], 3)),
    Breakage(
      kind: .ambiguousColumn, object: "ImageNote/60", property: "pin", left: 16,
      change: Breakage.note(["ZPIN": .integer(1), "ZPIN1": .integer(2)], 3)),
    Breakage(
      kind: .requiredValueMissing, object: "Folder/9", property: "name", left: 15,
      change: { $0.rows["ZFOLDER"]?[2] = (9, CoreDataFixture.folder(nil, cover: nil)) }),
    Breakage(
      kind: .danglingReference, object: "Note/10", property: "labels", left: 15,
      change: { $0.links["Z_2LABELS"]?.append([.integer(10), .integer(77), .integer(1)]) }),
    Breakage(
      kind: .invalidKey, object: nil, property: "labels", left: 15,
      change: { $0.links["Z_2LABELS"]?.append([.text("x"), .integer(1), .integer(1)]) }),
  ]

  @Test("invalid rows are rejected by name, or skipped and reported", arguments: breakages)
  func broken(_ breakage: Breakage) throws {
    var fixture = CoreDataFixture()
    breakage.change(&fixture)
    let place = try Place(fixture)
    let attempts: [() throws -> CoreDataImportReport] = [{ try place.plan() }, { try place.run() }]
    for attempt in attempts {
      do {
        _ = try attempt()
        Issue.record("nothing was refused")
      } catch let error as CoreDataImportError {
        #expect(error.kind == breakage.kind && error.object == breakage.object, "\(error)")
        #expect(error.property == breakage.property, "\(error)")
        #expect(error.message.contains("--skip-broken"), "\(error)")
      }
    }
    #expect(place.others.isEmpty, "something is left: \(place.others)")
    let report = try place.run(skip: true)
    #expect(report.skippedCount == 1 && report.skipped.first?.error.kind == breakage.kind, "\(report.skipped)")
    #expect(report.objectCount == breakage.left)
    #expect(try place.plan(skip: true).skipped == report.skipped)
    let store = try place.open()
    defer { store.close() }
    try checked(store)
  }

  // MARK: Whole stores

  @Test("databases and models that are refused, with nothing left")
  func refused() throws {
    let place = try Place()
    func kind(_ body: () throws -> Void) -> String? {
      do {
        try body()
        return nil
      } catch {
        return (error as? any KVCloneError)?.kindName
      }
    }
    #expect(kind { try ObjectStore.importCoreData(from: place.database, to: place.store) } == "modelMissing")
    #expect(
      kind { try ObjectStore.importCoreData(from: place.root + "/none", to: place.store) } == "unreadableDatabase")
    #expect(kind { try ObjectStore.importCoreData(from: place.root, to: place.store) } == "unreadableDatabase")
    #expect(kind { try ObjectStore.importCoreData(from: place.database, to: place.root) } == "storeExists")
    var options = CoreDataImportOptions()
    options.model = ManagedObjectModel(name: "M", entities: [EntityDescription(name: "Folder")])
    #expect(
      kind { try ObjectStore.importCoreData(from: place.database, to: place.store, options: options) }
        == "modelMismatch")
    options.model = ManagedObjectModel(
      name: "M",
      entities: CoreDataFixture.model.entities.map { entity in
        var entity = entity
        if entity.name == "Tag" { entity.attributes.append(AttributeDescription("missing", .string)) }
        return entity
      })
    #expect(
      kind { try ObjectStore.importCoreData(from: place.database, to: place.store, options: options) }
        == "modelMismatch")
    try Data([0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7, 0]).write(
      to: URL(fileURLWithPath: place.database + "-journal"))
    #expect(kind { try place.run() } == "hotJournal")
    try FileManager.default.removeItem(atPath: place.database + "-journal")
    let cancellation = Cancellation()
    cancellation.cancel()
    options.model = CoreDataFixture.model
    #expect(
      kind {
        try ObjectStore.importCoreData(
          from: place.database, to: place.store, options: options, cancellation: cancellation)
      } == "cancelled")
    #expect(place.others.isEmpty)
  }

  @Test("no link leads out of the folder of externally stored values")
  func links() throws {
    let fixture = CoreDataFixture()
    let place = try Place(fixture)
    let file = "\(place.root)/.App_SUPPORT/_EXTERNAL_DATA/\(CoreDataFixture.fileName)"
    try FileManager.default.removeItem(atPath: file)
    try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "/etc/passwd")
    #expect { try place.run() } throws: { ($0 as? CoreDataImportError)?.kind == .invalidFile }
    #expect(place.others.isEmpty)
  }

  /// Objects are written with their links only if all links are sound.
  @Test(
    "a broken link is left out, and changes nothing else",
    arguments: [
      { $0.links["Z_2LABELS"]?.append([.integer(10), .integer(77), .integer(1)]) },
      { $0.links["Z_7RELATED"]?.append([.integer(5), .integer(77)]) },
      { $0.links["Z_1FAVOURITES"]?.append([.integer(77), .integer(1)]) },
      { $0.rows["ZSUMMARY"]?[1].values = CoreDataFixture.summary(note: 77) },
    ] as [@Sendable (inout CoreDataFixture) -> Void])
  func brokenLink(_ change: @Sendable (inout CoreDataFixture) -> Void) throws {
    var fixture = CoreDataFixture()
    let sound = try Place(fixture)
    change(&fixture)
    let broken = try Place(fixture)
    let report = try sound.run()
    let other = try broken.run(skip: true)
    #expect(report.skippedCount == 0 && other.skippedCount == 1)
    #expect(report.objectCount == other.objectCount && report.linkCount == other.linkCount)
    #expect(try Self.lines(sound) == Self.lines(broken))
  }

  /// The dump of the imported store, without its header.
  private static func lines(_ place: Place) throws -> [Substring] {
    let store = try place.open()
    defer { store.close() }
    #expect(try store.check().issues.isEmpty)
    var text = ""
    _ = try store.dump { text += $0.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
    return text.split(separator: "\n").dropFirst().map { $0 }
  }
}
