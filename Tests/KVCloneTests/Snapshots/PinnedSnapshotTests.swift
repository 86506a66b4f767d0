import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

let pinnedModel = ManagedObjectModel("Pinned") {
  EntityDescription("Account") {
    AttributeDescription("balance", .integer64, default: 0)
    AttributeDescription("data", .binary)
  }
}

extension TestStore {
  /// Creates a store with `count` accounts, each with a balance of 100.
  static func pinned(_ count: Int = 1, options: StoreOptions = StoreOptions()) throws -> (TestStore, [ObjectID]) {
    let test = try TestStore(pinnedModel, options: options)
    let ids = try test.store.write { tx in
      var ids: [ObjectID] = []
      for _ in 0..<count { ids.append(try tx.insert("Account", ["balance": .integer(100)])) }
      return ids
    }
    return (test, ids)
  }

  /// Waits until no slot in the reader table is in use, without a call to the store, which would close expired
  /// snapshots itself.
  func waitForNoReader() throws {
    let environment = try #require(store.engine.files?.environment)
    for _ in 0..<6000 {
      if try environment.activeReaders().isEmpty { return }
      usleep(10_000)
    }
    Issue.record("the snapshot is still pinned")
  }
}

/// Snapshots that stay open across reads.
@Suite("Pinned snapshots") struct PinnedSnapshotTests {
  static func balance(_ snapshot: PinnedSnapshot, _ id: ObjectID) throws -> AttributeValue? {
    try snapshot.read { tx in try tx.value(id, "balance") }
  }

  @Test func showsOneStateToAllThreadsAndTasks() async throws {
    let (test, ids) = try TestStore.pinned()
    let store = test.store
    let snapshot = try store.pinnedSnapshot(owner: "report")
    let commit = try store.info().commit
    #expect(snapshot.owner == "report" && snapshot.commit == commit && !snapshot.isExpired)
    try await withThrowingTaskGroup(of: Int64?.self) { group in
      for number in 1...20 {
        _ = try await store.write { tx in
          try tx.set(ids[0], "balance", .integer(Int64(number)))
          return try tx.insert("Account")
        }
        group.addTask {
          try await snapshot.read { tx in
            let count = try tx.count(entity: "Account")
            #expect(count == 1)
            guard case .integer(let balance) = try tx.value(ids[0], "balance") else { return nil }
            return balance
          }
        }
      }
      for try await balance in group { #expect(balance == 100) }
    }
    let later = try store.pinnedSnapshot()
    #expect(later.commit == snapshot.commit + 20)
    snapshot.close()
    let found1 = try await later.read { tx in try tx.count(entity: "Account") }
    #expect(found1 == 21)
    try checked(store)
  }

  @Test func readsWithinReads() throws {
    let (test, ids) = try TestStore.pinned(3)
    let snapshot = try test.store.pinnedSnapshot()
    let count = try snapshot.read { outer in
      var count = 0
      try outer.forEachObject(of: "Account") { object in
        let inner = try snapshot.read { tx in try tx.value(object.id, "balance") }
        #expect(inner == .integer(100))
        count += 1
        return true
      }
      // Concurrent writes do not change it.
      try test.store.set(ids[0], "balance", .integer(1))
      let outside = try outer.value(ids[0], "balance")
      #expect(outside == .integer(100))
      return count
    }
    #expect(count == 3)
    try checked(test.store)
  }

  @Test func closedOnesAreClosed() throws {
    let (test, ids) = try TestStore.pinned()
    let snapshot = try test.store.pinnedSnapshot(owner: "x")
    snapshot.close()
    snapshot.close()
    let error = expectError(.closed) { _ = try Self.balance(snapshot, ids[0]) }
    #expect(error?.message.contains("“x”") == true)
    #expect(!snapshot.isExpired)
    do {
      let forgotten = try test.store.pinnedSnapshot()
      #expect(try test.store.activeReaders().count == 1)
      #expect(try Self.balance(forgotten, ids[0]) == .integer(100))
    }
    #expect(try test.store.activeReaders().isEmpty)
  }

  @Test func aReadContinuesWhenItsSnapshotEnds() throws {
    let (test, ids) = try TestStore.pinned(100)
    let store = test.store
    let closing = try store.pinnedSnapshot()
    try closing.read { tx in
      closing.close()
      for id in ids { try store.set(id, "balance", .integer(0)) }
      for id in ids {
        let balance = try tx.value(id, "balance")
        #expect(balance == .integer(100))
      }
      expectError(.closed) { try closing.read { _ in } }
      // In a cluster, only snapshots that are open are listed.
      #expect(try store.activeReaders().count == (TestStore.hasDataFile ? 1 : 0))
    }
    #expect(try store.activeReaders().isEmpty)
    let expiring = try store.pinnedSnapshot(maximumAge: .seconds(3))
    try expiring.read { tx in
      while !expiring.isExpired { usleep(1000) }
      // The timer fires, too.
      usleep(20_000)
      for id in ids { try store.set(id, "balance", .integer(7)) }
      for id in ids {
        let balance = try tx.value(id, "balance")
        #expect(balance == .integer(0))
      }
    }
    expectError(.snapshotExpired) { try expiring.read { _ in } }
    let last = try store.pinnedSnapshot()
    try last.read { tx in
      store.close()
      for id in ids {
        let balance = try tx.value(id, "balance")
        #expect(balance == .integer(7))
      }
    }
    expectError(.closed) { try last.read { _ in } }
    expectError(.closed) { _ = try store.pinnedSnapshot() }
    if TestStore.hasDataFile { expectError(.closed) { _ = try store.activeReaders() } }
    // The file was released and can be reopened.
    try test.reopen()
    try checked(test.store)
  }

  @Test(.needsDataFile(.lockFile)) func expiryFreesPagesWithoutReaders() throws {
    let (test, ids) = try TestStore.pinned()
    let store = test.store
    let snapshot = try store.pinnedSnapshot(owner: "forgotten", maximumAge: .milliseconds(50))
    let kept = try store.pinnedSnapshot()
    kept.close()
    try test.waitForNoReader()
    #expect(snapshot.isExpired)
    let error = expectError(.snapshotExpired) { _ = try Self.balance(snapshot, ids[0]) }
    #expect(error?.message.contains("“forgotten”") == true && error?.message.contains("50 ms") == true)
    #expect(error?.kindName == "snapshotExpired")
    snapshot.close()
    // Successively: the timer is created, cancelled, and created again.
    for age in [1, 30, 0, 2] {
      let next = try store.pinnedSnapshot(maximumAge: .milliseconds(age))
      try test.waitForNoReader()
      expectError(.snapshotExpired) { try next.read { _ in } }
    }
  }

  @Test(.needsDataFile(.lockFile)) func theStoresMaximumAgeCannotBeExceeded() throws {
    var options = StoreOptions()
    options.pinnedSnapshotMaximumAge = .milliseconds(1)
    let (test, _) = try TestStore.pinned(options: options)
    let snapshot = try test.store.pinnedSnapshot(maximumAge: .seconds(1_000_000))
    try test.waitForNoReader()
    expectError(.snapshotExpired) { try snapshot.read { _ in } }
    // Without a maximum age, and with one beyond the range of the clock.
    options.pinnedSnapshotMaximumAge = nil
    try test.reopen(options: options)
    let unlimited = try test.store.pinnedSnapshot()
    let long = try test.store.pinnedSnapshot(maximumAge: .seconds(Int64.max))
    #expect(!unlimited.isExpired && !long.isExpired)
    let found2 = try unlimited.read { tx in try tx.count(entity: "Account") }
    #expect(found2 == 1)
  }

  @Test func oneTooManyNamesTheOldest() throws {
    var options = StoreOptions()
    options.pinnedSnapshotLimit = 3
    let (test, _) = try TestStore.pinned(options: options)
    let store = test.store
    var pinned = try ["first", "second", "third"].map { try store.pinnedSnapshot(owner: $0) }
    let error = expectError(.tooManySnapshots) { _ = try store.pinnedSnapshot() }
    #expect(error?.message.contains("“first”") == true)
    pinned.removeFirst()
    pinned.append(try store.pinnedSnapshot(maximumAge: .milliseconds(1)))
    // An expired snapshot frees its slot, even if it is still referenced.
    while !pinned[2].isExpired { usleep(1000) }
    let another = try store.pinnedSnapshot()
    let found3 = try another.read { tx in try tx.count(entity: "Account") }
    #expect(found3 == 1)
    pinned[0].close()
    _ = try store.pinnedSnapshot()
  }

  @Test func aSnapshotOutlivesTheReferenceToItsStore() throws {
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    var store: ObjectStore? = try ObjectStore.create(at: root + "/store", model: pinnedModel)
    let id = try store?.insert("Account", ["balance": .integer(5)])
    weak let weakStore = store
    let snapshot = try store?.pinnedSnapshot(maximumAge: .seconds(3))
    store = nil
    #expect(weakStore == nil)
    let value = try snapshot?.read { tx in try tx.value(try #require(id), "balance") }
    #expect(value == .integer(5))
    // Its end closes the file, which can then be reopened by its name.
    for _ in 0..<6000 {
      if let again = try? ObjectStore.open(at: root + "/store") { return again.close() }
      usleep(10_000)
    }
    Issue.record("the store is still open")
  }

  @Test(.needsDataFile(.fork)) func aForkedChildLeavesItsParentsAlone() throws {
    let (test, _) = try TestStore.pinned()
    test.store.close()
    let peer = try PeerProcess("fork-pin", [test.location])
    #expect(peer.hear() == "child 0 15")
    #expect(peer.hear() == "parent")
    #expect(try peer.finish() == 0)
  }
}
