import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// `salvage` on files with every kind of corruption: it never crashes, its result is sound, and every object that it
/// does not report is unchanged.
@Suite(.needsDataFile(.salvage)) struct SalvageTests {
  private static func small() throws -> SalvageFixture { try SalvageFixture(try CheckFixture().files) }

  /// Creates a store with lists in chunks, branch pages, free pages and blobs.
  private static func large() throws -> SalvageFixture {
    let fixture = try CheckFixture()
    try fixture.store.write { tx in
      var items: [ObjectID] = []
      for number in 0..<400 { items.append(try tx.insert("Item", ["title": .string("item number \(number)")])) }
      try tx.insert("Folder", ["code": .string("many")], relationships: ["items": items, "sorted": items.reversed()])
      try tx.setMembers(items[3], "related", items)
      try tx.set(
        fixture.items[0], "photo", .binary(Data((0..<1_200_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })))
    }
    for round in 0..<3 {
      try fixture.store.delete(Array(try fixture.store.objects("Item").dropFirst(40 + round).prefix(20)))
      try fixture.store.set(fixture.folder, "title", .string("round \(round)"))
    }
    return try SalvageFixture(fixture.files)
  }

  @Test func aSoundStoreIsBroughtOverAsItIs() throws {
    let files = try CheckFixture().files
    try files.store.write { tx in try tx.createSnapshot(named: "one") }
    let uuid = files.store.uuid
    let fixture = try SalvageFixture(files)
    let salvaged = try fixture.salvage(fixture.sound)
    #expect(salvaged.report.isComplete, "\(salvaged.report.losses)")
    #expect(salvaged.lines == fixture.lines)
    #expect(salvaged.uuid == uuid)
    #expect(salvaged.report.snapshotCount == 1)
    #expect(salvaged.report.counts == ["Folder": 2, "Item": 20, "Tag": 2])
  }

  @Test func anyPageMayBeLost() throws {
    let fixture = try Self.small()
    for page in 0..<fixture.sound.count / 4096 {
      // The model of this small store is on one page.
      let options = SalvageOptions(model: CheckFixture.model)
      fixture.explain(try fixture.salvage(fixture.without([page]), options), "page \(page)")
    }
  }

  @Test(arguments: [1, 2] as [UInt64]) func anyBitsMayBeFlipped(seed: UInt64) throws {
    let fixture = try Self.small()
    var generator = SeededGenerator(seed: seed)
    for round in 0..<4 {
      var bytes = fixture.sound
      for _ in 0...(4 * round) { bytes[generator.below(bytes.count)] ^= 1 << UInt8(generator.below(8)) }
      do {
        fixture.explain(try fixture.salvage(bytes), "seed \(seed), round \(round)")
      } catch let error as StoreError {
        // The model is on one page, and some of its bits are indispensable.
        #expect(error.kind == .corrupted && error.message.contains("--model"), "seed \(seed), round \(round): \(error)")
      }
    }
  }

  @Test(arguments: CheckDamageTests.Damaging.allCases) func everyKindOfDamageIsSurvived(
    _ kind: CheckDamageTests.Damaging
  ) throws {
    let fixture = try Self.large()
    for seed in 1...1 as ClosedRange<UInt64> {
      var generator = SeededGenerator(seed: seed &* 1000 &+ UInt64(kind.rawValue.utf8.count))
      var bytes = fixture.sound
      CheckDamageTests.damage(&bytes, kind, &generator)
      do {
        fixture.explain(
          try fixture.salvage(bytes, SalvageOptions(model: CheckFixture.model, maximumLosses: 100_000)),
          "\(kind), seed \(seed)")
      } catch let error as StoreError {
        #expect([.corrupted, .invalidStore].contains(error.kind), "\(kind), seed \(seed): \(error)")
      }
    }
  }

  @Test func whatIsNoStoreIsAnError() throws {
    let fixture = try Self.small()
    for bytes in [[UInt8](), [UInt8](repeating: 0, count: 100_000), [UInt8](repeating: 0xA5, count: 8192)] {
      expectError(.invalidStore) { _ = try fixture.salvage(bytes) }
    }
    expectError(.storeNotFound) { try ObjectStore.salvage(from: fixture.root + "/nothing", to: fixture.root + "/new") }
    try fixture.write(fixture.sound)
    expectError(.storeExists) { try ObjectStore.salvage(from: fixture.path, to: fixture.path) }
    let cancellation = Cancellation()
    cancellation.cancel()
    expectError(.cancelled) {
      try ObjectStore.salvage(from: fixture.path, to: fixture.root + "/new", cancellation: cancellation)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.root) == ["damaged"])
  }

  // MARK: B+trees

  @Test func withoutMetaPagesTheNewestStateIsFound() throws {
    let fixture = try Self.large()
    for page in 0...1 {
      let one = try fixture.salvage(fixture.without([page]))
      #expect(one.report.isComplete && one.lines == fixture.lines, "\(one.report.losses)")
    }
    let both = try fixture.salvage(fixture.without([0, 1]))
    #expect(both.lines == fixture.lines)
    #expect(both.report.losses.map(\.kind) == [.state])
  }

  @Test func withoutTheListOfTablesEachPageIsRead() throws {
    let fixture = try Self.large()
    let roots = fixture.pages(with: Array("objects-0001".utf8))
    // The free list shows which pages count.
    let roles = PageRoles(fixture.sound, readsData: false)
    let newest = roles.word64(144) > roles.word64(4096 + 144) ? 0 : 4096
    let known = try fixture.salvage(fixture.without([roles.word64(newest + 128)]))
    #expect(known.lines == fixture.lines)
    let unknown = try fixture.salvage(fixture.without([0, 1] + roots), SalvageOptions(maximumLosses: 100_000))
    fixture.explain(unknown, "no trees")
    #expect(unknown.report.lossCounts[.state] == 1)
    // Leaves may contain the list's name in uncleared bytes, and are then lost with it here.
    #expect(fixture.lines.keys.count { unknown.lines[$0] != nil } > fixture.lines.count / 2)
  }

  @Test func aLostBranchLosesNothing() throws {
    let fixture = try Self.large()
    let branches = PageRoles(fixture.sound, readsData: false).treePages.filter { page in
      fixture.sound[page * 4096 + 10] == 1
    }
    #expect(branches.count >= 2)
    for page in branches {
      let salvaged = try fixture.salvage(fixture.without([page]))
      #expect(
        salvaged.report.isComplete && salvaged.lines == fixture.lines,
        "page \(page): \(salvaged.report.losses.prefix(3))")
    }
  }

  /// Its keys fit in, so that no page appears lost; the list of free pages is not known then, either.
  @Test func aPageThatLeadsToTheListOfFreePagesLosesNothingUnnamed() throws {
    let fixture = try Self.large()
    let roles = PageRoles(fixture.sound, readsData: false)
    let newest = roles.word64(144) > roles.word64(4096 + 144) ? 0 : 4096
    let freePages = roles.word64(newest + 40 + 40)
    var changed = 0
    for page in roles.treePages where fixture.sound[page * 4096 + 10] == 1 {
      let count = (roles.word16(page * 4096 + 12) - 16) / 2
      for index in 0..<count {
        var bytes = fixture.sound
        let node = page * 4096 + roles.word16(page * 4096 + 16 + 2 * index)
        for place in 0..<4 { bytes[node + place] = UInt8(truncatingIfNeeded: freePages >> (8 * place)) }
        fixture.explain(try fixture.salvage(bytes), "entry \(index) of page \(page)")
        changed += 1
      }
    }
    #expect(changed >= 4)
  }

  @Test func theModelMayBeGiven() throws {
    let fixture = try Self.large()
    let bytes = fixture.without(fixture.pages(with: Array("model-0001".utf8)))
    let error = expectError(.corrupted) { _ = try fixture.salvage(bytes) }
    #expect(error?.message.contains("--model") == true)
    let salvaged = try fixture.salvage(bytes, SalvageOptions(model: CheckFixture.model))
    #expect(salvaged.lines == fixture.lines)
    #expect(salvaged.report.lossCounts[.metadata] != nil)
    expectError(.corrupted) { _ = try fixture.salvage(bytes) }
  }

  // MARK: Values and lists

  @Test func aLargeValueThatIsNotWholeIsNil() throws {
    let fixture = try Self.large()
    let roles = PageRoles(fixture.sound, readsData: true)
    var names: Set<String> = []
    for page in roles.valuePages {
      var bytes = fixture.sound
      bytes[page * 4096 + 2000] ^= 1
      let salvaged = try fixture.salvage(bytes, SalvageOptions(model: CheckFixture.model))
      fixture.explain(salvaged, "page \(page)")
      for loss in salvaged.report.losses { names.insert("\(loss.kind) \(loss.object ?? "-") \(loss.property ?? "-")") }
    }
    #expect(
      names.contains("value Item/1 photo") || names.contains { $0.hasPrefix("value Item/") && $0.hasSuffix("photo") },
      "\(names)")
  }

  @Test func aLostPieceOfAListComesFromTheOtherSide() throws {
    let fixture = try CheckFixture()
    let (folder, item) = (fixture.folder, fixture.items[7])
    for name in ["items", "sorted"] {
      let list = try fixture.list(folder, "Folder", name)
      let entries = try fixture.entries(fixture.tables.links).filter {
        $0.key.starts(with: ShortKey.linkPrefix(owner: folder, relationship: list.relationship).array)
      }
      #expect(entries.count == 1)
      for entry in entries { try fixture.tamper(fixture.tables.links, entry.key) { $0[20] ^= 1 } }
    }
    let before = try fixture.store.members(item, "folder")
    fixture.store.close()
    let target = fixture.files.root + "/new"
    let report = try ObjectStore.salvage(from: fixture.files.path, to: target)
    #expect(report.losses.map { "\($0.kind) \($0.property ?? "-")" } == ["order sorted"], "\(report.losses)")
    let store = try ObjectStore.open(at: target)
    defer { store.close() }
    #expect(try store.members(item, "folder") == before)
    #expect(Set(try store.members(folder, "items")) == Set(fixture.items))
    #expect(Set(try store.members(folder, "sorted")) == Set(fixture.items).subtracting([fixture.items[1]]))
    try checked(store)
    try fixture.files.reopen()
  }

  @Test func linksToLostObjectsGo() throws {
    let fixture = try CheckFixture()
    let (tag, items) = (fixture.tag, fixture.items)
    try fixture.tamper(record: tag, sealed: false) { $0[30] ^= 1 }
    try fixture.tamper(record: items[4], sealed: false) { $0[30] ^= 1 }
    fixture.store.close()
    let target = fixture.files.root + "/new"
    let report = try ObjectStore.salvage(from: fixture.files.path, to: target)
    // An older copy is usually on a free page.
    let gone = report.losses.filter { $0.kind == .object }.compactMap(\.object)
    let old = report.losses.filter { $0.kind == .doubtfulObject }.compactMap(\.object)
    #expect(Set(gone + old) == ["Tag/\(tag.serial)", "Thing/\(items[4].serial)"], "\(report.losses)")
    #expect(report.lostObjectCount == gone.count)
    let store = try ObjectStore.open(at: target)
    defer { store.close() }
    try checked(store)
    #expect(try store.check().issues == [])
    try fixture.files.reopen()
  }

  @Test func derivedAttributesAreRecomputed() throws {
    let files = try TestStore(DerivedModel.model)
    try files.store.write { tx in
      let library = try tx.insert("Library", ["name": .string("one")])
      for number in 0..<3 {
        let album = try tx.insert("Album", ["title": .string("\(number)")], relationships: ["library": [library]])
        for size in 0..<30 {
          try tx.insert("Photo", ["size": .integer(Int64(size))], relationships: ["album": [album]])
        }
      }
    }
    let fixture = try SalvageFixture(files)
    let whole = try fixture.salvage(fixture.sound)
    #expect(whole.report.isComplete && whole.lines == fixture.lines)
    // With a page of photos the counts change, and the check by `salvage` computes the correct ones.
    for page in PageRoles(fixture.sound, readsData: false).treePages.prefix(8) {
      _ = try fixture.salvage(fixture.without([page]))
    }
  }

  /// The directory is copied while the store is open, as after a killed process. Some pages of the file are older than
  /// the last commits, as after a power failure.
  @Test func aCommitLogIsReadWhereItLies() throws {
    var options = StoreOptions()
    options.journalMode = .writeAheadLog
    let files = try TestStore(CheckFixture.model, options: options)
    let file = URL(fileURLWithPath: files.path + "/data.mdb")
    for number in 0..<5 { try files.store.insert("Tag", ["name": .string("first \(number)")]) }
    let old = [UInt8](try Data(contentsOf: file))
    for number in 0..<5 { try files.store.insert("Tag", ["name": .string("second \(number)")]) }
    let lines = try SalvageFixture.lines(files.store)
    let copy = files.root + "/killed"
    try FileManager.default.copyItem(atPath: files.path, toPath: copy)
    for name in ["lock.mdb", "stagers.lock"] { try? FileManager.default.removeItem(atPath: "\(copy)/\(name)") }
    try Data(old).write(to: URL(fileURLWithPath: copy + "/data.mdb"))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: copy + "/data.mdb")
    let log = try Data(contentsOf: URL(fileURLWithPath: copy + "/commit.log"))
    #expect(log[40] == 1, "the log is in use")
    let report = try ObjectStore.salvage(from: copy, to: files.root + "/new")
    #expect(report.isComplete, "\(report.losses)")
    #expect([UInt8](try Data(contentsOf: URL(fileURLWithPath: copy + "/data.mdb"))) == old)
    #expect(try Data(contentsOf: URL(fileURLWithPath: copy + "/commit.log")) == log)
    let store = try ObjectStore.open(at: files.root + "/new")
    defer { store.close() }
    #expect(try SalvageFixture.lines(store) == lines)
  }
}
