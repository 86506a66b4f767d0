import Dispatch
import Foundation
import KVClone
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVCloneCore

private let counterModel = ManagedObjectModel("Counters") {
  EntityDescription("Counter") {
    AttributeDescription("value", .integer64, optional: false, default: 0)
    AttributeDescription("data", .binary)
    RelationshipDescription("twin", toOne: "Counter", inverse: "twin")
  }
  EntityDescription("Other") { AttributeDescription("value", .integer64) }
}

private struct Refusal: Error {}

@Suite("Transactions")
struct StoreTransactionTests {
  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(counterModel) }

  @Test("returning commits, once, and reading sees it")
  func commit() throws {
    let id = try store.write { tx in try tx.insert("Counter", ["value": 7]) }
    #expect(try store.value(id, "value") == 7)
    #expect(try store.info().commit == 1)
    try test.reopen()
    #expect(try store.value(id, "value") == 7)
    #expect(try store.info().commit == 1)
    try checked(store)
  }

  @Test("throwing gives everything up, and the error comes through")
  func abort() throws {
    let id = try store.insert("Counter", ["value": 1])
    #expect(throws: Refusal.self) {
      try store.write { tx in
        try tx.set(id, "value", 2)
        try tx.insert("Counter")
        try tx.set(id, "data", .binary(Data(repeating: 1, count: 5000)))
        throw Refusal()
      }
    }
    #expect(try store.value(id, "value") == 1)
    #expect(try store.value(id, "data") == nil)
    #expect(try store.objects("Counter") == [id])
    #expect(try store.info().commit == 1)
    try checked(store)
  }

  @Test("a write that changes nothing does not count as a commit")
  func empty() throws {
    let id = try store.insert("Counter", ["value": 1])
    try store.write { _ in }
    try store.set(id, "value", 1)
    try store.setMembers(id, "twin", [])
    try store.unlink(id, "twin")
    try store.link(id, "twin", [])
    #expect(try store.info().commit == 1)
    #expect(try store.object(id).commit == 1)
    for value in 2...5 { try store.set(id, "value", .integer(Int64(value))) }
    #expect(try store.info().commit == 5)
  }

  @Test("a transaction sees its own changes, and readers do not until it commits")
  func isolation() throws {
    let id = try store.insert("Counter", ["value": 1])
    try store.write { tx in
      try tx.set(id, "value", 2)
      let seen = try tx.value(id, "value")
      #expect(seen == 2)
      #expect(try store.value(id, "value") == 1)
    }
    #expect(try store.value(id, "value") == 2)
  }

  @Test("a reader keeps its state while others write")
  func snapshot() throws {
    let id = try store.insert("Counter", ["value": 1])
    try store.read { tx in
      try store.set(id, "value", 2)
      _ = try store.write { other in try other.delete([id]) }
      let value = try tx.value(id, "value")
      #expect(value == 1)
    }
    #expect(try !store.exists(id))
  }

  @Test("objects carry the commit that last changed them")
  func stamps() throws {
    let (first, second) = try store.write { tx in (try tx.insert("Counter"), try tx.insert("Counter")) }
    #expect(try store.object(first).commit == 1)
    try store.set(first, "value", 5)
    #expect(try store.object(first).commit == 2)
    #expect(try store.object(second).commit == 1)
    // A link changes both sides.
    try store.setToOne(first, "twin", second)
    #expect(try store.object(first).commit == 3)
    #expect(try store.object(second).commit == 3)
  }

  @Test("a nested write of the same thread is rejected, and the outer one continues")
  func nested() throws {
    let id = try store.write { tx in
      let id = try tx.insert("Counter")
      expectError(.nestedWrite) { try store.write { _ in } }
      try tx.set(id, "value", 3)
      return id
    }
    #expect(try store.value(id, "value") == 3)
  }

  @Test("waiting for another thread's writer ends in busy, with the holder's label")
  func busy() throws {
    let store = self.store
    let isHolding = DispatchSemaphore(value: 0)
    let isDone = DispatchSemaphore(value: 0)
    let hasEnded = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      try? store.write(label: "long import") { tx in
        try tx.insert("Counter")
        isHolding.signal()
        isDone.wait()
      }
      hasEnded.signal()
    }
    isHolding.wait()
    let error = expectError(.busy) { try store.write(timeout: .milliseconds(20)) { _ in } }
    #expect(error?.message.contains("long import") == true)
    #expect(try store.objects("Counter").isEmpty)
    isDone.signal()
    hasEnded.wait()
    try store.write { tx in _ = try tx.insert("Counter") }
    #expect(try store.objects("Counter").count == 2)
  }

  @Test("an operation that is refused before it changes anything leaves the transaction good")
  func refusedEarly() throws {
    let id = try store.insert("Counter", ["value": 1])
    try store.write { tx in
      try tx.set(id, "value", 2)
      expectError(.unknownEntity) { try tx.insert("Nothing") }
      let missing = ObjectID(rootCode: id.rootCode, serial: 99)
      expectError(.objectNotFound) { try tx.insert("Counter", relationships: ["twin": [missing]]) }
      expectError(.unknownProperty) { try tx.set(id, "nothing", 1) }
      expectError(.wrongType) { try tx.set(id, "value", "text") }
      expectError(.unknownProperty) { try tx.setToOne(id, "nothing", nil) }
    }
    #expect(try store.value(id, "value") == 2)
    try checked(store)
  }

  @Test("an operation that fails half way leaves nothing but giving up")
  func refusedLate() throws {
    let id = try store.insert("Counter", ["value": 1])
    expectError(.transactionAborted) {
      try store.write { tx in
        try tx.set(id, "value", 2)
        do {
          try tx.setData(id, "data") { writer in
            try writer.append(Data(repeating: 7, count: 3 << 20))
            throw Refusal()
          }
          Issue.record("a stream that fails has to be heard of")
        } catch is Refusal {}
        expectError(.transactionAborted) { try tx.set(id, "value", 3) }
        expectError(.transactionAborted) { try tx.delete([id]) }
      }
    }
    #expect(try store.value(id, "value") == 1)
    #expect(try store.objects("Counter") == [id])
    #expect(try store.info().commit == 1)
    try checked(store)
  }

  @Test("optimistic locking: an object that changed since it was read is not overwritten")
  func optimisticLocking() throws {
    let id = try store.insert("Counter", ["value": 1])
    var mine = try store.object(id)
    var theirs = try store.object(id)
    #expect(!mine.hasChanges)
    mine["value"] = 10
    theirs["value"] = 20
    #expect(mine.hasChanges && mine["value"] == 10)
    try store.write { [theirs] tx in try tx.save(theirs, ifUnchanged: true) }
    let error = expectError(.staleObject) { try store.write { [mine] tx in try tx.save(mine, ifUnchanged: true) } }
    #expect(error?.object == "Counter/1" && error?.entity == "Counter")
    #expect(try store.value(id, "value") == 20)
    // Without the check, the last write wins.
    try store.write { [mine] tx in try tx.save(mine) }
    #expect(try store.value(id, "value") == 10)
    try store.delete([id])
    expectError(.objectNotFound) { try store.write { [mine] tx in try tx.save(mine, ifUnchanged: true) } }
    try checked(store)
  }

  @Test("saving writes only the values that were set")
  func save() throws {
    let id = try store.insert("Counter", ["value": 1])
    var object = try store.object(id)
    object["data"] = .binary(Data([1, 2]))
    try store.set(id, "value", 9)
    try store.write { [object] tx in try tx.save(object) }
    #expect(try store.value(id, "value") == 9)
    #expect(try store.data(id, "data") == Data([1, 2]))
    object["nothing"] = 1
    expectError(.unknownProperty) { try store.write { [object] tx in try tx.save(object) } }
  }

  @Test("optimistic locking notices changes of the same transaction, and of the object's links")
  func optimisticLockingInside() throws {
    let ids = try store.insert("Counter", count: 2)
    var read = try store.object(ids[0])
    read["value"] = 5
    expectError(.staleObject) {
      try store.write { [read] tx in
        try tx.set(ids[0], "value", 2)
        try tx.save(read, ifUnchanged: true)
      }
    }
    try store.setToOne(ids[1], "twin", ids[0])
    expectError(.staleObject) { try store.write { [read] tx in try tx.save(read, ifUnchanged: true) } }
    #expect(try store.value(ids[0], "value") == 0)
    try checked(store)
  }

  @Test("an error thrown from a loop over objects or members comes through")
  func errorsFromLoops() throws {
    let ids = try store.insert("Counter", count: 3)
    try store.setToOne(ids[0], "twin", ids[1])
    try store.read { tx in
      var seen = 0
      #expect(throws: Refusal.self) {
        try tx.forEachObject(of: "Counter") { _ in
          seen += 1
          throw Refusal()
        }
      }
      #expect(throws: Refusal.self) { try tx.forEachMember(ids[0], "twin") { _ in throw Refusal() } }
      #expect(seen == 1)
    }
  }

  @Test("serials are given once, to rolled-back objects too, and count per root entity")
  func serials() throws {
    let first = try store.insert("Counter")
    #expect(first.serial == 1)
    #expect(try store.insert("Other").serial == 1)
    let lost = Mutex<ObjectID?>(nil)
    #expect(throws: Refusal.self) {
      try store.write { tx in
        let id = try tx.insert("Counter")
        lost.withLock { $0 = id }
        throw Refusal()
      }
    }
    #expect(lost.withLock { $0 }?.serial == 2)
    let third = try store.insert("Counter")
    #expect(third.serial == 3)
    try store.delete([third, first])
    try test.reopen()
    #expect(try store.insert("Counter").serial == 4)
    try checked(store)
  }
}

@Suite("Transactions from asynchronous code and many threads")
struct ConcurrencyTests {
  @Test("asynchronous reads and writes do what the synchronous ones do")
  func asynchronous() async throws {
    let test = try TestStore(counterModel)
    let store = test.store
    let id = try await store.write { tx in try tx.insert("Counter", ["value": 1]) }
    #expect(try await store.read { tx in try tx.value(id, "value") } == 1)
    await #expect(throws: Refusal.self) {
      try await store.write { tx in
        try tx.set(id, "value", 2)
        throw Refusal()
      }
    }
    #expect(try await store.read { tx in try tx.value(id, "value") } == 1)
    await #expect(throws: ValidationError.self) { try await store.write { tx in try tx.set(id, "value", nil) } }
    #expect(try store.info().commit == 1)
  }

  @Test("asynchronous writes from many tasks take turns")
  func manyTasks() async throws {
    let test = try TestStore(counterModel)
    let store = test.store
    let id = try await store.write { tx in try tx.insert("Counter") }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<40 {
        group.addTask {
          try await store.write { tx in
            guard case .integer(let value) = try tx.value(id, "value") else { throw Refusal() }
            try tx.set(id, "value", .integer(value + 1))
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await store.read { tx in try tx.value(id, "value") } == 40)
    #expect(try store.info().commit == 41)
  }

  /// The writer moves amounts between counters, so that the sum never changes; it also inserts and deletes pairs. A
  /// reader of a mixture of two states would see another sum, or one object of a pair.
  @Test("readers on several threads see consistent states next to a writer")
  func readersNextToAWriter() throws {
    let test = try TestStore(counterModel)
    let store = test.store
    let ids = try store.write { tx in
      var ids: [ObjectID] = []
      for _ in 0..<20 { ids.append(try tx.insert("Counter", ["value": 100])) }
      return ids
    }
    let isOver = Atomic(false)
    let problems = Mutex<[String]>([])
    let states = Atomic(0)
    withThreads(4) { number in
      if number == 0 {
        defer { isOver.store(true, ordering: .releasing) }
        do { try Self.transfer(store, ids, rounds: 300) } catch { problems.withLock { $0.append("\(error)") } }
        return
      }
      repeat {
        do {
          let text = try Self.inconsistency(store)
          if let text { problems.withLock { $0.append(text) } }
        } catch {
          problems.withLock { $0.append("\(error)") }
        }
        states.add(1, ordering: .relaxed)
      } while !isOver.load(ordering: .acquiring)
    }
    #expect(problems.withLock { $0 }.isEmpty, "\(problems.withLock { $0.prefix(3) })")
    #expect(states.load(ordering: .relaxed) >= 3)
    try checked(store)
  }

  private static func transfer(_ store: ObjectStore, _ ids: [ObjectID], rounds: Int) throws {
    var pair: [ObjectID] = []
    for round in 0..<rounds {
      let (from, to) = (ids[round % ids.count], ids[(round * 7 + 3) % ids.count])
      try store.write { tx in
        guard case .integer(let left) = try tx.value(from, "value") else { throw Refusal() }
        try tx.set(from, "value", .integer(left - 1))
        guard case .integer(let right) = try tx.value(to, "value") else { throw Refusal() }
        try tx.set(to, "value", .integer(right + 1))
        if pair.isEmpty {
          let first = try tx.insert("Counter")
          pair = [first, try tx.insert("Counter", relationships: ["twin": [first]])]
        } else {
          try tx.delete(pair)
          pair = []
        }
      }
    }
  }

  private static func inconsistency(_ store: ObjectStore) throws -> String? {
    try store.read { tx in
      var sum: Int64 = 0
      var twins = 0
      try tx.forEachObject(of: "Counter") { object in
        if case .integer(let value) = object["value"] { sum += value }
        if object.toOne("twin") != nil { twins += 1 }
        return true
      }
      return sum == 2000 && twins % 2 == 0 ? nil : "sum \(sum), \(twins) twins"
    }
  }
}

/// Runs `body` on this many threads and waits for all of them.
private func withThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let group = DispatchGroup()
  for number in 0..<count {
    group.enter()
    Thread.detachNewThread {
      body(number)
      group.leave()
    }
  }
  group.wait()
}
