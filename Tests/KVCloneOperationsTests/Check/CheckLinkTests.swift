import Foundation
import KVClone
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneOperations

/// `check` finds faults between objects: links, lists, blobs, indexes.
@Suite struct CheckLinkTests {
  // MARK: Links

  @Test func linksToNoObjectAreFound() throws {
    let fixture = try CheckFixture()
    let item = fixture.items[1]
    try fixture.plant { session in
      // Afterwards only the folder's list and the hidden lists of its references contain it.
      _ = try session.detach(item, try fixture.code("Item", "folder"), fixture.folder)
      _ = try session.detach(fixture.tag, try fixture.code("Tag", "items"), item)
      let favorite = try fixture.referrers("Item", "favorite", of: fixture.tag)
      _ = try session.storage.removeUnordered(favorite, item)
      for tag in try session.members(item, try session.entity(of: item).relationship("tags")) {
        _ = try session.detach(tag, try fixture.code("Tag", "items"), item)
      }
      let entity = try session.load(item)
      try IndexEntries.remove(item, entity, in: &session)
      let key = ShortKey.object(item)
      try session.storage.delete(entity.table, key.bytes)
      session.changes.noteDelete(item)
    }
    try fixture.expect("danglingLink Folder/\(fixture.folder.serial) items")
  }

  @Test func referrersThatDoNotExistAreFound() throws {
    let fixture = try CheckFixture()
    let list = try fixture.referrers("Item", "favorite", of: fixture.tag)
    let nobody = ObjectID(rootCode: fixture.folder.rootCode, serial: 999)
    try fixture.plant { session in _ = try session.storage.insertUnordered(list, nobody) }
    try fixture.expect("danglingLink Tag/\(fixture.tag.serial) favorite")
  }

  @Test func membersOfOtherEntitiesAreFound() throws {
    let fixture = try CheckFixture()
    let (item, other) = (fixture.items[4], fixture.items[5])
    try fixture.plant { session in
      _ = try session.detach(fixture.folder, try fixture.code("Folder", "items"), item)
    }
    let relationship = try fixture.store.schema.entity("Item").relationship("folder")
    try fixture.plant { session in
      let entity = try session.load(item)
      try IndexEntries.remove(item, entity, in: &session)
      session.scratch.setToOne(relationship.field, other)
      try session.store(item, entity)
      try IndexEntries.add(item, entity, in: &session)
    }
    try fixture.expect("wrongDestination Item/\(item.serial) folder")
  }

  @Test(arguments: [
    ("Folder", "items"), ("Folder", "sorted"), ("Item", "folder"), ("Item", "sortedIn"), ("Item", "tags"),
    ("Tag", "items"),
  ])
  func linksOfOneSideAreFound(_ entity: String, _ relationship: String) throws {
    let fixture = try CheckFixture()
    let sides: [String: (ObjectID, ObjectID)] = [
      "Folder.items": (fixture.folder, fixture.items[0]), "Folder.sorted": (fixture.folder, fixture.items[0]),
      "Item.folder": (fixture.items[0], fixture.folder), "Item.sortedIn": (fixture.items[0], fixture.folder),
      "Item.tags": (fixture.items[0], fixture.tag), "Tag.items": (fixture.tag, fixture.items[0]),
    ]
    let (owner, member) = try #require(sides["\(entity).\(relationship)"])
    try fixture.plant { session in
      let was = try session.detach(owner, try fixture.code(entity, relationship), member)
      #expect(was)
    }
    // The issue is reported for the side with the excess entry.
    let compiled = try fixture.store.schema.entity(entity).relationship(relationship)
    let other = compiled.description.destinationEntityName
    try fixture.expect("oneSidedLink \(other)/\(member.serial) \(compiled.description.inverseName ?? "")")
  }

  @Test func hiddenReferrersThatDifferAreFound() throws {
    let fixture = try CheckFixture()
    let favorites = try fixture.referrers("Item", "favorite", of: fixture.tag)
    try fixture.plant { session in
      let was = try session.storage.removeUnordered(favorites, fixture.items[3])
      #expect(was)
    }
    try fixture.expect("oneSidedLink Item/\(fixture.items[3].serial) favorite")
    let related = try fixture.referrers("Item", "related", of: fixture.items[0])
    try fixture.plant { session in
      _ = try session.storage.insertUnordered(favorites, fixture.items[3])
      _ = try session.storage.insertUnordered(related, fixture.items[5])
    }
    try fixture.expect("oneSidedLink Item/\(fixture.items[0].serial) related")
  }

  @Test func unreadableObjectsHideNothingElse() throws {
    let fixture = try CheckFixture()
    try fixture.tamper(record: fixture.items[0], sealed: false) { $0[40] ^= 1 }
    try fixture.plant { session in
      _ = try session.detach(fixture.items[7], try fixture.code("Item", "folder"), fixture.folder)
    }
    // Its links, index entry, blob and lists remain, as consequences of one fault.
    try fixture.expect(
      "record Thing/\(fixture.items[0].serial) -", "oneSidedLink Folder/\(fixture.folder.serial) items")
  }

  // MARK: Lists

  @Test func headsThatMiscountAreFound() throws {
    for name in ["items", "sorted"] {
      let fixture = try CheckFixture()
      try fixture.edit(fixture.folder) { record, entity in
        let field = try entity.relationship(name).field
        record.setHead(field, ListHead(count: record.view.head(field).count + 1, isChunked: true))
      }
      try fixture.expect("list Folder/\(fixture.folder.serial) \(name)")
    }
  }

  @Test func damagedAndMissingChunksAreFound() throws {
    for name in ["items", "sorted"] {
      let fixture = try CheckFixture()
      let position = name == "items" ? fixture.items[0].rawValue : ListLabel.first
      let key = try fixture.list(fixture.folder, "Folder", name).key(.chunk, position).array
      try fixture.tamper(fixture.tables.links, key) { $0[20] ^= 1 }
      // Two issues: the chunk cannot be read, and its members are missing.
      let report = try fixture.store.check()
      #expect(report.issues.allSatisfy { $0.kind == .list && $0.property == name }, "\(report.issues)")
      #expect(!report.isClean)
      try fixture.delete(fixture.tables.links, key)
      try fixture.expect("list Folder/\(fixture.folder.serial) \(name)")
    }
  }

  @Test func damagedMemberIndexesAreFound() throws {
    let fixture = try CheckFixture()
    let (folder, items) = try fixture.store.write { tx in
      var items: [ObjectID] = []
      for _ in 0..<2000 { items.append(try tx.insert("Item")) }
      return (try tx.insert("Folder", relationships: ["sorted": items]), items)
    }
    let list = try fixture.list(folder, "Folder", "sorted")
    let key = list.key(.memberIndex, items[1000].rawValue).array
    try fixture.tamper(fixture.tables.links, key) { $0[8] ^= 1 }
    try fixture.expect("list Folder/\(folder.serial) sorted")
    try fixture.delete(fixture.tables.links, key)
    let report = try fixture.store.check()
    #expect(!report.isClean)
    #expect(report.issues.allSatisfy { $0.kind == .list && $0.object == "Folder/\(folder.serial)" })
  }

  @Test func shortListsOutOfOrderAreFound() throws {
    let fixture = try CheckFixture()
    let tags = try fixture.store.schema.entity("Item").relationship("tags").field
    try fixture.edit(fixture.items[0]) { record, _ in
      try record.setInlineIDs(tags, Array(record.view.inlineIDs(tags).array.reversed()))
    }
    try fixture.expect("list Item/\(fixture.items[0].serial) tags")
    try fixture.store.unlink(fixture.folder, "sorted", Array(fixture.items.dropFirst(4)))
    let sorted = try fixture.store.schema.entity("Folder").relationship("sorted").field
    try fixture.edit(fixture.folder) { record, _ in
      let ids = record.view.inlineIDs(sorted).array
      try record.setInlineIDs(sorted, ids + [ids[0]])
    }
    try fixture.expect(
      "list Item/\(fixture.items[0].serial) tags", "list Folder/\(fixture.folder.serial) sorted")
  }

  @Test func listsWithoutAnOwnerAreFound() throws {
    let fixture = try CheckFixture()
    let items = try fixture.code("Folder", "items")
    func orphan(_ owner: ObjectID, _ code: UInt16) -> ListAddress {
      ListAddress(links: fixture.tables.links, owner: owner, relationship: code)
    }
    let nobody = ObjectID(rootCode: fixture.folder.rootCode, serial: 999)
    let lists = [
      orphan(nobody, items), orphan(fixture.folder, 999), orphan(fixture.tag, try fixture.code("Tag", "peers")),
      orphan(fixture.items[0], try fixture.code("Item", "folder")),
    ]
    try fixture.plant { session in
      for list in lists { try session.storage.writeUnordered(list, [fixture.items[0], fixture.items[1]]) }
    }
    try fixture.expect(
      "orphanList Thing/999 items", "orphanList Folder/\(fixture.folder.serial) -",
      "orphanList Tag/\(fixture.tag.serial) peers", "orphanList Item/\(fixture.items[0].serial) folder")
  }

  // MARK: Blobs

  @Test func missingLargeValuesAreFound() throws {
    let fixture = try CheckFixture()
    let serial = fixture.blob.id
    try fixture.delete(fixture.tables.blobinfo, ShortKey.blobInfo(serial).array)
    let item = "Item/\(fixture.items[0].serial)"
    try fixture.expect("missingBlob \(item) photo", "orphanBlob - -")
    try fixture.delete(fixture.tables.blobs, ShortKey.blobChunk(serial, chunk: 0).array)
    try fixture.expect("missingBlob \(item) photo")
  }

  @Test func damagedLargeValuesAreFound() throws {
    let fixture = try CheckFixture()
    let chunk = ShortKey.blobChunk(fixture.blob.id, chunk: 0).array
    let sound = try fixture.bytes(fixture.tables.blobs, chunk)
    try fixture.tamper(fixture.tables.blobs, chunk) { $0[4000] ^= 1 }
    try fixture.expect()
    let name = "Item/\(fixture.items[0].serial) photo"
    try fixture.expect("blob \(name)", options: CheckOptions(readData: true))
    // Consistent in itself, but different from the digest.
    try fixture.tamper(fixture.tables.blobs, chunk, sealed: true) { _ in }
    try fixture.expect("blob \(name)", options: CheckOptions(readData: true))
    try fixture.tamper(fixture.tables.blobs, chunk) { $0 = Array(sound.dropLast()) }
    try fixture.expect("blob \(name)")
    try fixture.delete(fixture.tables.blobs, chunk)
    try fixture.expect("blob \(name)")
    try fixture.plant { session in try session.storage.put(fixture.tables.blobs, chunk.span.bytes, sound.span.bytes) }
    try fixture.expect(options: CheckOptions(readData: true))
    try fixture.tamper(fixture.tables.blobinfo, ShortKey.blobInfo(fixture.blob.id).array) { $0[30] ^= 1 }
    try fixture.expect("blob \(name)")
  }

  @Test func wrongCountsOfLargeValuesAreFound() throws {
    let fixture = try CheckFixture()
    let tables = BlobTables(blobs: fixture.tables.blobs, blobinfo: fixture.tables.blobinfo)
    try fixture.plant { session in try session.storage.addReferences(tables, fixture.blob.id) }
    try fixture.expect("blobCount - -")
    try fixture.plant { session in try session.storage.releaseReference(fixture.tables, fixture.blob.id) }
    try fixture.expect()
    try fixture.edit(fixture.items[9]) { record, entity in
      let index = try #require(entity.attributeIndex["photo"])
      try record.setBlob(try #require(entity.attributes[index].field), fixture.blob)
    }
    try fixture.expect("blobCount - -")
  }

  @Test func unreferencedBlobsAreFound() throws {
    let fixture = try CheckFixture()
    try fixture.plant { session in
      _ = try BlobValues.create(Data(repeating: 1, count: 3000), isTransformable: false, in: &session)
    }
    try fixture.expect("orphanBlob - -")
  }

  // MARK: Indexes

  @Test func indexEntriesThatAreMissingOrDamagedAreFound() throws {
    let fixture = try CheckFixture()
    let entry = try #require(
      try fixture.entries(fixture.tables.indexes).first {
        (try? IndexKey.objectID(of: $0.key.span.bytes)) == fixture.items[4]
      })
    let item = "Item/\(fixture.items[4].serial) folder,number"
    try fixture.tamper(fixture.tables.indexes, entry.key) { $0[0] ^= 1 }
    try fixture.expect("indexEntry \(item)")
    try fixture.delete(fixture.tables.indexes, entry.key)
    try fixture.expect("missingIndexEntry \(item)")
  }

  @Test func indexEntriesWithoutAnObjectAreFound() throws {
    let fixture = try CheckFixture()
    let constraint = try #require(try fixture.store.schema.entity("Tag").constraints.first)
    func entry(_ indexID: UInt16, _ name: String, _ id: ObjectID) throws -> [UInt8] {
      var builder = IndexKeyBuilder(indexID: indexID, valueCount: 1)
      try builder.append(.string(name))
      return builder.key(id)
    }
    let keys = [
      try entry(constraint.indexID, "green", fixture.tag), try entry(99, "red", fixture.tag),
      try entry(constraint.indexID, "red", ObjectID(rootCode: fixture.tag.rootCode, serial: 99)),
    ]
    try fixture.plant { session in
      for key in keys {
        var value = [UInt8](repeating: 0, count: 8)
        value.seal(fixture.tables.indexes, key)
        try session.storage.put(fixture.tables.indexes, key.span.bytes, value.span.bytes)
      }
    }
    let tag = "Tag/\(fixture.tag.serial)"
    try fixture.expect("staleIndexEntry \(tag) name", "staleIndexEntry \(tag) -", "staleIndexEntry Tag/99 -")
  }

  @Test func valuesThatAreNotUniqueAreFound() throws {
    let fixture = try CheckFixture()
    let long = String(repeating: "x", count: 600)
    let ids = try fixture.store.write { tx in
      [
        try tx.insert("Tag", ["name": .string(long + "a")]), try tx.insert("Tag", ["name": .string(long + "b")]),
        try tx.insert("Tag", ["name": .string("green")]),
      ]
    }
    try fixture.expect()
    func rename(_ id: ObjectID, _ name: String) throws {
      try fixture.plant { session in
        let entity = try session.load(id)
        try IndexEntries.remove(id, entity, in: &session)
        let index = try #require(entity.attributeIndex["name"])
        try session.scratch.set(try #require(entity.attributes[index].field), .string(name))
        try session.store(id, entity)
        try IndexEntries.add(id, entity, in: &session)
      }
    }
    try rename(ids[2], "red")
    try fixture.expect("duplicateValues Tag/\(ids[2].serial) name")
    try rename(ids[2], long + "b")
    try fixture.expect("duplicateValues Tag/\(ids[2].serial) name")
  }

  // MARK: Any corruption

  /// `check` reports any changed byte of any value. With a recomputed checksum it may miss the change, but never traps.
  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func everyChangedByteIsFound(_ seed: UInt64) throws {
    let fixture = try CheckFixture()
    var random = SeededGenerator(seed: seed)
    let schema = fixture.store.schema
    let tables =
      [
        fixture.tables.metadata, fixture.tables.links, fixture.tables.blobs, fixture.tables.blobinfo,
        fixture.tables.indexes,
      ] + schema.rootCodes.compactMap { schema.objectTable(rootCode: $0) }
    let contents = try tables.map { try fixture.entries($0) }
    for round in 0..<150 {
      let index = random.below(tables.count)
      let entry = contents[index][random.below(contents[index].count)]
      var value = entry.value
      let isSealed = random.chance(in: 2)
      switch random.below(8) {
      case 0: value.removeLast(1 + random.below(value.count))
      case 1: value.append(0)
      default: value[random.below(value.count)] ^= 1 << UInt8(random.below(8))
      }
      if isSealed { value.seal(tables[index], entry.key) }
      // In a transaction that is rolled back, so that each round starts with a sound store.
      var session = try fixture.store.writeSession(label: "damage")
      try session.storage.put(tables[index], entry.key.span.bytes, value.span.bytes)
      let run = CheckRun(schema: schema, options: CheckOptions(readData: true))
      try StoreChecker(session).check(run)
      if isSealed { continue }
      #expect(!run.damages.isEmpty, "seed \(seed), round \(round), table \(tables[index].code.name ?? "")")
    }
    try fixture.expect()
  }
}
