import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// The salvaged state if the table list has more than one page; full disks.
@Suite(.needsDataFile(.salvage)) struct SalvageStateTests {
  private static let entityCount = 60

  /// With a table for each of sixty entities, the list has a branch page and two leaves.
  private static func manyTables() throws -> SalvageFixture {
    let model = ManagedObjectModel(
      name: "Many",
      entities: (0..<entityCount).map {
        EntityDescription(name: "E\($0)", attributes: [AttributeDescription("name", .string)])
      })
    let files = try TestStore(model)
    for round in 0..<3 {
      try files.store.write { tx in
        for number in 0..<entityCount where round == 0 || number % 7 == round {
          try tx.insert("E\(number)", ["name": .string("\(round) of \(number)")])
        }
      }
    }
    return try SalvageFixture(files)
  }

  /// Returns the newest state's meta page, and the root of its table list.
  private func root(_ fixture: SalvageFixture) -> (meta: Int, list: Int) {
    let roles = PageRoles(fixture.sound, readsData: false)
    let newest = roles.word64(144) > roles.word64(4096 + 144) ? 0 : 1
    return (newest, roles.word64(newest * 4096 + 128))
  }

  @Test func aListOfTablesWithBranchesIsFound() throws {
    let fixture = try Self.manyTables()
    let (newest, branch) = root(fixture)
    #expect(fixture.sound[branch * 4096 + 10] == 1, "the list of tables has a branch")
    let both = try fixture.salvage(fixture.without([0, 1]))
    #expect(both.lines == fixture.lines)
    #expect(both.report.losses.map(\.kind) == [.state], "\(both.report.losses)")
    // The older one is not needed; without the newer one, the newest state is uncertain.
    let older = try fixture.salvage(fixture.without([1 - newest]))
    #expect(older.report.isComplete && older.lines == fixture.lines, "\(older.report.losses)")
    let newer = try fixture.salvage(fixture.without([newest]))
    #expect(newer.lines == fixture.lines)
    #expect(newer.report.losses.map(\.kind) == [.state], "\(newer.report.losses)")
  }

  @Test func aPartOfAListIsNotTakenForTheWhole() throws {
    let fixture = try Self.manyTables()
    let (newest, branch) = root(fixture)
    // Older branch pages may lead to leaves of the newest list: such leaves are not used without a report.
    for pages in [[0, 1, branch], [newest, branch]] {
      let salvaged = try fixture.salvage(fixture.without(pages), SalvageOptions(maximumLosses: 100_000))
      fixture.explain(salvaged, "without \(pages)")
      #expect(salvaged.report.lossCounts[.state] == 1, "without \(pages): \(salvaged.report.lossCounts)")
      #expect(salvaged.lines.count >= Self.entityCount, "without \(pages)")
    }
    // The newest meta page shows which pages are free: all others count.
    let found = try fixture.salvage(fixture.without([1 - newest, branch]), SalvageOptions(maximumLosses: 100_000))
    fixture.explain(found, "without the branch")
    #expect(found.lines == fixture.lines, "\(found.report.lossCounts)")
  }

  /// The meta page of the newest commit is corrupted, and its table list is lost: only records of that commit show that
  /// it existed.
  @Test func aCommitWhoseListIsLostIsNotForgottenInSilence() throws {
    let files = try TestStore(
      ManagedObjectModel("Small") { EntityDescription("Note") { AttributeDescription("text", .string) } })
    for number in 0..<5 {
      try files.store.write { tx in _ = try tx.insert("Note", ["text": .string("note \(number)")]) }
    }
    let fixture = try SalvageFixture(files)
    let (newest, list) = root(fixture)
    #expect(fixture.sound[list * 4096 + 10] == 2, "the list of tables is a leaf")
    let salvaged = try fixture.salvage(fixture.without([newest, list]))
    #expect(salvaged.report.losses.map(\.kind) == [.state], "\(salvaged.report.losses)")
    #expect(salvaged.lines.count == 4 && salvaged.lines.allSatisfy { fixture.lines[$0.key] == $0.value })
    // The older one is not needed: no commit was later.
    let older = try fixture.salvage(fixture.without([1 - newest]))
    #expect(older.report.isComplete && older.lines == fixture.lines, "\(older.report.losses)")
  }

  /// A commit that only deletes writes no later record. Only the number in its meta page, which is otherwise unusable,
  /// shows that it existed.
  @Test func aCommitThatOnlyDeletedIsNotForgottenInSilence() throws {
    let files = try TestStore(
      ManagedObjectModel("Small") { EntityDescription("Note") { AttributeDescription("text", .string) } })
    let notes = try (0..<5).map { number in
      try files.store.write { tx in try tx.insert("Note", ["text": .string("note \(number)")]) }
    }
    try files.store.write { tx in try tx.delete([notes[2]]) }
    let fixture = try SalvageFixture(files)
    let (newest, list) = root(fixture)
    let roles = PageRoles(fixture.sound, readsData: false)
    let name = Array((TableCode.metadata.name ?? "").utf8)
    var metadata = 0
    for pointer in stride(from: list * 4096 + 16, to: list * 4096 + roles.word16(list * 4096 + 12), by: 2) {
      let key = list * 4096 + roles.word16(pointer) + 8
      // The root follows the other numbers of the tree.
      if fixture.sound[key..<key + name.count].elementsEqual(name) { metadata = roles.word64(key + name.count + 40) }
    }
    try #require(metadata > 1)
    var bytes = fixture.without([metadata])
    bytes[newest * 4096 + 16] ^= 0xFF
    let salvaged = try fixture.salvage(bytes)
    #expect(salvaged.report.losses.map(\.kind) == [.state], "\(salvaged.report.losses)")
    #expect(salvaged.lines.count == 5)
  }

  /// A manipulated file with a length of one tebibyte, nearly without data, and without meta pages: holes are skipped.
  @Test func aFileThatIsNearlyAllHolesIsSalvaged() throws {
    let fixture = try Self.manyTables()
    try fixture.write(fixture.without([0, 1]))
    let file = try #require(FileHandle(forUpdatingAtPath: fixture.path + "/data.mdb"))
    try file.truncate(atOffset: 1 << 40)
    try file.close()
    #expect(try !ObjectStore.check(at: fixture.path).isClean)
    let report = try ObjectStore.salvage(from: fixture.path, to: fixture.root + "/whole")
    #expect(report.losses.map(\.kind) == [.state] && report.objectCount == fixture.lines.count, "\(report.losses)")
  }

  /// The newer meta page appears sound, but names another page as the list; the correct page still exists, and is in
  /// use.
  @Test func aListThatTheMetaPageMissesIsFound() throws {
    let fixture = try Self.manyTables()
    let (newest, branch) = root(fixture)
    let (pageCount, roles) = (fixture.sound.count / 4096, PageRoles(fixture.sound, readsData: false))
    // A leaf of the list has some of the tables, and appears to be a list.
    let leaves = (0..<2).map { roles.word32(branch * 4096 + roles.word16(branch * 4096 + 16 + 2 * $0)) }
    for page in Array(stride(from: 2, to: pageCount, by: max(1, pageCount / 60))) + [pageCount + 1, 1 << 40]
    where page != branch && !leaves.contains(page) {
      var bytes = fixture.sound
      for index in 0..<8 { bytes[newest * 4096 + 128 + index] = UInt8(truncatingIfNeeded: page >> (8 * index)) }
      let found = try fixture.salvage(bytes)
      #expect(found.lines == fixture.lines, "root \(page): \(found.report.losses)")
    }
  }

  @Test("a full disk, wherever on the way, leaves nothing", .enabled(if: MountedPeer.canMount))
  func fullDisk() throws {
    let sizes = ["40k", "120k", "1m", "4m"]
    let lines = try MountedPeer.script(
      """
      mount -t tmpfs -o size=48m none "$2"; chmod 700 "$2"
      for size in \(sizes.joined(separator: " ")); do mkdir "$2/$size"; mount -t tmpfs -o size=$size none "$2/$size"; done
      "$1" salvage "$2" \(sizes.joined(separator: " "))
      for size in \(sizes.joined(separator: " ")); do ls -A "$2/$size"; done
      """)
    #expect(lines == sizes.map { _ in "salvage error diskFull" } + ["salvage ok"])
  }
}

/// Two objects with the same values under a uniqueness constraint over derived attributes.
@Suite(.needsDataFile(.salvage)) struct SalvageDuplicateTests {
  private static let model = ManagedObjectModel("Unique") {
    EntityDescription("Word", unique: [["folded"]]) {
      AttributeDescription("text", .string, optional: false)
      AttributeDescription("folded", .string, derivation: "canonical:(text)")
    }
    EntityDescription("Album", unique: [["photoCount"]]) {
      AttributeDescription("title", .string)
      AttributeDescription("photoCount", .integer64, derivation: "photos.@count")
      RelationshipDescription("photos", toMany: "Photo", inverse: "album")
    }
    EntityDescription("Photo") { RelationshipDescription("album", toOne: "Album", inverse: "photos", optional: false) }
    EntityDescription("Page", unique: [["bookTitle"]]) {
      AttributeDescription("bookTitle", .string, derivation: "book.title")
      RelationshipDescription("book", toOne: "Book")
    }
    EntityDescription("Book") { AttributeDescription("title", .string) }
  }

  /// Changes a store without its rules.
  private func plant(_ store: ObjectStore, _ change: (inout Session) throws -> Void) throws {
    var session = try store.writeSession(label: "plant")
    try change(&session)
    try session.settle()
    try DerivedRefresh.refreshAll(in: &session)
    try session.writeCounters()
    try session.storage.backend.commit()
  }

  /// Creates a store, inserts one or `count` duplicates without the rules, and salvages it.
  private func salvage(
    _ entity: String, _ make: (inout WriteTransaction) throws -> [String: [ObjectID]],
    _ attributes: [String: AttributeValue?] = [:], count: Int = 1, then check: (ObjectStore, [String]) throws -> Void
  ) throws {
    let files = try TestStore(Self.model)
    let links = try files.store.write { tx in try make(&tx) }
    // Each in a separate commit: later ones have priority for the values.
    for _ in 0..<count {
      try plant(files.store) { session in
        let entity = try session.schema.entity(entity)
        _ = try session.insert(entity, attributes, links)
      }
    }
    #expect(try files.store.check().issues.contains { $0.kind == .duplicateValues })
    files.store.close()
    let target = files.root + "/new"
    let report = try ObjectStore.salvage(from: files.path, to: target)
    let store = try ObjectStore.open(at: target)
    defer { store.close() }
    try checked(store)
    let losses = report.losses.map {
      "\($0.kind) \($0.object ?? "-") \($0.property ?? "-")\($0.breaksRule ? " breaks a rule" : "")"
    }
    try check(store, losses)
    try files.reopen()
  }

  @Test func sourcesOfADerivedAttributeAreRemoved() throws {
    func make(_ tx: inout WriteTransaction) throws -> [String: [ObjectID]] {
      try tx.insert("Word", ["text": "Été"])
      return [:]
    }
    try salvage("Word", make, ["text": "ete"]) { store, losses in
      #expect(losses == ["value Word/1 text breaks a rule"])
      let texts = try store.objects("Word").map { try store.value($0, "text") }
      #expect(texts == [nil, "ete"])
    }
  }

  /// Each duplicate loses its value once, and keeps the others. Issue: the first one was processed again for each of
  /// the others, and was removed.
  @Test(arguments: [2, 70]) func allButOneGiveUpWhatTheyShare(count: Int) throws {
    func make(_ tx: inout WriteTransaction) throws -> [String: [ObjectID]] {
      try tx.insert("Word", ["text": "Été"])
      return [:]
    }
    try salvage("Word", make, ["text": "ete"], count: count) { store, losses in
      #expect(losses == (1...count).map { "value Word/\($0) text breaks a rule" })
      let texts = try store.objects("Word").map { try store.value($0, "text") }
      #expect(texts == Array(repeating: nil, count: count) + ["ete"])
    }
  }

  @Test func aLinkThatAnAttributeIsDerivedThroughIsCut() throws {
    func make(_ tx: inout WriteTransaction) throws -> [String: [ObjectID]] {
      let book = try tx.insert("Book", ["title": "one"])
      try tx.insert("Page", relationships: ["book": [book]])
      return ["book": [book]]
    }
    try salvage("Page", make) { store, losses in
      #expect(losses == ["link Page/1 book"])
      let counts = try store.objects("Page").map { try store.members($0, "book").count }
      #expect(counts == [0, 1])
    }
  }

  @Test func whereAListIsCountedTheObjectGoes() throws {
    func make(_ tx: inout WriteTransaction) throws -> [String: [ObjectID]] {
      let albums = [try tx.insert("Album"), try tx.insert("Album")]
      var last: ObjectID?
      for album in [0, 1, 1, 1] { last = try tx.insert("Photo", relationships: ["album": [albums[album]]]) }
      // The inserted album takes a photo, and then has as many as the first one.
      return ["photos": last.map { [$0] } ?? []]
    }
    try salvage("Album", make) { store, losses in
      #expect(losses == ["link Photo/1 album breaks a rule", "object Album/1 -"])
      let albums = try store.objects("Album")
      let counts = try albums.map { try store.value($0, "photoCount") }
      #expect(counts == [.integer(2), .integer(1)])
    }
  }
}
