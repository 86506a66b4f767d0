import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// The current library reads and changes files of each format version.
///
/// `GoldenStores` contains a store and its dumps for each version, as text (``GoldenStore``). Versions 3 to 6 were all
/// created by one build, that of version 6, which writes the lowest version that can represent a file. They have the
/// format of the older versions, but were not written by the builds of that time. Version 7 has branches. Files are never replaced: if one is
/// missing, and `KVCLONE_GOLDEN=1` is set, this suite creates it, which is meant for a new version.
@Suite("Stores of all format versions")
struct GoldenStoreTests {
  @Test("opened, dumped and checked as when they were made, and changed as any other", arguments: GoldenStore.versions)
  func golden(version: Int) throws {
    try Self.makeIfMissing(version)
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    let path = root + "/golden.kvclone"
    try GoldenStore.place("v\(version).store", at: path)
    let damages = try ObjectStore.check(at: path, options: CheckOptions(readData: true)).issues
    #expect(damages.isEmpty, "\(damages.prefix(3).map(\.message))")
    var readOnly = StoreOptions()
    readOnly.isReadOnly = true
    var store = try ObjectStore.open(at: path, options: readOnly)
    #expect(try store.info().formatVersion == version)
    #expect(try GoldenStore.dumps(store) == GoldenStore.text("v\(version).dump.txt"))
    store.close()
    // Opening for writing changes nothing by itself.
    store = try ObjectStore.open(at: path)
    #expect(try GoldenStore.dumps(store) == GoldenStore.text("v\(version).dump.txt"))
    let root1 = try store.objects("Folder")[0]
    // The clone follows the notes linked by `next`, and shares its folder and tags.
    let clone = try store.clone([try store.members(root1, "notes")[30]])
    #expect(clone.objectCount > 5)
    let note = try store.members(root1, "notes")[3]
    try store.set(note, "title", "changed")
    #expect(try store.delete([try store.members(root1, "notes")[5]]) == 1)
    try checked(store)
    #expect(try store.info().formatVersion == version)
    for name in try store.snapshots().map(\.name) {
      let before = try GoldenStore.dump { try store.snapshot(named: name).dump(to: $0) }
      #expect(try GoldenStore.text("v\(version).dump.txt").contains(before))
    }
    try Self.changeBranches(of: store, version)
    let after = try GoldenStore.dumps(store)
    store.close()
    store = try ObjectStore.open(at: path)
    defer { store.close() }
    #expect(try GoldenStore.dumps(store) == after)
  }

  /// Branches have the content that was recorded, whatever was changed in the store, and can be changed, too.
  private static func changeBranches(of store: ObjectStore, _ version: Int) throws {
    let golden = try GoldenStore.text("v\(version).dump.txt")
    let names = try store.branches.list().map(\.name)
    #expect(names == (version < 7 ? [] : ["draft", "old"]))
    for name in names {
      let branch = try store.branches.open(name)
      #expect(golden.contains("branch \(name)\n" + (try GoldenStore.dumpsOfOne(branch))))
      try branch.set(try branch.objects("Note")[6], "title", .string("changed on \(name)"))
      try branch.clone([try branch.objects("Note")[8]])
    }
    try checked(store)
  }

  // MARK: Creating one

  private static func makeIfMissing(_ version: Int) throws {
    guard GoldenStore.isToBeMade("v\(version).store") else { return }
    let test = try TestStore(model(version: 1, indexed: version > 3))
    try fill(test.store)
    if version >= 5 {
      try test.store.createSnapshot(named: "before")
      let notes = try test.store.objects("Note")
      try test.store.set(notes[0], "title", "after")
      _ = try test.store.delete([notes[1]])
    }
    if version >= 6 {
      test.store.close()
      let wanted = model(version: 2, indexed: true)
      _ = try test.migrate(
        to: wanted, migration: MigrationOptions(versions: [model(version: 1, indexed: true), wanted]))
      try test.reopen()
      let note = try test.store.objects("Note")[4]
      try test.store.set(note, "stars", 5)
    }
    if version >= 7 { try makeBranches(of: test.store) }
    // The store reports the format that it had when it was opened.
    try test.reopen()
    try checked(test.store)
    #expect(try test.store.info().formatVersion == version)
    try GoldenStore.write(GoldenStore.dumps(test.store), to: "v\(version).dump")
    try test.store.backup(to: test.root + "/backup")
    try GoldenStore.keep(test.root + "/backup/data.mdb", as: "v\(version).store")
  }

  /// Creates a branch with changes and a snapshot of its own, and one of an earlier snapshot.
  private static func makeBranches(of store: ObjectStore) throws {
    try store.createSnapshot(named: "later")
    let branch = try store.branches.create("draft")
    let notes = try branch.objects("Note")
    try branch.set(notes[3], "title", "on a branch")
    _ = try branch.delete([notes[10]])
    try branch.createSnapshot(named: "of-draft")
    try branch.insert(
      "Note", ["title": "added on a branch", "data": .binary(Data(repeating: 5, count: 6_000))],
      relationships: ["folder": try branch.objects("Folder")])
    try store.set(try store.objects("Note")[3], "title", "in the store")
    let old = try store.branches.create("old", from: try store.snapshot(named: "later"))
    _ = try old.delete([try old.objects("Note")[0]])
  }

  private static func model(version: Int, indexed: Bool) -> ManagedObjectModel {
    ManagedObjectModel("Golden", version: "Golden \(version)") {
      EntityDescription("Folder") {
        AttributeDescription("name", .string)
        RelationshipDescription("notes", toMany: "Note", inverse: "folder", ordered: true, deleteRule: .cascade)
      }
      EntityDescription(
        "Note", unique: [["number"]], indexes: indexed ? [FetchIndexDescription("byTitle", [.init("title")])] : []
      ) {
        AttributeDescription("number", .integer32)
        AttributeDescription("title", .string, default: "untitled")
        AttributeDescription("big", .integer64)
        AttributeDescription("created", .date)
        AttributeDescription("data", .binary)
        AttributeDescription("flag", .boolean)
        AttributeDescription("id", .uuid)
        AttributeDescription("link", .uri)
        AttributeDescription("price", .decimal)
        AttributeDescription("ratio", .double)
        AttributeDescription("size", .float)
        if version > 1 { AttributeDescription("stars", .integer16, optional: false, default: 3) }
        AttributeDescription(
          "place", .composite, elements: [AttributeDescription("x", .double), AttributeDescription("y", .double)])
        RelationshipDescription("folder", toOne: "Folder", inverse: "notes")
        RelationshipDescription("tags", toMany: "Tag", inverse: "notes")
        RelationshipDescription("next", toOne: "Note")
      }
      EntityDescription("Pinned", parent: "Note") { AttributeDescription("reason", .string) }
      EntityDescription("Tag") {
        AttributeDescription("name", .string)
        RelationshipDescription("notes", toMany: "Note", inverse: "tags")
      }
    }
  }

  private static func fill(_ store: ObjectStore) throws {
    try store.write { tx in
      let tags = try ["red", "blue", "é 😀"].map { try tx.insert("Tag", ["name": .string($0)]) }
      let folder = try tx.insert("Folder", ["name": "all"])
      var last: ObjectID?
      for number in 0..<40 {
        // The cloned notes have no number, because the number is unique.
        let note = try tx.insert(
          number % 7 == 3 ? "Pinned" : "Note",
          [
            "number": number < 2 ? .integer(Int64(number)) : nil, "title": .string("note \(number)"),
            "big": .integer(.max - Int64(number)),
            "created": .date(Date(timeIntervalSinceReferenceDate: Double(number) + 0.25)),
            "data": .binary(Data(repeating: UInt8(number), count: number == 7 ? 5_000 : number * 20)),
            "flag": .boolean(number % 2 == 0),
            "id": .uuid(try #require(UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"))),
            "link": .uri("x:\(number)"), "price": .decimal(try #require(Decimal(string: "\(number).50"))),
            "ratio": .double(Double(number) / 3), "size": .float(0.1),
            "place": .composite(["x": .double(1), "y": .double(Double(number))]),
          ],
          relationships: [
            "folder": [folder], "tags": number % 3 == 0 ? [tags[0]] : [tags[number % 3], tags[0]],
            "next": number > 20 ? last.map { [$0] } ?? [] : [],
          ])
        last = note
      }
    }
    _ = try store.delete([try store.objects("Note")[9]])
  }
}
