import Dispatch
import Foundation
import KVClone
import KVCloneRecords
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// The beginning and the end of a group, and operations that bypass it.
@Suite("Group commit: cancelling, bounds, other operations, closing", .serialized)
struct GroupCommitQueueTests {
  // MARK: Cancelling

  @Test("cancelling before its turn removes a write, and leaves the others")
  func cancelled() async throws {
    let fixture = try GroupCommitFixture()
    let (runs, ended) = (ContractBox<[Int]>([]), ContractBox<[Int]>([]))
    let results = try await fixture.waiting(
      12,
      whileWaiting: { tasks in
        for (number, task) in tasks.enumerated() where number % 4 == 1 { task.cancel() }
        // They report it without waiting for their turns.
        for _ in 0..<200 where ended.value.count < 3 { try await Task.sleep(for: .milliseconds(10)) }
        #expect(ended.value.sorted() == [1, 5, 9])
      }
    ) { (store, number) -> Int in
      defer { ended.change { $0.append(number) } }
      return try await store.write { tx in
        runs.change { $0.append(number) }
        try tx.insert("Marker")
        return number
      }
    }
    #expect(results.errors.keys.sorted() == [1, 5, 9])
    #expect(results.errors.values.allSatisfy { $0 is CancellationError })
    #expect(runs.value.sorted() == [0, 2, 3, 4, 6, 7, 8, 10, 11])
    #expect(try fixture.commits() == 9)
    try checked(fixture.store)
  }

  @Test("a task that is cancelled before it writes does not run its closure")
  func cancelledBefore() async throws {
    let fixture = try GroupCommitFixture()
    let store = fixture.store
    let runs = ContractBox(0)
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      try await store.write { tx in
        runs.change { $0 += 1 }
        try tx.insert("Marker")
      }
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try runs.value == 0 && fixture.commits() == 0)
  }

  @Test("cancelling while its closure runs, or while the group commits, has no effect")
  func cancelledLate() async throws {
    let fixture = try GroupCommitFixture()
    let running = ContractBox<Task<Int, any Error>?>(nil)
    let results = try await fixture.waiting(
      6, whileWaiting: { tasks in running.change { $0 = tasks[2] } }
    ) { store, number in
      try await store.write { tx in
        let id = try tx.insert("Marker")
        // The third one is cancelled in its own closure, and again when it waits for the commit.
        if number == 2 || number == 4 { running.value?.cancel() }
        return Int(id.serial)
      }
    }
    #expect(results.errors.isEmpty)
    #expect(try fixture.store.objects("Marker").count == 6)
    try checked(fixture.store)
  }

  // MARK: Bounds

  @Test("with groups off, each write commits singly")
  func off() async throws {
    let fixture = try GroupCommitFixture(options: .grouping { $0.groupCommit = .off })
    let results = try await fixture.waiting(20) { store, number in
      try await store.write { tx in
        try tx.insert("Marker")
        if number == 3 { throw SavepointRefusal() }
        return number
      }
    }
    #expect(results.errors.count == 1)
    #expect(fixture.engine.commitCount == 19)
    #expect(try fixture.commits() == 19)
  }

  @Test("a group ends at the maximum count", arguments: [2, 5])
  func maximumCount(_ maximum: Int) async throws {
    let fixture = try GroupCommitFixture(options: .grouping { $0.groupCommit.maximumCount = maximum })
    let results = try await fixture.waiting(20) { store, number in
      try await store.write { tx in
        try tx.insert("Marker")
        return number
      }
    }
    #expect(results.errors.isEmpty)
    let commits = fixture.engine.commitCount
    #expect(commits >= 20 / maximum && commits <= 20 / maximum + 2, "\(commits)")
  }

  @Test("a group ends at the number of written bytes")
  func maximumBytes() async throws {
    let fixture = try GroupCommitFixture(options: .grouping { $0.groupCommit.maximumByteCount = 100_000 })
    let results = try await fixture.waiting(20) { store, number in
      try await store.write { tx in
        try tx.insert("Marker", ["label": .string(String(repeating: "x", count: 60_000))])
        return number
      }
    }
    #expect(results.errors.isEmpty)
    // Two of them are above the bound.
    #expect(fixture.engine.commitCount >= 10 && fixture.engine.commitCount <= 20, "\(fixture.engine.commitCount)")
  }

  @Test("a group ends when it has held the lock for long enough")
  func maximumDuration() async throws {
    let fixture = try GroupCommitFixture(options: .grouping { $0.groupCommit.maximumDuration = .milliseconds(30) })
    let results = try await fixture.waiting(10) { store, number in
      try await store.write { tx in
        try tx.insert("Marker")
        Thread.sleep(forTimeInterval: 0.02)
        return number
      }
    }
    #expect(results.errors.isEmpty)
    #expect(fixture.engine.commitCount >= 4 && fixture.engine.commitCount <= 10, "\(fixture.engine.commitCount)")
  }

  // MARK: Other operations

  @Test("clones, snapshots and uploads between writes keep their order")
  func otherOperations() async throws {
    let fixture = try GroupCommitFixture()
    let made = try SavepointFixture(fixture.store)
    let results = try await fixture.waiting(16) { store, number in
      switch number % 4 {
      case 1: _ = try await store.clone([made.other])
      case 2: _ = try await store.createSnapshot(named: "s\(number)")
      case 3:
        try await store.write { tx in
          try tx.set(made.other, "tick", .integer(Int64(number)))
          throw SavepointRefusal()
        }
      default: try await store.write { tx in try tx.set(made.other, "tick", .integer(Int64(number))) }
      }
      return number
    }
    #expect(results.errors.keys.sorted() == [3, 7, 11, 15])
    let store = fixture.store
    // Each clone and each snapshot shows the write before it.
    let ticks = try store.found("Album", "title == 'second'").map { try store.value($0, "tick") }
    #expect(ticks.dropFirst() == [0, 4, 8, 12] && ticks.first == 12, "\(ticks)")
    for number in [2, 6, 10, 14] {
      let tick = try await store.snapshot(named: "s\(number)").read { tx in try tx.value(made.other, "tick") }
      #expect(tick == .integer(Int64(number - 2)))
    }
    try checked(store)
    try await store.deleteSnapshots(named: try store.snapshots().map(\.name))
    try store.expectNoPreviousStates()
  }

  @Test("snapshots that writes of a group make show the state between their predecessors and successors")
  func snapshotsInside() async throws {
    let fixture = try GroupCommitFixture()
    let made = try SavepointFixture(fixture.store)
    try await fixture.store.createSnapshot(named: "before")
    let order = ContractBox<[Int]>([])
    let results = try await fixture.waiting(20) { store, number in
      try await store.write { tx in
        try tx.set(made.album, "tick", .integer(Int64(number)))
        try tx.insert("Marker", relationships: ["album": [made.album]])
        try tx.createSnapshot(named: "s\(number)")
        try tx.set(made.album, "title", .string("after \(number)"))
        if number % 5 == 4 { throw SavepointRefusal() }
        order.change { $0.append(number) }
        return number
      }
    }
    #expect(results.errors.count == 4)
    let store = fixture.store
    #expect(try store.snapshots().map(\.name) == ["before"] + order.value.map { "s\($0)" })
    var title: AttributeValue? = "first"
    for (place, number) in order.value.enumerated() {
      let snapshot = try store.snapshot(named: "s\(number)")
      let (tick, seen, markers) = try await snapshot.read { tx in
        (try tx.value(made.album, "tick"), try tx.value(made.album, "title"), try tx.count(made.album, "markers"))
      }
      #expect(tick == .integer(Int64(number)) && seen == title && markers == place + 2, "\(number)")
      title = .string("after \(number)")
    }
    let old = try await store.snapshot(named: "before").read { tx in try tx.value(made.album, "tick") }
    #expect(old == 0)
    try checked(store)
    try await store.deleteSnapshots(named: try store.snapshots().map(\.name))
    try store.expectNoPreviousStates()
    try checked(store)
  }

  @Test("live results and the sequence of changes see each write")
  func changes() async throws {
    let fixture = try GroupCommitFixture(isOnDisk: true)
    var changes = fixture.store.changes.makeAsyncIterator()
    let results = try await fixture.waiting(30) { store, number in
      try await store.write { tx in
        tx.author = "\(number)"
        try tx.insert("Marker")
        return number
      }
    }
    #expect(results.errors.isEmpty)
    var authors: Set<String> = []
    for _ in 0..<30 {
      let told = try #require(try await changes.next())
      #expect(told.insertedCount == 1)
      authors.insert(told.author)
    }
    #expect(authors == Set((0..<30).map(String.init)))
  }

  @Test("a nested write is rejected, and the group continues")
  func nested() async throws {
    let fixture = try GroupCommitFixture()
    let results = try await fixture.waiting(6) { store, number in
      try await store.write { tx in
        try tx.insert("Marker")
        if number % 2 == 0 { expectError(.nestedWrite) { try store.write { tx in _ = try tx.insert("Marker") } } }
        return number
      }
    }
    #expect(results.errors.isEmpty)
    #expect(try fixture.commits() == 6)
    try checked(fixture.store)
  }

  @Test("synchronous writes next to asynchronous ones")
  func synchronous() async throws {
    let fixture = try GroupCommitFixture(isOnDisk: true, options: .tracking())
    let made = try SavepointFixture(fixture.store)
    let store = fixture.store
    let before = try store.info().commit
    let increment: @Sendable (inout WriteTransaction) throws -> Void = { tx in
      guard case .integer(let value)? = try tx.value(made.album, "tick") else { throw SavepointRefusal() }
      try tx.set(made.album, "tick", .integer(value + 1))
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<100 { group.addTask { try await store.write { tx in try increment(&tx) } } }
      for _ in 0..<2 {
        group.addTask {
          let isDone = DispatchSemaphore(value: 0)
          let failures = ContractBox<[String]>([])
          Thread.detachNewThread {
            for _ in 0..<50 {
              do { try store.write { tx in try increment(&tx) } } catch { failures.change { $0.append("\(error)") } }
            }
            isDone.signal()
          }
          await GroupCommitFixture.wait(for: isDone)
          #expect(failures.value.isEmpty)
        }
      }
      try await group.waitForAll()
    }
    #expect(try store.value(made.album, "tick") == 200)
    #expect(try store.info().commit == before + 200)
    try checked(store)
  }

  // MARK: Closing

  @Test("closing the store while writes wait makes them throw, and none hangs")
  func close() async throws {
    let test = try TestStore(savepointModel)
    let store = test.store
    let (isBlocking, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let first = Task {
      try await store.write { tx in
        isBlocking.signal()
        mayEnd.wait()
        return try tx.insert("Marker")
      }
    }
    await GroupCommitFixture.wait(for: isBlocking)
    let runs = ContractBox(0)
    let tasks = (0..<8).map { _ in
      Task {
        try await store.write { tx in
          runs.change { $0 += 1 }
          try tx.insert("Marker")
        }
      }
    }
    try await Task.sleep(for: .milliseconds(50))
    let isClosed = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      store.close()
      isClosed.signal()
    }
    while (try? store.info()) != nil { try await Task.sleep(for: .milliseconds(1)) }
    mayEnd.signal()
    await GroupCommitFixture.wait(for: isClosed)
    // The write that was running when the store was closed finished normally.
    let id = try await first.value
    for task in tasks {
      let result = await task.result
      #expect(throws: StoreError.self) { try result.get() }
      if case .failure(let error) = result { #expect(error.storeErrorKind == .closed, "\(error)") }
    }
    #expect(runs.value == 0)
    await #expect(throws: StoreError.self) { try await store.write { tx in _ = try tx.insert("Marker") } }
    try test.reopen()
    #expect(try test.store.objects("Marker") == [id])
    try checked(test.store)
  }
}
