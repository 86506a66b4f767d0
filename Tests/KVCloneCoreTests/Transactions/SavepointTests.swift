import Foundation
import KVClone
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVCloneCore
@testable import KVCloneOperations

/// Savepoints within a transaction: results and errors, nesting, validation, limits, hooks.
@Suite("Savepoints")
struct SavepointTests {
  let test: TestStore
  let made: SavepointFixture
  var store: ObjectStore { test.store }

  init() throws {
    test = try TestStore(savepointModel, options: .tracking())
    made = try SavepointFixture(test.store)
  }

  private func commit() throws -> UInt64 { try store.info().commit }

  /// Changes a value, and then fails in the middle of a change.
  private func fail(_ tx: inout WriteTransaction) throws {
    try tx.set(made.album, "tick", 7)
    try tx.setData(made.other, "cover") { writer in
      try writer.append(Data(repeating: 7, count: 3 << 20))
      throw SavepointRefusal()
    }
  }

  private func nest(_ tx: inout WriteTransaction, _ level: Int) throws {
    if level == 50 { return }
    do {
      try tx.savepoint { tx in
        try tx.insert("Marker", ["label": .string("level \(level)")], relationships: ["album": [made.other]])
        try tx.set(made.other, "tick", .integer(Int64(level)))
        try nest(&tx, level + 1)
        // Level 20 is the outermost one that fails.
        if level % 2 == 0 && level >= 20 { throw SavepointRefusal() }
      }
    } catch is SavepointRefusal {}
  }

  @Test("a savepoint returns the result of its body, and its changes are committed with the rest")
  func kept() throws {
    let before = try commit()
    let (first, second) = try store.write { tx in
      let first = try tx.insert("Marker", ["label": "a"])
      let second = try tx.savepoint { tx in
        try tx.set(first, "label", "b")
        return try tx.insert("Marker", ["label": "c"])
      }
      let label = try tx.value(first, "label")
      #expect(label == "b")
      return (first, second)
    }
    #expect(try store.value(first, "label") == "b" && store.value(second, "label") == "c")
    #expect(try commit() == before + 1)
    #expect(try store.history().last?.insertedCount == 2)
    try checked(store)
  }

  @Test("the error of the body is passed on, and changes before and after the savepoint are committed")
  func rolledBack() throws {
    let album = made.album
    try store.write { tx in
      try tx.set(album, "tick", 1)
      #expect(throws: SavepointRefusal.self) {
        try tx.savepoint { tx in
          try tx.setAttributes(album, ["tick": 2, "title": "changed"])
          throw SavepointRefusal()
        }
      }
      let (tick, title) = (try tx.value(album, "tick"), try tx.value(album, "title"))
      #expect(tick == 1 && title == "first")
      try tx.set(made.other, "tick", 3)
    }
    #expect(try store.value(album, "tick") == 1 && store.value(album, "title") == "first")
    #expect(try store.value(made.other, "tick") == 3)
    try checked(store)
  }

  @Test("an error that is swallowed inside a savepoint keeps the savepoint's changes")
  func swallowedInside() throws {
    try store.write { tx in
      try tx.savepoint { tx in
        try tx.set(made.album, "tick", 1)
        expectError(.wrongType) { try tx.set(made.album, "tick", "text") }
        expectError(.deleteDenied) { try tx.delete([made.people[0]]) }
        try tx.set(made.other, "tick", 2)
      }
    }
    #expect(try store.value(made.album, "tick") == 1 && store.value(made.other, "tick") == 2)
    #expect(try store.exists(made.people[0]))
    try checked(store)
  }

  @Test("an empty savepoint, or one that is rolled back alone, is no commit")
  func empty() throws {
    let (before, count) = (try commit(), try store.history().count)
    let stamp = try store.object(made.album).commit
    try store.write { tx in try tx.savepoint { _ in } }
    try store.write { tx in try tx.savepoint { tx in try tx.savepoint { _ in } } }
    try store.write { tx in try tx.rollingBack { _ in } }
    try store.write { tx in
      try tx.rollingBack { tx in
        try tx.set(made.album, "tick", 5)
        try tx.insert("Marker", relationships: ["album": [made.album]])
        try tx.delete([made.tags[0]])
        try tx.set(made.other, "cover", SavepointFixture.bytes(9))
      }
    }
    #expect(try commit() == before)
    #expect(try store.history().count == count)
    #expect(try store.object(made.album).commit == stamp)
    try checked(store)
  }

  @Test("nothing is left for the commit's stamps: only objects that are changed at the end carry its number")
  func stamps() throws {
    let before = try commit()
    let stamp = try store.object(made.album).commit
    try store.write { tx in
      try tx.rollingBack { tx in
        try tx.set(made.album, "tick", 5)
        try tx.setMembers(made.other, "photos", made.photos)
      }
      try tx.set(made.other, "tick", 1)
    }
    #expect(try commit() == before + 1)
    #expect(try store.object(made.other).commit == before + 1)
    for id in [made.album] + made.photos { #expect(try store.object(id).commit == stamp) }
    #expect(try store.history().last?.updatedProperties() == [made.other: ["tick"]])
  }

  // MARK: Nesting

  @Test("an inner savepoint that is rolled back leaves the outer one's changes")
  func innerRolledBack() throws {
    let ids = try store.write { tx in
      try tx.savepoint { tx in
        let first = try tx.insert("Marker", ["label": "outer"], relationships: ["album": [made.album]])
        try tx.rollingBack { tx in
          try tx.insert("Marker", ["label": "inner"], relationships: ["album": [made.album]])
          try tx.set(first, "label", "inner")
          try tx.delete([made.photos[3]])
        }
        return [first, try tx.insert("Marker", ["label": "last"], relationships: ["album": [made.album]])]
      }
    }
    #expect(try ids.map { try store.value($0, "label") } == ["outer", "last"])
    #expect(try Array(store.members(made.album, "markers").dropFirst()) == ids)
    #expect(try store.exists(made.photos[3]))
    #expect(try store.found("Marker", "label == 'inner'").isEmpty)
    try checked(store)
  }

  @Test("an outer savepoint that is rolled back takes along what an inner one kept")
  func outerRolledBack() throws {
    let lines = try store.lines()
    let before = try commit()
    try store.write { tx in
      try tx.rollingBack { tx in
        let marker = try tx.insert("Marker", ["label": "outer"])
        try tx.savepoint { tx in
          try tx.setToOne(marker, "album", made.album)
          try tx.set(made.album, "title", "inner")
          try tx.delete([made.photos[3]])
        }
        let isThere = try tx.exists(made.photos[3])
        #expect(!isThere)
      }
      let isThere = try tx.exists(made.photos[3])
      #expect(isThere)
    }
    #expect(try store.lines() == lines)
    #expect(try commit() == before)
    try checked(store)
  }

  @Test("fifty levels, every other one rolled back")
  func deep() throws {
    try store.write { tx in try nest(&tx, 0) }
    #expect(try store.value(made.other, "tick") == 19)
    #expect(try store.members(made.other, "markers").count == 20)
    #expect(try store.found("Marker", "label BEGINSWITH 'level'").count == 20)
    try checked(store)
  }

  @Test("a thousand savepoints one after the other, half of them rolled back")
  func many() throws {
    let ids = try store.write { tx in
      var ids: [ObjectID] = []
      for number in 0..<1000 {
        do {
          try tx.savepoint { tx in
            let id = try tx.insert(
              "Photo", ["code": .integer(Int64(1000 + number))], relationships: ["album": [made.other]])
            try tx.set(made.other, "tick", .integer(Int64(number)))
            if number % 2 == 1 { throw SavepointRefusal() }
            ids.append(id)
          }
        } catch is SavepointRefusal {}
      }
      return ids
    }
    #expect(ids.count == 500)
    #expect(try store.members(made.other, "photos") == ids)
    #expect(try store.value(made.other, "photoCount") == 500 && store.value(made.other, "tick") == 998)
    #expect(try store.found("Photo", "code >= 1000") == ids.sorted())
    #expect(try Set(store.lastTransaction().insertedIDs()) == Set(ids))
    try checked(store)
  }

  // MARK: Serials

  @Test("ids that a savepoint gave out are not given out again, also after opening the store again")
  func serials() throws {
    let lost = Mutex<[ObjectID]>([])
    let kept = try store.write { tx in
      try tx.rollingBack { tx in
        for _ in 0..<3 {
          let id = try tx.insert("Marker")
          lost.withLock { $0.append(id) }
        }
      }
      return try tx.insert("Marker")
    }
    let gone = lost.withLock { $0 }
    #expect(gone.map(\.serial) == [2, 3, 4] && kept.serial == 5)
    for id in gone { #expect(try !store.exists(id)) }
    try store.write { tx in
      try tx.rollingBack { tx in try tx.insert("Marker") }
      try tx.set(kept, "label", "x")
    }
    try test.reopen()
    #expect(try store.insert("Marker").serial == 7)
    // A transaction with nothing but a rolled-back savepoint behaves like one that was rolled back.
    try store.write { tx in try tx.rollingBack { tx in try tx.insert("Marker") } }
    #expect(try store.insert("Marker").serial == 9)
    try checked(store)
  }

  @Test("serials of nested savepoints are not reused either")
  func nestedSerials() throws {
    let serials = try store.write { tx in
      var serials: [UInt64] = []
      try tx.rollingBack { tx in
        serials.append(try tx.insert("Marker").serial)
        try tx.rollingBack { tx in serials.append(try tx.insert("Marker").serial) }
        serials.append(try tx.insert("Marker").serial)
        try tx.savepoint { tx in serials.append(try tx.insert("Marker").serial) }
      }
      serials.append(try tx.insert("Marker").serial)
      return serials
    }
    #expect(Set(serials).count == 5, "\(serials)")
    try checked(store)
  }

  // MARK: Failures

  @Test("a change that fails half way makes the savepoint fail, and the transaction continues")
  func failedChange() throws {
    let blobs = try store.blobCount()
    try store.write { tx in
      do {
        try tx.savepoint { tx in try fail(&tx) }
        Issue.record("the error was swallowed")
      } catch is SavepointRefusal {}
      try tx.set(made.album, "title", "after")
      try tx.set(made.album, "cover", SavepointFixture.bytes(4))
      try tx.insert("Marker", ["label": "after"])
    }
    #expect(try store.value(made.album, "tick") == 0 && store.value(made.album, "title") == "after")
    #expect(try store.data(made.other, "cover") == nil && store.data(made.album, "cover")?.first == 4)
    #expect(try store.found("Marker", "label == 'after'").count == 1)
    #expect(try store.blobCount() == blobs)
    try checked(store)
  }

  @Test("a failure that is swallowed inside a savepoint still rolls the savepoint back")
  func swallowedFailure() throws {
    let blobs = try store.blobCount()
    try store.write { tx in
      expectError(.transactionAborted) {
        try tx.savepoint { tx in
          try? fail(&tx)
          expectError(.transactionAborted) { try tx.set(made.album, "tick", 8) }
          let kind = tx.refusalOfSavepoint()
          #expect(kind == .transactionAborted)
        }
      }
      try tx.insert("Marker", ["label": "after"])
    }
    #expect(try store.value(made.album, "tick") == 0 && store.data(made.other, "cover") == nil)
    #expect(try store.found("Marker", "label == 'after'").count == 1)
    #expect(try store.blobCount() == blobs)
    try checked(store)
  }

  @Test("in a transaction that is abort-only, a savepoint throws and its body does not run")
  func abortOnly() throws {
    let before = try store.lines()
    expectError(.transactionAborted) {
      try store.write { tx in
        try? fail(&tx)
        let kind = tx.refusalOfSavepoint()
        #expect(kind == .transactionAborted)
      }
    }
    #expect(try store.lines() == before)
    try checked(store)
  }

  @Test("a failure before a savepoint is not repaired by rolling back to it")
  func failureBefore() throws {
    expectError(.transactionAborted) {
      try store.write { tx in
        try tx.savepoint { tx in
          try? fail(&tx)
          try? tx.rollingBack { _ in }
          try tx.set(made.album, "tick", 1)
        }
      }
    }
    #expect(try store.value(made.album, "tick") == 0)
    try checked(store)
  }

  @Test("an inner failure is repaired by the inner savepoint, and the outer one is kept")
  func innerFailure() throws {
    try store.write { tx in
      try tx.savepoint { tx in
        try tx.set(made.album, "tick", 1)
        #expect(throws: SavepointRefusal.self) {
          try tx.savepoint { tx in
            try tx.set(made.album, "tick", 2)
            try tx.setData(made.album, "cover") { writer in
              try writer.append(Data(repeating: 7, count: 3 << 20))
              throw SavepointRefusal()
            }
          }
        }
        let (tick, cover) = (try tx.value(made.album, "tick"), try tx.data(made.album, "cover"))
        #expect(tick == 1 && cover?.first == 1)
        try tx.set(made.other, "tick", 3)
      }
    }
    #expect(try store.value(made.album, "tick") == 1 && store.value(made.other, "tick") == 3)
    try checked(store)
  }

  @Test("the transaction's own error still rolls everything back")
  func transactionThrows() throws {
    let (lines, before) = (try store.lines(), try commit())
    #expect(throws: SavepointRefusal.self) {
      try store.write { tx in
        try tx.savepoint { tx in try tx.set(made.album, "tick", 1) }
        try tx.rollingBack { tx in try tx.delete([made.album]) }
        throw SavepointRefusal()
      }
    }
    #expect(try store.lines() == lines && commit() == before)
    // An error that leaves a savepoint and the transaction at once.
    #expect(throws: SavepointRefusal.self) {
      try store.write { tx in
        try tx.savepoint { tx in
          try tx.delete([made.album])
          throw SavepointRefusal()
        }
      }
    }
    #expect(try store.lines() == lines && commit() == before)
    try checked(store)
  }

  // MARK: Validation

  @Test("an invalid object that was rolled back does not make the commit fail")
  func invalidObject() throws {
    try store.write { tx in
      try tx.rollingBack { tx in try tx.insert("Tag") }
      try tx.rollingBack { tx in try tx.set(made.tags[0], "name", nil) }
      try tx.set(made.album, "tick", 1)
    }
    #expect(try store.value(made.tags[0], "name") == "tag 0")
    // An object of a kept savepoint makes it fail, and so does one from before the savepoint.
    #expect(
      expectIssues {
        try store.write { tx in
          try tx.savepoint { tx in try tx.insert("Tag") }
          try tx.rollingBack { tx in try tx.set(made.album, "tick", 2) }
        }
      } == ["requiredValueMissing Tag.name"])
    #expect(
      expectIssues {
        try store.write { tx in
          try tx.set(made.tags[0], "name", nil)
          try tx.rollingBack { tx in try tx.set(made.tags[0], "name", "mended") }
        }
      } == ["requiredValueMissing Tag.name"])
    try checked(store)
  }

  @Test("a rolled-back uniqueness conflict does not count, and one that the rollback restores does")
  func conflict() throws {
    let (first, second) = (made.photos[0], made.photos[1])
    try store.write { tx in
      try tx.rollingBack { tx in
        try tx.set(first, "code", 1)
        try tx.insert("Photo", ["code": 5])
      }
      try tx.set(second, "code", 100)
    }
    #expect(try store.value(first, "code") == 0)
    #expect(try store.found("Photo", "code == 1").isEmpty && store.found("Photo", "code == 100") == [second])
    let issues = expectIssues {
      try store.write { tx in
        try tx.set(first, "code", 100)
        try tx.rollingBack { tx in try tx.set(second, "code", 101) }
      }
    }
    #expect(!issues.isEmpty && issues.allSatisfy { $0 == "uniquenessConflict Photo.code" })
    // The owner of a value is deleted in a savepoint that is rolled back: the value is still taken.
    let taken = expectIssues {
      try store.write { tx in
        try tx.rollingBack { tx in try tx.delete([second]) }
        try tx.insert("Photo", ["code": 100])
      }
    }
    #expect(!taken.isEmpty)
    try checked(store)
  }

  @Test("merge policies see the remaining changes", arguments: MergePolicy.allCases.filter { $0 != .error })
  func mergePolicies(_ policy: MergePolicy) throws {
    let count = try store.objects("Photo").count
    let first = made.photos[0]
    try store.write(mergePolicy: policy) { tx in
      // It would replace the first photo.
      try tx.rollingBack { tx in try tx.insert("Photo", ["code": 0, "size": 1000]) }
      try tx.insert("Photo", ["code": 5000, "size": 7])
    }
    #expect(try store.objects("Photo").count == count + 1)
    #expect(try store.value(first, "size") == 0 && store.members(made.album, "photos") == made.photos)
    try store.write(mergePolicy: policy) { tx in
      try tx.savepoint { tx in try tx.insert("Photo", ["code": 0, "size": 1000]) }
      try tx.rollingBack { tx in try tx.set(first, "size", 3) }
    }
    #expect(try store.objects("Photo").count == count + 1)
    let isTaken = policy == .mergeByPropertyObjectTrump || policy == .overwrite
    #expect(try store.value(first, "size") == (isTaken ? 1000 : 0))
    try checked(store)
  }

  @Test("conflicts that were resolved in a savepoint are there again after its rollback")
  func resolvedInside() throws {
    let first = made.photos[0]
    try store.write(mergePolicy: .mergeByPropertyObjectTrump) { tx in
      let new = try tx.insert("Photo", ["code": 0, "size": 1000])
      try tx.rollingBack { tx in
        let resolved = try tx.resolveConstraintConflicts()
        #expect(resolved == [new: first])
        let isThere = try tx.exists(new)
        #expect(!isThere)
      }
      let (isThere, size) = (try tx.exists(new), try tx.value(first, "size"))
      #expect(isThere && size == 0)
      try tx.set(new, "size", 2000)
      try tx.savepoint { tx in
        let resolved = try tx.resolveConstraintConflicts()
        #expect(resolved == [new: first])
      }
    }
    #expect(try store.value(first, "size") == 2000)
    #expect(try store.found("Photo", "code == 0") == [first])
    try checked(store)
  }
}
