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

/// Asynchronous writes that wait at the same time share one durable commit.
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
    let start = try store.info().commit
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
    #expect(try store.info().commit == start + UInt64(Self.count))
    let history = try store.history()
    #expect(history.map(\.commit) == (1...UInt64(Self.count)).map { start + $0 })
    for transaction in history { #expect(transaction.insertedCount == 1) }
    try checked(store)
    try test.reopen(options: options)
    #expect(try test.store.objects("Marker").count == Self.count)
    #expect(try test.store.info().commit == start + UInt64(Self.count))
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
    #expect(try fixture.commits() == UInt64(Self.count))
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
    #expect(order.value == Array(0..<40))
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

  @Test("a write that changes nothing is no commit, nor is one that rolls everything back")
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
    #expect(try fixture.commits() == 3 && fixture.store.history().count == 3)
    try checked(fixture.store)
  }

  @Test("only writes that change nothing: no commit of the engine at all")
  func onlyNothing() async throws {
    let fixture = try GroupCommitFixture()
    _ = try await fixture.waiting(5) { store, number in try await store.write { _ in number } }
    #expect(try fixture.engine.commitCount == 0 && fixture.commits() == 0)
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
    #expect(try fixture.commits() == UInt64((0..<300).count { $0 % 7 != 0 && $0 % 5 != 0 }))
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
    #expect(try fixture.commits() == 20)
    try checked(fixture.store)
  }
}

extension JournalMode {
  fileprivate static let allModes: [JournalMode] = [.copyOnWrite, .writeAheadLog]
}
