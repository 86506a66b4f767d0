import Foundation
import KVCloneLMDB
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// The readers of a store, and the pages that they retain.
@Suite("Active readers") struct PinnedReaderListTests {
  @Test(.needsDataFile(.lockFile)) func listsThisProcesssReaders() throws {
    let (test, ids) = try TestStore.pinned()
    let store = test.store
    // A pooled reader that is idle does not count.
    _ = try store.info()
    #expect(try store.activeReaders().isEmpty)
    let named = try store.pinnedSnapshot(owner: "report")
    try store.set(ids[0], "balance", .integer(1))
    let unnamed = try store.pinnedSnapshot()
    try store.set(ids[0], "balance", .integer(2))
    try store.set(ids[0], "balance", .integer(3))
    let readers = try store.read { _ in try store.activeReaders() }
    #expect(readers.map(\.kind) == [.pinned, .pinned, .transaction])
    #expect(readers.map(\.lag) == [3, 2, 0])
    #expect(readers.map(\.owner) == ["report", readers[2].owner, readers[2].owner] && !readers[2].owner.isEmpty)
    #expect(readers.allSatisfy { $0.processID == ProcessInfo.processInfo.processIdentifier && $0.isThisProcess })
    #expect(readers.allSatisfy { !$0.isStale && ($0.age ?? .seconds(-1)) >= .zero })
    #expect(readers[0].thread != nil && readers[0].thread == readers[1].thread && readers[2].thread == nil)
    let retained = readers.map { $0.retainedBytes ?? 0 }
    #expect(retained[0] > retained[1] && retained[1] > 0 && retained[2] == 0)
    let age = try #require(readers[0].age)
    #expect(age <= named.age)
    withExtendedLifetime(unnamed) {}
  }

  /// More readers than pooled slots.
  @Test(.needsDataFile(.lockFile)) func listsManyReads() throws {
    let (test, _) = try TestStore.pinned()
    func nested(_ depth: Int) throws -> [ActiveReader] {
      if depth == 0 { return try test.store.activeReaders() }
      return try test.store.read { _ in try nested(depth - 1) }
    }
    let readers = try nested(30)
    #expect(readers.count == 30 && readers.allSatisfy { $0.kind == .transaction && $0.age != nil })
    #expect(try test.store.activeReaders().isEmpty)
  }

  /// Retained pages become reusable when the reader ends, and not before.
  @Test(.needsDataFile(.lockFile), arguments: PropertySeeds.seeds) func retainedBytesAreWhatEndingGives(_ seed: UInt64)
    throws
  {
    var random = SeededGenerator(seed: seed)
    let (test, ids) = try TestStore.pinned(8)
    let store = test.store
    func write(_ kilobytes: Int) throws {
      try store.set(ids[random.below(8)], "data", .binary(Data(count: kilobytes << 10)))
    }
    for _ in 0..<10 { try write(4 + random.below(200)) }
    for round in 0..<6 {
      let snapshot = try store.pinnedSnapshot()
      for _ in 0..<1 + random.below(8) { try write(4 + random.below(300)) }
      let reader = try #require(try store.activeReaders().first)
      let retained = try #require(reader.retainedBytes)
      let environment = try #require(store.engine.files?.environment)
      let info = try environment.info()
      // The library can reuse the pages that it need not add to the file.
      let free = UInt64(try environment.freePageCount()) * 4096
      let lastFreed = try #require(store.engine.space).lastFreedByteCount()
      #expect(retained <= free - lastFreed, "seed \(seed), round \(round)")
      snapshot.close()
      #expect(try store.activeReaders().isEmpty)
      // Less than that, minus the needs of a commit: the file does not grow.
      let large = Int(retained >> 10) - 200
      if large > 0 {
        var left = large
        while left > 0 {
          // Values that need no consecutive pages, and so small that most of a commit is branch pages.
          try store.write { tx in
            for _ in 0..<8 { try tx.insert("Account", ["data": .binary(Data(count: 1000))]) }
          }
          left -= 128
        }
        #expect(try environment.info().lastPage == info.lastPage, "seed \(seed), round \(round)")
      }
      try checked(store)
    }
  }

  @Test(.needsDataFile(.lockFile)) func withoutHistoryTheAgeOfOthersIsNotKnown() throws {
    try others(tracksHistory: false)
  }

  @Test(.needsDataFile(.lockFile)) func withHistoryTheAgeOfOthersIsALeastOne() throws {
    try others(tracksHistory: true)
  }

  private func others(tracksHistory: Bool) throws {
    var options = StoreOptions()
    options.tracksHistory = tracksHistory
    let (test, ids) = try TestStore.pinned(options: options)
    let store = test.store
    let peer = try PeerProcess("pin", [test.location, "theirs"])
    let commit = try store.info().commit
    #expect(peer.hear() == "\(commit)")
    var readers = try store.activeReaders()
    #expect(readers.count == 1 && readers[0].lag == 0 && readers[0].age == nil && readers[0].retainedBytes == 0)
    let before = Date()
    for number in 1...5 { try store.set(ids[0], "balance", .integer(Int64(number))) }
    readers = try store.activeReaders()
    let reader = try #require(readers.first)
    #expect(readers.count == 1 && reader.processID == peer.process.processIdentifier && !reader.isThisProcess)
    #expect(reader.owner == "KVClonePeer" && reader.kind == .unknown && reader.thread != nil)
    #expect(reader.lag == 5 && (reader.retainedBytes ?? 0) > 0 && !reader.isStale)
    #expect((reader.age != nil) == tracksHistory)
    if let age = reader.age { #expect(age >= .zero && age <= .seconds(Date().timeIntervalSince(before))) }
    #expect(try store.clearStaleReaders() == 0)
    peer.kill()
    let dead = try #require(try store.activeReaders().first)
    #expect(dead.isStale && dead.owner.isEmpty && dead.lag == 5)
    // The slot of its snapshot, and the idle one of its opening.
    #expect(try store.clearStaleReaders() == 2)
    #expect(try store.clearStaleReaders() == 0)
    #expect(try store.activeReaders().isEmpty)
    try checked(store)
  }

  @Test(.needsDataFile(.lockFile)) func readOnlyStores() throws {
    let (test, _) = try TestStore.pinned()
    var options = StoreOptions()
    options.isReadOnly = true
    try test.reopen(options: options)
    let snapshot = try test.store.pinnedSnapshot(owner: "reader")
    #expect(try test.store.activeReaders().map(\.owner) == ["reader"])
    let peer = try PeerProcess("insert", [test.location, "Account"])
    #expect(peer.hear() == "open")
    try peer.tell("go")
    #expect(peer.hear() == "2")
    let found1 = try snapshot.read { tx in try tx.count(entity: "Account") }
    #expect(found1 == 1)
    let readers = try test.store.activeReaders()
    #expect(readers.map(\.lag) == [1] && readers[0].isThisProcess)
    #expect(try peer.finish() == 0)
    #expect(try test.store.clearStaleReaders() == 0)
  }

  @Test(.needsDataFile(.lockFile)) func whenAllPlacesAreTaken() throws {
    var options = StoreOptions()
    options.maximumReaders = 4
    options.pinnedSnapshotLimit = 10
    let test = try TestStore(pinnedModel, options: options)
    try test.reopen(options: options)
    var pinned: [PinnedSnapshot] = []
    // The slots that were used before stay pooled.
    while let next = try? test.store.pinnedSnapshot(owner: "greedy") { pinned.append(next) }
    expectError(.readersFull) { _ = try test.store.pinnedSnapshot() }
    #expect(pinned.count == 3)
    let readers = try test.store.read { _ in try test.store.activeReaders() }
    #expect(readers.count == 4 && readers.allSatisfy { $0.retainedBytes == nil })
    pinned.removeLast()
    #expect(try test.store.activeReaders().count == 2)
  }

  @Test func anEngineWithoutReaderListReportsPinnedSnapshots() throws {
    let engine = MemoryStorage()
    try ObjectStore.create(in: engine, model: pinnedModel).close()
    engine.reopen()
    let store = try StoreOpening.assemble(engine, path: "engine", model: nil, options: StoreOptions())
    let id = try store.insert("Account", ["balance": .integer(1)])
    #expect(try store.activeReaders().isEmpty)
    let snapshot = try store.pinnedSnapshot(owner: "memory")
    try store.set(id, "balance", .integer(2))
    let found2 = try snapshot.read { tx in try tx.value(id, "balance") }
    #expect(found2 == .integer(1))
    let readers = try store.activeReaders()
    #expect(readers.map(\.owner) == ["memory"] && readers[0].lag == 1 && readers[0].retainedBytes == nil)
    #expect(try store.clearStaleReaders() == 0)
    store.close()
    expectError(.closed) { try snapshot.read { _ in } }
  }
}
