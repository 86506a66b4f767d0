import Foundation
import Testing

@testable import KVClone

/// Files of each format version are read and changed by the library as it is now.
///
/// `GoldenStores` has a store and its dumps for each version, as text. Those of 3 to 6 were all made by one build, that of
/// version 6, which writes the lowest version that says everything in a file: they have the older versions' form, and are not what
/// the builds of then had written. They are never made anew: where one is missing, and
/// `KVCLONE_GOLDEN=1` is set, this suite writes it, which is for a version that is new.
@Suite("Stores of all format versions")
struct GoldenStoreTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
    path: "GoldenStores")
  private static let versions = 3...6

  @Test("opened, dumped and checked as when they were made, and changed as any other", arguments: versions)
  func golden(version: Int) throws {
    try Self.makeIfMissing(version)
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    let path = root + "/golden.kvclone"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    let bytes = try Self.decode(try Self.text("v\(version).store.txt"))
    #expect(
      FileManager.default.createFile(
        atPath: path + "/data.mdb", contents: bytes, attributes: [.posixPermissions: 0o600]))
    let damages = try ObjectStore.check(at: path, options: CheckOptions(readData: true)).damages
    #expect(damages.isEmpty, "\(damages.prefix(3).map(\.message))")
    var readOnly = StoreOptions()
    readOnly.isReadOnly = true
    var store = try ObjectStore.open(at: path, options: readOnly)
    #expect(try store.info().formatVersion == version)
    #expect(try Self.dumps(store) == Self.text("v\(version).dump.txt"))
    store.close()
    // Opened to be written, nothing changes by that alone.
    store = try ObjectStore.open(at: path)
    #expect(try Self.dumps(store) == Self.text("v\(version).dump.txt"))
    let root1 = try store.objects("Folder")[0]
    // It follows the notes that it leads to by `next`, and shares its folder and tags.
    let clone = try store.clone([try store.members(root1, "notes")[30]])
    #expect(clone.objectCount > 5)
    let note = try store.members(root1, "notes")[3]
    try store.set(note, "title", "changed")
    #expect(try store.delete([try store.members(root1, "notes")[5]]) == 1)
    try checked(store)
    #expect(try store.info().formatVersion == version)
    for name in try store.snapshots().map(\.name) {
      let before = try Self.dump { try store.snapshot(named: name).dump(to: $0) }
      #expect(try Self.text("v\(version).dump.txt").contains(before))
    }
    let after = try Self.dumps(store)
    store.close()
    store = try ObjectStore.open(at: path)
    defer { store.close() }
    #expect(try Self.dumps(store) == after)
  }

  // MARK: Text

  private static func text(_ name: String) throws -> String {
    try String(contentsOf: folder.appending(path: name), encoding: .utf8)
  }

  private static func dump(_ body: ((RawSpan) throws -> Void) throws -> DumpResult) throws -> String {
    var bytes: [UInt8] = []
    _ = try body { piece in piece.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// What the store shows, and what each of its snapshots does.
  private static func dumps(_ store: ObjectStore) throws -> String {
    var text = try dump { try store.dump(to: $0) }
    for name in try store.snapshots().map(\.name) {
      text += "snapshot \(name)\n" + (try dump { try store.snapshot(named: name).dump(to: $0) })
    }
    return text
  }

  /// The length, then each row of 32 bytes that has anything in it, with its number and without the zeros at its end.
  private static func encode(_ bytes: Data) -> String {
    var text = "\(bytes.count)\n"
    for start in stride(from: 0, to: bytes.count, by: 32) {
      let row = bytes[start..<min(start + 32, bytes.count)]
      guard row.contains(where: { $0 != 0 }) else { continue }
      let used = row.lastIndex { $0 != 0 }.map { row[start...$0] } ?? row
      text += "\(start / 32) " + used.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "\n"
    }
    return text
  }

  private static func decode(_ text: String) throws -> Data {
    let lines = text.split(separator: "\n")
    var bytes = Data(count: try #require(lines.first.flatMap { Int($0) }))
    for line in lines.dropFirst() {
      let parts = line.split(separator: " ")
      var offset = try #require(Int(parts[0])) * 32
      var digits = parts[1]
      while !digits.isEmpty {
        bytes[offset] = try #require(UInt8(digits.prefix(2), radix: 16))
        digits = digits.dropFirst(2)
        offset += 1
      }
    }
    return bytes
  }

  // MARK: Making one

  private static func makeIfMissing(_ version: Int) throws {
    let file = folder.appending(path: "v\(version).store.txt")
    guard !FileManager.default.fileExists(atPath: file.path),
      ProcessInfo.processInfo.environment["KVCLONE_GOLDEN"] == "1"
    else { return }
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
      _ = try ObjectStore.migrate(
        at: test.path, to: wanted, migration: MigrationOptions(versions: [model(version: 1, indexed: true), wanted]))
      try test.reopen()
      let note = try test.store.objects("Note")[4]
      try test.store.set(note, "stars", 5)
    }
    // What a store says of its format is what it was when it was opened.
    try test.reopen()
    try checked(test.store)
    #expect(try test.store.info().formatVersion == version)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data(dumps(test.store).utf8).write(to: folder.appending(path: "v\(version).dump.txt"))
    try test.store.backup(to: test.root + "/backup")
    try Data(encode(Data(contentsOf: URL(fileURLWithPath: test.root + "/backup/data.mdb"))).utf8).write(to: file)
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
        // What the test clones has no number: it would be another one with the same.
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
