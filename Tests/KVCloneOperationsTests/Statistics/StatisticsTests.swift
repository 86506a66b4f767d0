import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// Space usage: every page has one owner, and every number agrees with the objects.
@Suite("Statistics") struct StatisticsTests {
  /// Checks that every byte of every page counts once, and that the pages agree with LMDB's own audit.
  private func adds(_ store: ObjectStore, sourceLocation: SourceLocation = #_sourceLocation) throws -> DeepStatistics {
    let deep = try store.deepStatistics()
    let summary = deep.summary
    let total = UInt64(summary.pageCount) * UInt64(summary.pageSize)
    #expect(deep.spaceUsage.reduce(0) { $0 + $1.byteCount } == total, sourceLocation: sourceLocation)
    #expect(!deep.spaceUsage.contains { $0.kind == .unknown }, sourceLocation: sourceLocation)
    for fill in deep.pageUtilization {
      let bytes = UInt64(fill.pageCount * summary.pageSize)
      #expect(
        fill.contentBytes + fill.overheadBytes + fill.unusedBytes == bytes, "\(fill.name)",
        sourceLocation: sourceLocation)
      #expect(fill.compactedPageCount <= fill.pageCount, "\(fill.name)", sourceLocation: sourceLocation)
    }
    let audit = try #require(store.engine.files?.environment).auditPages()
    #expect(audit.isConsistent && audit.total == summary.pageCount, sourceLocation: sourceLocation)
    #expect(audit.free == summary.freePages.count, sourceLocation: sourceLocation)
    let cheap = try store.statistics()
    // All values except the ages of readers, which increase.
    #expect(cheap.tables == summary.tables && cheap.counts == summary.counts, sourceLocation: sourceLocation)
    #expect(
      cheap.freePages == summary.freePages && cheap.pageCount == summary.pageCount, sourceLocation: sourceLocation)
    #expect(
      cheap.commit == summary.commit && cheap.fileBytes == summary.fileBytes
        && cheap.snapshotCount == summary.snapshotCount && cheap.readerCount == summary.readerCount,
      sourceLocation: sourceLocation)
    try checked(store)
    return deep
  }

  /// Options that share tags, because their names are unique.
  private static var sharingTags: CloneOptions {
    var options = CloneOptions()
    options.rules["Item.favorite"] = .reference
    return options
  }

  @Test(.needsDataFile(.statistics)) func everyPageIsAttributed() throws {
    var options = StoreOptions()
    options.tracksHistory = true
    let test = try TestStore(CheckFixture.model, options: options)
    let store = test.store
    _ = try adds(store)
    let (folder, items) = try store.write { tx in
      let tags = try (0..<3).map { try tx.insert("Tag", ["name": .string("tag \($0)")]) }
      let folder = try tx.insert("Folder")
      var items: [ObjectID] = []
      for number in 0..<300 {
        let photo = Data(repeating: UInt8(truncatingIfNeeded: number), count: 900 + number * 40)
        items.append(
          try tx.insert(
            "Item", ["number": .decimal(Decimal(number)), "photo": number % 3 == 0 ? .binary(photo) : nil],
            relationships: ["folder": [folder], "tags": tags, "favorite": [tags[0]]]))
      }
      try tx.setMembers(folder, "sorted", items.reversed())
      // A record that does not fit into one page.
      try tx.set(items[1], "title", .string(String(repeating: "long ", count: 4000)))
      return (folder, items)
    }
    _ = try adds(store)
    _ = try store.clone([folder], options: Self.sharingTags)
    try store.createSnapshot(named: "before")
    _ = try adds(store)
    try store.delete(Array(items.prefix(100)))
    try store.set(items[200], "photo", .binary(Data(repeating: 3, count: 3_000_000)))
    let deep = try adds(store)
    #expect(deep.preimages.contains { $0.name == "Thing" && $0.count > 0 })
    #expect(Set(deep.spaceUsage.map(\.kind)).isSuperset(of: [.objects, .lists, .blobs, .indexes, .history]))
    #expect(Set(deep.spaceUsage.map(\.kind)).isSuperset(of: [.preimages, .snapshots, .metadata, .free, .unused]))
    #expect(deep.summary.snapshotCount == 1 && deep.summary.tables.contains { $0.name == "Thing" && $0.hasObjects })
    try store.deleteSnapshot(named: "before")
    let after = try adds(store)
    #expect(!after.preimages.contains { $0.name == "blobs" || $0.name == "Thing" })
  }

  @Test(.needsDataFile(.statistics)) func numbersAreWhatTheObjectsSay() throws {
    let fixture = try CheckFixture()
    let store = fixture.store
    let deep = try adds(store)
    let counts = Dictionary(uniqueKeysWithValues: deep.entities.map { ($0.name, $0.objectCount) })
    #expect(counts == ["Folder": 2, "Item": 20, "Tag": 2] && deep.summary.counts == counts)
    #expect(deep.summary.objectCount == 24)
    func relationship(_ entity: String, _ name: String, hidden: Bool = false) throws -> RelationshipStatistics {
      try #require(deep.relationships.first { $0.entity == entity && $0.name == name && $0.isHidden == hidden })
    }
    // 20 items: more than fit into a record.
    let items = try relationship("Folder", "items")
    #expect(items.memberCount == 20 && items.chunkedListCount == 1 && items.chunkBytes == 19 + 12 + 20 * 8)
    #expect(items.inlineBytes == 2 * 8)
    let tags = try relationship("Item", "tags")
    #expect(tags.memberCount == 6 && tags.chunkBytes == 0 && tags.inlineBytes == 20 * 8 + 6 * 8)
    #expect(try relationship("Item", "folder").memberCount == 20)
    #expect(try relationship("Item", "favorite").inlineBytes == 20 * 8)
    let referrers = try relationship("Item", "favorite", hidden: true)
    #expect(referrers.memberCount == 20 && referrers.chunkBytes == 19 + 12 + 20 * 8)
    #expect(referrers.title == "referrers by Item.favorite")
    let unique = try #require(deep.indexes.first { $0.entity == "Tag" })
    #expect(unique.name == "name" && unique.isUnique && unique.entryCount == 2)
    #expect(deep.indexes.first { $0.entity == "Item" }?.entryCount == 20)
    let objectBytes = deep.spaceUsage.filter { $0.kind == .objects }.reduce(0) { $0 + $1.byteCount }
    #expect(objectBytes == deep.entities.reduce(0) { $0 + $1.byteCount })
    #expect(deep.entities.allSatisfy { $0.meanByteCount > 40 })
  }

  @Test(.needsDataFile(.statistics)) func sharedValuesCountOnce() throws {
    let fixture = try CheckFixture()
    let store = fixture.store
    let data = Data((0..<9000).map { UInt8(truncatingIfNeeded: $0) })
    try store.set(fixture.items[3], "photo", .binary(data))
    try store.write { tx in
      for id in fixture.items.prefix(4) { try tx.set(id, "number", nil) }
      _ = try tx.clone([fixture.items[0]], options: Self.sharingTags)
      _ = try tx.clone([fixture.items[0]], options: Self.sharingTags)
    }
    var photos = try #require(try adds(store).blobs.first)
    #expect(photos.entity == "Item" && photos.attribute == "photo")
    #expect(photos.count == 2 && photos.byteCount == 14_000 && photos.referenceCount == 4)
    #expect(photos.sharedCount == 1 && photos.savedBytes == 10_000)
    // A key of 12 bytes and a checksum of 8 for each chunk, and a description of 8 + 40.
    #expect(photos.storedBytes == 14_000 + 2 * (20 + 48))
    #expect(photos.histogram.filter { $0.count > 0 }.map(\.upTo) == [16 << 10])
    // Data visible only in a snapshot is a preimage; data that is not visible at all is deleted.
    try store.createSnapshot(named: "a")
    try store.set(fixture.items[3], "photo", nil)
    let deep = try adds(store)
    photos = try #require(deep.blobs.first)
    #expect(photos.count == 1 && photos.savedBytes == 10_000)
    let previous = try #require(deep.preimages.first { $0.name == "blobs" })
    #expect(previous.byteCount == 9000 + 20)
    try store.deleteSnapshot(named: "a")
    #expect(try !adds(store).preimages.contains { $0.name == "blobs" })
  }

  @Test(.needsDataFile(.statistics)) func uploadsAreMetadata() throws {
    let test = try TestStore(CheckFixture.model)
    let staged = try test.store.stageBlob { writer in try writer.append(Data(repeating: 1, count: 2_000_000)) }
    let deep = try test.store.deepStatistics()
    let uploads = try #require(deep.spaceUsage.first { $0.name == "uploads" })
    #expect(uploads.kind == .metadata && uploads.byteCount > 2_000_000)
    withExtendedLifetime(staged) {}
  }

  @Test(.needsDataFile(.statistics)) func compactionMatchesItsEstimate() throws {
    let test = try TestStore(CheckFixture.model)
    let store = test.store
    let ids = try store.insert("Item", count: 2000)
    try store.delete(stride(from: 0, to: ids.count, by: 3).map { ids[$0] })
    _ = try store.insert("Tag", ["name": .string("last")])
    let deep = try adds(store)
    let result = try store.backup(to: test.root + "/copy")
    // The number of branch pages is estimated.
    #expect(abs(result.pageCount - deep.compactedPageCount) <= 2, "\(result.pageCount) \(deep.compactedPageCount)")
    #expect(deep.compactionSavings > 0 && deep.fragmentation > 0.1 && deep.fragmentation < 1)
  }

  @Test(.needsDataFile(.statistics)) func abortedPagesAreBehindTheLastPage() throws {
    var options = StoreOptions()
    options.spillBudget = 1 << 20
    let test = try TestStore(CheckFixture.model, options: options)
    #expect(try test.store.statistics().tailBytes == 0)
    struct GivenUp: Error {}
    #expect(throws: GivenUp.self) {
      try test.store.write { tx in
        try tx.insert("Item", ["photo": .binary(Data(repeating: 1, count: 8 << 20))])
        throw GivenUp()
      }
    }
    let summary = try adds(test.store).summary
    #expect(summary.tailBytes > 1 << 20)
    #expect(summary.fileBytes == UInt64(summary.pageCount * summary.pageSize) + summary.tailBytes)
  }

  @Test(.needsDataFile(.statistics)) func readersHoldFreePages() throws {
    let fixture = try CheckFixture()
    let store = fixture.store
    #expect(try store.statistics().freePages.held == 0)
    let snapshot = try store.pinnedSnapshot(owner: "report")
    for number in 0..<5 { try store.set(fixture.items[number], "isDone", .boolean(false)) }
    let held = try adds(store).summary
    #expect(held.freePages.held > 0 && held.readerCount == 1)
    let oldest = try #require(held.oldestReader)
    #expect(oldest.owner == "report" && oldest.lag == 5)
    #expect(oldest.retainedBytes == UInt64(held.freePages.held * held.pageSize))
    snapshot.close()
    let free = try store.statistics()
    #expect(free.freePages.held == 0 && free.oldestReader == nil)
    #expect(free.freePages.count == held.freePages.count)
  }

  @Test func theWriterIsNamed() throws {
    let fixture = try CheckFixture()
    let store = fixture.store
    #expect(store.writeLockHolder == nil)
    let before = Date(timeIntervalSinceNow: -1)
    try store.write(label: "nightly") { tx in
      let holder = try #require(store.writeLockHolder)
      #expect(holder.isThisProcess)
      // In a cluster, that of the server's process.
      #expect(holder.processID == ProcessInfo.processInfo.processIdentifier || !TestStore.hasDataFile)
      #expect(holder.label == "nightly" && holder.since > before && holder.age < .seconds(600))
      #expect(!holder.processName.isEmpty)
      _ = try tx.insert("Tag", ["name": .string("x")])
    }
    #expect(store.writeLockHolder == nil)
  }

  @Test(.needsDataFile(.lockFile)) func anotherProcessIsNamedToo() throws {
    let test = try TestStore(CheckFixture.model)
    let peer = try PeerProcess("hold", [test.location, "reindex"])
    #expect(peer.hear() == "holding")
    let holder = try #require(try test.store.statistics().writer)
    #expect(holder.processID == peer.process.processIdentifier && holder.label == "reindex" && !holder.isThisProcess)
    let error = expectError(.busy) { _ = try test.store.write(timeout: .zero) { tx in try tx.insert("Item") } }
    let message = try #require(error?.message)
    #expect(message.contains("process \(holder.processID)") && message.contains("“reindex”"), "\(message)")
    let since = holder.since.formatted(.iso8601)
    #expect(message.contains("since \(since)"), "\(message)")
    try peer.tell("end")
    #expect(try peer.finish() == 0)
    #expect(test.store.writeLockHolder == nil)
  }

  @Test(.needsDataFile(.statistics)) func aWalkIsFollowedAndCancelled() throws {
    let fixture = try CheckFixture()
    let store = fixture.store
    try store.write { tx in
      let title = String(repeating: "x", count: 1500)
      for _ in 0..<1500 { try tx.insert("Item", ["title": .string(title)]) }
    }
    let last = Seen()
    _ = try store.deepStatistics(progress: { last.note(UInt64($0.completed)) })
    #expect(last.value >= 1 << 20)
    let cancellation = Cancellation()
    cancellation.cancel()
    expectError(.cancelled) { _ = try store.deepStatistics(cancellation: cancellation) }
  }

  @Test(.needsDataFile(.statistics)) func asynchronously() async throws {
    let fixture = try CheckFixture()
    let deep = try await fixture.store.deepStatistics()
    #expect(deep.summary.objectCount == 24)
  }

  @Test(.needsDataFile(.bytes)) func aDamagedPageIsRefused() throws {
    let test = try TestStore(CheckFixture.model)
    _ = try test.store.insert("Item", count: 2000)
    test.store.close()
    let path = test.path + "/data.mdb"
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    // The header of a page in the middle names another page; the meta pages are kept.
    let pages = bytes.count / 4096
    for page in 10..<pages where page % 3 == 0 { bytes[page * 4096] ^= 0x55 }
    try bytes.write(to: URL(fileURLWithPath: path))
    chmod(path, 0o600)
    guard let store = try? test.openAgain() else { return }
    defer { store.close() }
    let error = expectError(.corrupted) { _ = try store.deepStatistics() }
    #expect(error?.message.contains("`check`") == true)
  }
}

/// The largest reported number.
private final class Seen: @unchecked Sendable {
  private let lock = NSLock()
  private var greatest: UInt64 = 0

  func note(_ value: UInt64) { lock.withLock { greatest = max(greatest, value) } }
  var value: UInt64 { lock.withLock { greatest } }
}
