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

/// Asynchronous writes that wait at the same time share one durable commit, and each succeeds or fails by itself.
@Suite("Group commit", .serialized)
struct GroupCommitTests {
  private static let count = 64

  // MARK: Success

  @Test("64 writes of 64 tasks are all there, each with its own commit", arguments: JournalMode.allModes)
  func allThere(_ mode: JournalMode) async throws {
    var options = StoreOptions.tracking(author: "me")
    options.journalMode = mode
    let test = try TestStore(savepointModel, options: options)
    let store = test.store
    let ids = try await withThrowingTaskGroup(of: (Int, ObjectID).self) { group in
      for number in 0..<Self.count {
        group.addTask {
          (number, try await store.write { tx in try tx.insert("Marker", ["label": .string("m\(number)")]) })
        }
      }
      var ids: [Int: ObjectID] = [:]
      for try await (number, id) in group { ids[number] = id }
      return ids
    }
    #expect(Set(ids.values).count == Self.count)
    for (number, id) in ids { #expect(try store.object(id)["label"] == .string("m\(number)")) }
    #expect(try store.info().commit == UInt64(Self.count))
    let history = try store.history()
    #expect(history.map(\.commit) == (1...UInt64(Self.count)).map { $0 })
    for transaction in history { #expect(transaction.insertedCount == 1) }
    try checked(store)
    try test.reopen(options: options)
    #expect(try test.store.objects("Marker").count == Self.count)
    #expect(try test.store.info().commit == UInt64(Self.count))
    try checked(test.store)
  }

  @Test("writes that wait together have fewer commits of the engine than their number", arguments: [false, true])
  func fewerCommits(_ isOnDisk: Bool) async throws {
    let fixture = try GroupCommitFixture(isOnDisk: isOnDisk)
    let results = try await fixture.waiting(Self.count) { store, number in
      try await store.write { tx in
        try tx.insert("Marker", ["label": .string("\(number)")])
        return number
      }
    }
    #expect(results.errors.isEmpty)
    #expect(fixture.engine.commitCount >= 1 && fixture.engine.commitCount <= 3, "\(fixture.engine.commitCount)")
    #expect(try fixture.store.info().commit == UInt64(Self.count))
    #expect(try fixture.store.history().count == Self.count)
    try checked(fixture.store)
  }

  @Test("each has its own commit number, author, operation and changes, in the history and in objects' stamps")
  func separate() async throws {
    let fixture = try GroupCommitFixture()
    let commits = ContractBox<[Int: UInt64]>([:])
    let ids = try await fixture.waiting(20) { store, number in
      try await store.write(label: "label \(number)") { tx in
        if number % 3 != 0 { tx.author = "author \(number)" }
        tx.operation = "operation \(number)"
        let commit = try tx.currentToken().commit
        commits.change { $0[number] = commit }
        return try tx.insert("Marker", ["label": .string("\(number)")])
      }
    }.map { try $0.get() }
    let history = try fixture.store.history()
    #expect(history.count == 20)
    for (number, id) in ids.enumerated() {
      let commit = try fixture.store.object(id).commit
      #expect(commits.value[number] == commit - 1, "the token of a transaction is that of the commit before")
      let told = try #require(history.first { $0.commit == commit })
      #expect(told.author == (number % 3 != 0 ? "author \(number)" : "options"))
      #expect(told.operation == "operation \(number)")
      #expect(try told.changes() == [.inserted(id)])
    }
    try checked(fixture.store)
  }

  @Test("each sees what its predecessors did: 200 increments", arguments: [false, true])
  func increments(_ isWaiting: Bool) async throws {
    let fixture = try GroupCommitFixture(isOnDisk: true, options: isWaiting ? .grouping() : .tracking())
    let made = try SavepointFixture(fixture.store)
    let before = try fixture.store.info().commit
    let body: @Sendable (ObjectStore, Int) async throws -> Int = { store, _ in
      try await store.write { tx in
        guard case .integer(let value)? = try tx.value(made.album, "tick") else { throw SavepointRefusal() }
        try tx.set(made.album, "tick", .integer(value + 1))
        return Int(value)
      }
    }
    let seen: [Int]
    if isWaiting {
      seen = try await fixture.waiting(200, body).map { try $0.get() }
    } else {
      seen = try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<200 { group.addTask { try await body(fixture.store, number) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
    }
    #expect(seen.sorted() == Array(0..<200))
    #expect(try fixture.store.value(made.album, "tick") == 200)
    #expect(try fixture.store.info().commit == before + 200)
    try checked(fixture.store)
  }

  @Test("writes that wait run in the order in which they came")
  func order() async throws {
    let fixture = try GroupCommitFixture()
    let order = ContractBox<[Int]>([])
    _ = try await fixture.waiting(40) { store, number in
      try await store.write { tx in
        order.change { $0.append(number) }
        try tx.insert("Marker")
      }
    }
    // Started one after the other, eight between two pauses; those may change places.
    let blocks = order.value.map { $0 / 8 }
    #expect(blocks == blocks.sorted(), "\(order.value)")
    #expect(order.value.count == 40)
  }

  @Test("a reader sees nothing of a write before `write` returns, and all of it afterwards")
  func visibility() async throws {
    let fixture = try GroupCommitFixture(isOnDisk: true)
    let results = try await fixture.waiting(30) { store, number in
      let id = try await store.write { tx in
        let id = try tx.insert("Marker")
        let isSeen = try store.read { reader in try reader.exists(id) }
        #expect(!isSeen, "an uncommitted object is visible")
        return id
      }
      #expect(try store.exists(id), "a write that returned is not visible")
      return number
    }
    #expect(results.errors.isEmpty)
  }

  @Test("a write that changes nothing is no commit, and one that rolls all back is none either")
  func nothing() async throws {
    let fixture = try GroupCommitFixture()
    let results = try await fixture.waiting(9) { store, number in
      try await store.write { tx in
        if number % 3 == 1 { try tx.insert("Marker") }
        if number % 3 == 2 { try tx.rollingBack { tx in try tx.insert("Marker") } }
        return number
      }
    }
    #expect(results.errors.isEmpty)
    #expect(try fixture.store.info().commit == 3 && fixture.store.history().count == 3)
    try checked(fixture.store)
  }

  @Test("only writes that change nothing: no commit of the engine at all")
  func onlyNothing() async throws {
    let fixture = try GroupCommitFixture()
    _ = try await fixture.waiting(5) { store, number in try await store.write { _ in number } }
    #expect(try fixture.engine.commitCount == 0 && fixture.store.info().commit == 0)
  }

  // MARK: Failures of one

  @Test("one that throws, breaks a rule or a constraint fails alone, with its own error", arguments: [false, true])
  func failsAlone(_ isOnDisk: Bool) async throws {
    let fixture = try GroupCommitFixture(isOnDisk: isOnDisk)
    let made = try SavepointFixture(fixture.store)
    let (before, blobs) = (try fixture.store.info().commit, try fixture.store.blobCounts())
    let count = fixture.engine.commitCount
    let results = try await fixture.waiting(40) { store, number in
      try await store.write { tx in
        try tx.insert("Marker", ["label": .string("\(number)")], relationships: ["album": [made.album]])
        switch number {
        case 3: throw SavepointRefusal()
        case 7: try tx.insert("Tag")
        case 11: try tx.insert("Photo", ["code": 0])
        case 15: try tx.delete([made.people[0]])
        case 19:
          try? tx.setData(made.other, "cover") { writer in
            try writer.append(Data(repeating: 7, count: 3 << 20))
            throw SavepointRefusal()
          }
        case 23:
          try tx.delete([made.album])
          throw SavepointRefusal()
        case 27: try tx.set(made.tags[0], "name", nil)
        default: break
        }
        return number
      }
    }
    let errors = results.errors
    #expect(errors.keys.sorted() == [3, 7, 11, 15, 19, 23, 27], "\(errors)")
    #expect(errors[3] is SavepointRefusal && errors[23] is SavepointRefusal)
    #expect((errors[7] as? ValidationError)?.issues.map(\.entity) == ["Tag"])
    let conflict = (errors[11] as? ValidationError)?.issues ?? []
    #expect(!conflict.isEmpty && conflict.allSatisfy { $0.kind == .uniquenessConflict && $0.entity == "Photo" })
    #expect(errors[15]?.storeErrorKind == .deleteDenied)
    #expect(errors[19]?.storeErrorKind == .transactionAborted)
    #expect((errors[27] as? ValidationError)?.issues.map(\.property) == ["name"])
    #expect(try fixture.store.info().commit == before + 33)
    #expect(fixture.engine.commitCount - count < 10)
    #expect(try fixture.store.blobCounts() == blobs)
    let labels = try fixture.store.members(made.album, "markers").dropFirst().map {
      try fixture.store.value($0, "label")
    }
    let expected = (0..<40).filter { errors[$0] == nil }.map { AttributeValue.string("\($0)") }
    #expect(Set(labels) == Set(expected) && labels.count == 33)
    #expect(try fixture.store.history().dropFirst().allSatisfy { $0.insertedCount == 1 })
    try checked(fixture.store)
  }

  @Test("the first and the last of a group fail, and all of a group", arguments: [[0], [9], [0, 9], Array(0..<10)])
  func failsAtTheEnds(_ failing: [Int]) async throws {
    let fixture = try GroupCommitFixture()
    let results = try await fixture.waiting(10) { store, number in
      try await store.write { tx in
        let id = try tx.insert("Marker", ["label": "x"])
        if failing.contains(number) { throw SavepointRefusal() }
        return Int(id.serial)
      }
    }
    #expect(results.errors.keys.sorted() == failing)
    #expect(try fixture.store.info().commit == UInt64(10 - failing.count))
    #expect(try fixture.store.found("Marker", "label == 'x'").count == 10 - failing.count)
    try checked(fixture.store)
    // Ids of those that failed are not given out again.
    let serials = results.compactMap { try? $0.get() }
    #expect(Set(serials).count == 10 - failing.count)
    #expect(try fixture.store.insert("Marker").serial == 11)
  }

  @Test("two writes want the same unique value: the first gets it")
  func sameValue() async throws {
    let fixture = try GroupCommitFixture()
    let results = try await fixture.waiting(12) { store, number in
      try await store.write { tx in
        try tx.insert("Photo", ["code": .integer(Int64(number % 4)), "size": .integer(Int64(number))])
        return number
      }
    }
    #expect(results.errors.count == 8)
    for error in results.errors.values { #expect(error is ValidationError, "\(error)") }
    #expect(try fixture.store.objects("Photo").count == 4)
    for code in 0..<4 { #expect(try fixture.store.found("Photo", "code == \(code)").count == 1) }
    try checked(fixture.store)
  }

  @Test("a merge policy is of its write only")
  func mergePolicy() async throws {
    let fixture = try GroupCommitFixture()
    let first = try fixture.store.insert("Photo", ["code": 1, "size": 0])
    let results = try await fixture.waiting(8) { store, number in
      try await store.write(mergePolicy: number % 2 == 0 ? .mergeByPropertyObjectTrump : .error) { tx in
        try tx.insert("Photo", ["code": 1, "size": .integer(Int64(number + 1))])
        return number
      }
    }
    #expect(results.errors.keys.sorted() == [1, 3, 5, 7])
    #expect(try fixture.store.objects("Photo") == [first])
    guard case .integer(let size)? = try fixture.store.value(first, "size") else { throw SavepointRefusal() }
    #expect([1, 3, 5, 7].contains(size))
    try checked(fixture.store)
  }

  @Test("with a limit, only the writes that exceed it fail")
  func limit() async throws {
    let fixture = try GroupCommitFixture(options: .grouping { $0.maximumObjectCount = 10 })
    let results = try await fixture.waiting(12) { store, number in
      try await store.write { tx in
        for _ in 0..<(number == 2 ? 11 : 1) { try tx.insert("Marker") }
        return number
      }
    }
    let errors = results.errors
    #expect(errors[2]?.storeErrorKind == .limitExceeded && errors.count == 2, "\(errors)")
    #expect(errors.values.allSatisfy { $0.storeErrorKind == .limitExceeded })
    #expect(try fixture.store.info().objectCount == 10)
    try checked(fixture.store)
  }

  @Test("savepoints inside writes of a group")
  func savepoints() async throws {
    let fixture = try GroupCommitFixture()
    let made = try SavepointFixture(fixture.store)
    let results = try await fixture.waiting(20) { store, number in
      try await store.write { tx in
        try tx.savepoint { tx in
          try tx.insert("Marker", ["label": "kept"], relationships: ["album": [made.other]])
        }
        try tx.rollingBack { tx in
          try tx.insert("Marker", ["label": "lost"], relationships: ["album": [made.other]])
          try tx.delete([made.photos[number]])
        }
        if number % 4 == 3 { throw SavepointRefusal() }
        return number
      }
    }
    #expect(results.errors.count == 5)
    #expect(try fixture.store.members(made.other, "markers").count == 15)
    #expect(try fixture.store.found("Marker", "label == 'lost'").isEmpty)
    #expect(try fixture.store.members(made.album, "photos") == made.photos)
    try checked(fixture.store)
  }

  // MARK: Failures of all

  @Test("a durable commit that fails is the error of all, and nothing is stored", arguments: [false, true])
  func failingCommit(_ isOnDisk: Bool) async throws {
    let fixture = try GroupCommitFixture(isOnDisk: isOnDisk)
    let made = try SavepointFixture(fixture.store)
    let (before, lines) = (try fixture.store.info().commit, try fixture.store.lines())
    let saved = ContractBox(0)
    var hooks = ObjectLifecycle()
    hooks.didSave = { _, _ in saved.change { $0 += 1 } }
    try fixture.store.register(hooks, for: "Marker")
    let runs = ContractBox(0)
    let results = try await fixture.waiting(
      20, whileWaiting: { _ in fixture.engine.failNextCommit(StoreError(.diskFull, "the test's disk is full")) }
    ) { store, number in
      try await store.write { tx in
        runs.change { $0 += 1 }
        try tx.insert("Marker", relationships: ["album": [made.album]])
        if number == 5 { throw SavepointRefusal() }
        return number
      }
    }
    let errors = results.errors
    #expect(errors.count == 20 && runs.value == 20)
    #expect(errors[5] is SavepointRefusal || errors[5]?.storeErrorKind == .diskFull)
    #expect(errors.filter { $0.key != 5 }.allSatisfy { $0.value.storeErrorKind == .diskFull })
    #expect(try fixture.store.info().commit == before && fixture.store.lines() == lines)
    #expect(saved.value == 0, "a hook says that something was saved that was not")
    try checked(fixture.store)
    // They can be run again.
    let again = try await fixture.waiting(20) { store, number in
      try await store.write { tx in
        try tx.insert("Marker", relationships: ["album": [made.album]])
        return number
      }
    }
    #expect(again.errors.isEmpty)
    #expect(try fixture.store.info().commit == before + 20 && saved.value == 20)
    #expect(try fixture.store.members(made.album, "markers").count == 21)
    try checked(fixture.store)
  }

  @Test("an unknown outcome is the outcome of all", arguments: [false, true])
  func unknownOutcome(_ isStored: Bool) async throws {
    let fixture = try GroupCommitFixture()
    let error = StoreError(.commitOutcomeUnknown, "the test does not know")
    let results = try await fixture.waiting(
      10, whileWaiting: { _ in fixture.engine.failNextCommit(error, storing: isStored) }
    ) { store, number in
      try await store.write { tx in
        try tx.insert("Marker")
        return number
      }
    }
    #expect(results.errors.count == 10)
    for error in results.errors.values { #expect(error.storeErrorKind == .commitOutcomeUnknown) }
    #expect(try fixture.store.objects("Marker").count == (isStored ? 10 : 0))
    // The store goes on, with serials and commit numbers that fit either outcome.
    let id = try await fixture.store.write { tx in try tx.insert("Marker") }
    #expect(id.serial == 11)
    #expect(try fixture.store.info().commit == (isStored ? 11 : 1))
    try checked(fixture.store)
  }

  // MARK: Once

  @Test("closures run exactly once")
  func once() async throws {
    let fixture = try GroupCommitFixture(isOnDisk: true, options: .tracking())
    let runs = ContractBox<[Int: Int]>([:])
    let store = fixture.store
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<300 {
        group.addTask {
          try? await store.write { tx in
            runs.change { $0[number, default: 0] += 1 }
            try tx.insert(number % 7 == 0 ? "Tag" : "Marker")
            if number % 5 == 0 { throw SavepointRefusal() }
          }
        }
      }
    }
    #expect(runs.value.count == 300 && runs.value.values.allSatisfy { $0 == 1 })
    #expect(try store.info().commit == UInt64((0..<300).count { $0 % 7 != 0 && $0 % 5 != 0 }))
    try checked(store)
  }

  @Test("hooks after the commit run once for each write, when it is durable")
  func didSave() async throws {
    let fixture = try GroupCommitFixture()
    let made = try SavepointFixture(fixture.store)
    let calls = ContractBox<[String]>([])
    let commits = fixture.engine.commitCount
    var hooks = ObjectLifecycle()
    hooks.didSave = { store, id in
      let isThere = (try? store.exists(id)) == true
      calls.change { $0.append("\(id.serial) \(isThere)") }
      if fixture.engine.commitCount == commits { calls.change { $0.append("early") } }
    }
    hooks.willSave = { tx, id in try tx.set(id, "title", .string("saved")) }
    try fixture.store.register(hooks, for: "Album")
    let results = try await fixture.waiting(9) { store, number in
      try await store.write { tx in
        try tx.set(made.album, "tick", .integer(Int64(number + 1)))
        if number % 3 == 2 { throw SavepointRefusal() }
        return number
      }
    }
    #expect(results.errors.count == 3)
    #expect(calls.value == Array(repeating: "\(made.album.serial) true", count: 6))
    #expect(try fixture.store.value(made.album, "title") == "saved")
    try checked(fixture.store)
  }

  @Test("a hook after the commit may write")
  func didSaveWrites() async throws {
    let fixture = try GroupCommitFixture()
    var hooks = ObjectLifecycle()
    hooks.didSave = { store, id in try? store.set(id, "label", "saved") }
    try fixture.store.register(hooks, for: "Marker")
    let results = try await fixture.waiting(10) { store, _ in
      Int(try await store.write { tx in try tx.insert("Marker") }.serial)
    }
    #expect(results.errors.isEmpty)
    #expect(try fixture.store.found("Marker", "label == 'saved'").count == 10)
    #expect(try fixture.store.info().commit == 20)
    try checked(fixture.store)
  }

  // MARK: Cancelling

  @Test("cancelling before its turn removes a write, and leaves the others")
  func cancelled() async throws {
    let fixture = try GroupCommitFixture()
    let (runs, ended) = (ContractBox<[Int]>([]), ContractBox<[Int]>([]))
    let results = try await fixture.waiting(
      12,
      whileWaiting: { tasks in
        for (number, task) in tasks.enumerated() where number % 4 == 1 { task.cancel() }
        // They do not wait for their turns to say so.
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
    #expect(try fixture.store.info().commit == 9)
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
    #expect(try runs.value == 0 && store.info().commit == 0)
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
    #expect(try fixture.store.info().commit == 19)
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
    let results = try await fixture.waiting(
      16, whileWaiting: { _ in try await Task.sleep(for: .milliseconds(200)) }
    ) { store, number in
      try await Task.sleep(for: .milliseconds(12 * number))
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

  @Test("a write inside a write is refused, and the group goes on")
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
    #expect(try fixture.store.info().commit == 6)
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
    try await Task.sleep(for: .milliseconds(50))
    mayEnd.signal()
    await GroupCommitFixture.wait(for: isClosed)
    // What was running when the store was closed ended by itself.
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

extension JournalMode {
  fileprivate static let allModes: [JournalMode] = [.copyOnWrite, .writeAheadLog]
}
