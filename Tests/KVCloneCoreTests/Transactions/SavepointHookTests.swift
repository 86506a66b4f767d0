import Foundation
import KVClone
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVCloneCore
@testable import KVCloneOperations

/// Lifecycle hooks and savepoints, nested either way.
@Suite("Savepoints and life-cycle hooks")
struct SavepointHookTests {
  let test: TestStore
  let made: SavepointFixture
  var store: ObjectStore { test.store }

  init() throws {
    test = try TestStore(savepointModel, options: .tracking())
    made = try SavepointFixture(test.store)
  }

  private func register(_ entity: String, _ change: (inout ObjectLifecycle) -> Void) throws {
    var hooks = ObjectLifecycle()
    change(&hooks)
    try store.register(hooks, for: entity)
  }

  @Test("hooks of a commit run only for the remaining changes")
  func whatIsLeft() throws {
    let calls = ContractBox<[String]>([])
    try register("Marker") {
      $0.willSave = { tx, id in calls.change { $0.append("will \(id.serial)") } }
      $0.validateForInsert = { tx, id in calls.change { $0.append("insert \(id.serial)") } }
      $0.didSave = { _, id in calls.change { $0.append("did \(id.serial)") } }
    }
    try register("Album") {
      $0.willSave = { tx, id in calls.change { $0.append("album \(id.serial)") } }
      $0.validateForUpdate = { tx, id in calls.change { $0.append("update \(id.serial)") } }
      $0.validateForDelete = { tx, id in calls.change { $0.append("delete \(id.serial)") } }
      $0.didSave = { _, id in calls.change { $0.append("album did \(id.serial)") } }
    }
    let kept = try store.write { tx in
      try tx.rollingBack { tx in
        try tx.insert("Marker", relationships: ["album": [made.album]])
        try tx.set(made.album, "tick", 1)
        try tx.delete([made.other])
      }
      return try tx.insert("Marker")
    }
    // The delete itself called its hook, before the rollback.
    let saving = ["will \(kept.serial)", "insert \(kept.serial)", "did \(kept.serial)"]
    #expect(calls.value == ["delete \(made.other.serial)"] + saving)
    try checked(store)
  }

  @Test("awakeFromInsert that fails spoils its savepoint only")
  func awakeFails() throws {
    try register("Marker") {
      $0.awakeFromInsert = { tx, id in
        try tx.set(id, "label", "new")
        if id.serial % 2 == 0 { throw SavepointRefusal() }
      }
    }
    let ids = try store.write { tx in
      var ids: [ObjectID] = []
      for _ in 0..<6 {
        do {
          ids.append(try tx.savepoint { tx in try tx.insert("Marker", relationships: ["album": [made.album]]) })
        } catch let error as StoreError {
          #expect(error.kind == .hookFailed, "\(error)")
        }
      }
      return ids
    }
    #expect(ids.map(\.serial) == [3, 5, 7])
    #expect(try Array(store.members(made.album, "markers").dropFirst()) == ids)
    #expect(try store.found("Marker", "label == 'new'") == ids)
    try checked(store)
  }

  @Test("a savepoint inside awakeFromInsert")
  func insideAwake() throws {
    try register("Marker") {
      $0.awakeFromInsert = { tx, id in
        try tx.savepoint { tx in try tx.set(id, "label", "kept") }
        try tx.rollingBack { tx in
          try tx.set(id, "label", "lost")
          try tx.insert("Photo", ["code": 1])
        }
      }
    }
    let album = made.album
    let (first, second) = try store.write { tx in
      (
        try tx.insert("Marker", relationships: ["album": [album]]),
        try tx.savepoint { tx in try tx.insert("Marker", relationships: ["album": [album]]) }
      )
    }
    #expect(try store.value(first, "label") == "kept" && store.value(second, "label") == "kept")
    #expect(try store.members(album, "markers").suffix(2) == [first, second])
    #expect(try store.objects("Photo").count == 30)
    try checked(store)
  }

  @Test("a savepoint inside willSave, kept and rolled back")
  func insideWillSave() throws {
    let (album, other) = (made.album, made.other)
    try register("Marker") {
      $0.willSave = { tx, id in
        if try tx.value(id, "label") == "saved" { return }
        try tx.rollingBack { tx in
          try tx.set(album, "title", "lost")
          try tx.delete([id])
          try tx.insert("Tag")
        }
        try tx.savepoint { tx in
          try tx.set(id, "label", "saved")
          try tx.set(other, "title", "kept")
        }
      }
    }
    let id = try store.insert("Marker", ["label": "x"], relationships: ["album": [album]])
    #expect(try store.value(id, "label") == "saved" && store.found("Marker", "label == 'saved'") == [id])
    #expect(try store.value(album, "title") == "first" && store.value(other, "title") == "kept")
    #expect(try store.found("Album", "title == 'kept'") == [other])
    let told = try #require(try store.history().last)
    #expect(told.insertedCount == 1 && told.deletedCount == 0 && told.updatedCount == 2)
    try checked(store)
  }
}
