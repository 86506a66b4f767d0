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

/// Each write of a group succeeds or fails by itself, until the common commit fails.
@Suite("Group commit: failures of one write and of all", .serialized)
struct GroupCommitFailureTests {
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
    #expect(try fixture.commits() == UInt64(10 - failing.count))
    #expect(try fixture.store.found("Marker", "label == 'x'").count == 10 - failing.count)
    try checked(fixture.store)
    // Ids of the failed writes are not reused.
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
    // The writes can be run again.
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
    // The store remains usable, with serials and commit numbers that fit either outcome.
    let id = try await fixture.store.write { tx in try tx.insert("Marker") }
    #expect(id.serial == 11)
    #expect(try fixture.commits() == (isStored ? 11 : 1))
    try checked(fixture.store)
  }

  @Test(
    "an error of the engine in a later write is the error of all, even if a savepoint's caller catches it",
    arguments: [StoreError.Kind.diskFull, .mapFull, .io], [false, true])
  func engineFailure(_ kind: StoreError.Kind, _ isCaught: Bool) async throws {
    let fixture = try GroupCommitFixture()
    let made = try SavepointFixture(fixture.store)
    let lines = try fixture.store.lines()
    let engine = fixture.engine
    let results = try await fixture.waiting(10) { store, number in
      try await store.write { tx in
        try tx.insert("Marker", relationships: ["album": [made.album]])
        guard number == 7 else { return number }
        do {
          try tx.savepoint { tx in
            engine.failNextPut(StoreError(kind, "the test's disk fails"))
            try tx.insert("Marker", relationships: ["album": [made.other]])
          }
        } catch {
          if !isCaught { throw error }
        }
        return number
      }
    }
    // The writes after it are members of another group.
    let errors = results.errors
    #expect(errors[7]?.storeErrorKind == kind, "\(errors)")
    #expect(errors.values.allSatisfy { $0.storeErrorKind == kind }, "\(errors)")
    if errors.count == 10 { #expect(try fixture.store.lines() == lines) }
    try checked(fixture.store)
    let id = try await fixture.store.write { tx in try tx.insert("Marker") }
    #expect(try fixture.store.exists(id))
  }
}
