import Foundation
import KVClone
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

private let lifecycleModel = ManagedObjectModel("Lifecycle") {
  EntityDescription("Base", abstract: true) {
    AttributeDescription("name", .string)
    AttributeDescription("log", .string)
  }
  EntityDescription("Folder", parent: "Base") {
    AttributeDescription("size", .integer64, derivation: "files.@sum.size")
    AttributeDescription("saves", .integer64)
    RelationshipDescription("files", toMany: "File", inverse: "folder", deleteRule: .cascade)
  }
  EntityDescription("File", parent: "Base") {
    AttributeDescription("size", .integer64)
    RelationshipDescription("folder", toOne: "Folder", inverse: "files")
  }
}

/// The calls of hooks, in order.
private final class Calls: Sendable {
  private let calls = Mutex<[String]>([])

  func note(_ call: String) { calls.withLock { $0.append(call) } }

  /// Returns the calls since the last call of this function.
  func take() -> [String] {
    calls.withLock { calls in
      defer { calls = [] }
      return calls
    }
  }
}

private struct Refused: Error {}

@Suite("Life-cycle hooks")
struct LifecycleTests {
  let test: TestStore
  private let calls = Calls()
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(lifecycleModel) }

  private func register(_ entity: String, _ change: (inout ObjectLifecycle) -> Void) throws {
    var hooks = ObjectLifecycle()
    change(&hooks)
    try store.register(hooks, for: entity)
  }

  @Test("bytes that the caller gave win over those of awakeFromInsert, large ones too")
  func awakeWithLargeValues() throws {
    let model = ManagedObjectModel("M") { EntityDescription("Image") { AttributeDescription("data", .binary) } }
    let test = try TestStore(model)
    var hooks = ObjectLifecycle()
    hooks.awakeFromInsert = { tx, id in try tx.set(id, "data", .binary(Data(repeating: 1, count: 5000))) }
    try test.store.register(hooks, for: "Image")
    let given = Data(repeating: 2, count: 5000)
    let id = try test.store.write { tx in try tx.insert("Image", ["data": .binary(given)]) }
    #expect(try test.store.read { tx in try tx.data(id, "data") } == given)
    try checked(test.store)
  }

  @Test("awakeFromInsert sets what the caller does not, super-entity first, in batches too")
  func awake() throws {
    try register("File") { $0.awakeFromInsert = { tx, id in try tx.setAttributes(id, ["size": 1, "log": "file"]) } }
    try register("Base") {
      $0.awakeFromInsert = { tx, id in try tx.setAttributes(id, ["name": "new", "log": "base"]) }
    }
    let file = try store.insert("File", ["name": "given"])
    #expect(try store.value(file, "name") == "given")
    #expect(try store.value(file, "log") == "file")
    #expect(try store.value(file, "size") == 1)
    let folder = try store.insert("Folder", ["name": nil, "saves": 3], relationships: ["files": [file]])
    #expect(try store.value(folder, "name") == nil, "nil was given")
    #expect(try store.value(folder, "log") == "base")
    #expect(try store.value(folder, "saves") == 3)
    let batch = try store.write { tx in try tx.batchInsert("File", [[:], ["size": 9]], resultType: .objectIDs) }
    #expect(try batch.objectIDs.map { try store.value($0, "size") } == [1, 9])
    // A clone is no new object.
    try store.set(file, "log", "mine")
    #expect(try store.value(try store.clone(object: file), "log") == "mine")
    expectError(.unknownEntity) { try register("Nothing") { _ in } }
    try checked(store)
  }

  @Test("a hook that fails gives the transaction up")
  func awakeFails() throws {
    try register("File") { $0.awakeFromInsert = { _, _ in throw Refused() } }
    expectError(.transactionAborted) {
      try store.write { tx in
        var failure: StoreError?
        do throws(StoreError) { try tx.insert("File") } catch { failure = error }
        #expect(failure?.kind == .hookFailed && failure?.entity == "File" && failure?.object == "File/1")
      }
    }
    try register("Folder") { $0.awakeFromInsert = { tx, id in try tx.delete([id]) } }
    expectError(.hookFailed) { try store.insert("Folder") }
    #expect(try store.info().objectCount == 0)
  }

  @Test("willSave may change any object, and runs again until nothing changes")
  func willSave() throws {
    let calls = self.calls
    try register("File") {
      $0.willSave = { tx, id in
        calls.note("file \(id.serial)")
        guard let folder = try tx.toOne(id, "folder") else { return }
        try tx.set(folder, "log", "has files")
      }
    }
    try register("Folder") {
      $0.willSave = { tx, id in
        calls.note("folder \(id.serial)")
        guard case .integer(let saves)? = try tx.value(id, "saves"), saves < 3 else { return }
        try tx.set(id, "saves", .integer(saves + 1))
      }
    }
    let folder = try store.insert("Folder", ["saves": 0])
    #expect(try store.value(folder, "saves") == 3)
    #expect(calls.take() == Array(repeating: "folder 1", count: 4))
    let file = try store.insert("File", ["size": 5], relationships: ["folder": [folder]])
    #expect(try store.value(folder, "log") == "has files")
    #expect(try store.value(folder, "size") == 5)
    #expect(calls.take().contains("file \(file.serial)"))
    // Saving an unchanged object calls no hook.
    try store.set(file, "size", 5)
    #expect(calls.take().isEmpty)
    try register("File") { $0.willSave = { tx, id in try tx.set(id, "log", .string(UUID().uuidString)) } }
    let commit = try store.info().commit
    expectError(.hookFailed) { try store.set(file, "size", 6) }
    #expect(try store.info().commit == commit)
    try checked(store)
  }

  @Test("validation hooks reject inserts, updates and deletes, and the commit reports all of them")
  func validate() throws {
    try register("Base") {
      $0.validateForInsert = { tx, id in
        if try tx.value(id, "name") == nil { throw LifecycleRejection(property: "name", "needs a name") }
      }
      $0.validateForUpdate = { tx, id in
        if try tx.value(id, "name") == "bad" { throw Refused() }
      }
    }
    try register("Folder") {
      $0.validateForUpdate = { tx, id in
        // Derived attributes have their future values.
        if case .integer(let size)? = try tx.value(id, "size"), size > 10 {
          throw LifecycleRejection(property: "size", "is full")
        }
      }
    }
    try register("File") {
      $0.validateForDelete = { tx, id in if try tx.value(id, "log") == "locked" { throw Refused() } }
    }
    #expect(
      expectIssues { try store.write { tx in for _ in 0..<2 { try tx.insert("File") } } }
        == ["refusedByHook File.name", "refusedByHook File.name"])
    let folder = try store.insert("Folder", ["name": "f"])
    let file = try store.insert("File", ["name": "a", "log": "locked"], relationships: ["folder": [folder]])
    #expect(expectIssues { try store.set(file, "name", "bad") } == ["refusedByHook File."])
    #expect(
      expectIssues {
        try store.write { tx in
          try tx.set(file, "size", 11)
          try tx.set(folder, "name", "g")
        }
      } == ["refusedByHook Folder.size"])
    // Through its folder, which cascades.
    #expect(expectIssues { try store.delete([folder]) } == ["refusedByHook File."])
    let all = FetchRequest("Folder")
    #expect(expectIssues { _ = try store.write { tx in try tx.batchDelete(all) } } == ["refusedByHook File."])
    try store.write { tx in
      try tx.set(file, "log", nil)
      try tx.delete([folder])
    }
    #expect(try store.info().objectCount == 0)
    try checked(store)
  }

  @Test("didSave comes after the commit, outside of the transaction, for clones too")
  func didSave() throws {
    let calls = self.calls
    try register("Base") {
      $0.didSave = { store, id in
        let name = try? store.read { tx in try tx.name(of: id) }
        calls.note(name ?? "gone")
      }
    }
    let (folder, file) = try store.write { tx in
      let folder = try tx.insert("Folder")
      let gone = try tx.insert("File")
      try tx.delete([gone])
      return (folder, try tx.insert("File", relationships: ["folder": [folder]]))
    }
    #expect(calls.take().sorted() == ["File/3", "Folder/1"])
    try store.set(file, "size", 1)
    #expect(calls.take() == ["File/\(file.serial)"])
    struct Abort: Error {}
    #expect(throws: Abort.self) {
      try store.write { tx in
        try tx.set(file, "size", 2)
        throw Abort()
      }
    }
    #expect(calls.take().isEmpty)
    let clones = try store.clone([folder])
    #expect(calls.take().count == clones.objectCount)
    try register("File") {
      $0.didSave = { store, id in
        // The hook may begin another transaction; one without changes calls no hook.
        try? store.set(id, "log", "saved")
      }
    }
    try store.set(file, "size", 3)
    #expect(try store.value(file, "log") == "saved")
    try checked(store)
  }

  @Test("objects that a dump is loaded from are not new")
  func load() throws {
    try register("File") { $0.awakeFromInsert = { tx, id in try tx.set(id, "log", "new") } }
    var lines = Array((#"{"id":"File/1","attributes":{"name":"a"}}"# + "\n").utf8)
    _ = try store.load { buffer in
      defer { lines = [] }
      buffer += lines
      return !lines.isEmpty
    }
    #expect(try store.value(try #require(try store.objects("File").first), "log") == nil)
  }
}
