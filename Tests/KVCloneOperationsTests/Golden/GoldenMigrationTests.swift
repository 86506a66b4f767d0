import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// Later steps on stores of each version: a migration of the model, incremental backups, and a write-ahead log.
@Suite("Stores of all format versions, migrated, restored and recovered")
struct GoldenMigrationTests {
  /// The migration adds its own snapshot; the contents of the others were recorded with the golden file.
  @Test(
    "migrated to a next model, twice, as an oracle says; their snapshots read as before",
    arguments: GoldenStore.versions)
  func migrated(version: Int) throws {
    let migrated = MigratedStore(try TestStore(placedBy: { try GoldenStore.place("v\(version).store", at: $0) }))
    let golden = try GoldenStore.text("v\(version).dump.txt")
    let former = try migrated.store.snapshots().map(\.name)
    #expect(former.count == [3: 0, 4: 0, 5: 1, 6: 2, 7: 3][version])
    // A migration of objects is refused before.
    for branch in try migrated.store.branches.list() { try migrated.store.branches.delete(branch.name) }
    let second = migrated.model.next("Golden next") { draft in
      draft.rename("Note", attribute: "title", to: "heading")
      draft.rename("Folder", relationship: "notes", to: "content")
      draft.rename(entity: "Tag", to: "Label")
      draft.remove("flag", from: "Note")
      draft.attribute("Note", "size") { $0.type = .double }
      draft.attribute("Note", "big") { $0.type = .string }
      draft["Note"].attributes.append(AttributeDescription("rank", .integer32, optional: false, default: 7))
      draft["Note"].indexes.append(FetchIndexDescription("byRank", [.init("rank")]))
    }
    let third = second.next("Golden after next") { draft in
      draft.remove("place", from: "Note")
      draft.attribute("Pinned", "reason") {
        $0.name = "why"; $0.renamingIdentifier = "reason"
      }
    }
    for (model, what) in [(second, "once"), (third, "twice")] {
      let isDone = try migrated.migrate(to: model, "v\(version), \(what)")
      #expect(isDone)
      #expect(try migrated.store.info().formatVersion == max(6, version))
      for name in former {
        let shown = try GoldenStore.dump { try migrated.store.snapshot(named: name).dump(to: $0) }
        #expect(golden.contains("snapshot \(name)\n" + shown), "v\(version), \(what): \(name)")
      }
    }
    try migrated.workOn(seed: UInt64(version), "v\(version)")
    try migrated.deleteSnapshots("v\(version)")
  }

  /// The increment was created from the store of version 5 after further changes. A migrated store has no increments
  /// until it has another snapshot.
  @Test("the golden increment is put onto the golden store of version 5, and refused elsewhere")
  func increment() throws {
    try Self.makeIncrementIfMissing()
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    for name in ["v4.store", "v5.store", "v5.increment"] { try GoldenStore.place(name, at: root + "/" + name) }
    expectError(.incrementalBackup) { _ = try ObjectStore.open(at: root + "/v5.increment") }
    expectError(.brokenChain) {
      try ObjectStore.restore(from: [root + "/v4.store", root + "/v5.increment"], to: root + "/wrong")
    }
    try ObjectStore.restore(from: [root + "/v5.store", root + "/v5.increment"], to: root + "/whole")
    try Self.compare(root + "/whole", with: "v5.increment.dump", snapshots: "v5.dump")
  }

  /// A possible state after a power failure: the log has commits that are missing in the data file.
  @Test("the golden commit log is recovered from its two files")
  func commitLog() throws {
    try Self.makeLogIfMissing()
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    try GoldenStore.place("v6.logged", log: "v6.log", at: root + "/logged")
    try Self.compare(root + "/logged", with: "v6.log.dump", snapshots: "v6.dump")
    // Without its log the file has the previous state, so the log is necessary.
    try GoldenStore.place("v6.logged", at: root + "/bare")
    let bare = try ObjectStore.open(at: root + "/bare")
    defer { bare.close() }
    let shown = try GoldenStore.dumps(bare)
    #expect(try GoldenStore.text("v6.dump.txt") == shown)
  }

  /// Compares the store with the recorded contents, and its snapshots with their earlier contents; then changes it.
  private static func compare(_ path: String, with dump: String, snapshots: String) throws {
    let store = try ObjectStore.open(at: path)
    defer { store.close() }
    try checked(store)
    let shown = try GoldenStore.dump { try store.dump(to: $0) }
    #expect(try GoldenStore.text(dump + ".txt") == shown)
    let former = try GoldenStore.text(snapshots + ".txt")
    let names = try store.snapshots().map(\.name)
    #expect(names.count == former.split(separator: "\n").count { $0.hasPrefix("snapshot ") })
    for name in names {
      let shown = try GoldenStore.dump { try store.snapshot(named: name).dump(to: $0) }
      #expect(former.contains("snapshot \(name)\n" + shown))
    }
    let notes = try store.objects("Note")
    try store.clone([notes[20]])
    try store.delete([notes[2]])
    try checked(store)
  }

  // MARK: Creating them

  /// Inserts an object with a blob and a position in a list, changes one, and deletes one.
  private static func work(_ store: ObjectStore) throws {
    let notes = try store.objects("Note")
    let folder = try store.objects("Folder")
    try store.insert(
      "Note", ["title": "added later", "data": .binary(Data(repeating: 3, count: 6_000))],
      relationships: ["folder": folder])
    try store.set(notes[12], "title", "changed later")
    try store.delete([notes[30]])
  }

  private static func makeIncrementIfMissing() throws {
    guard GoldenStore.isToBeMade("v5.increment") else { return }
    let test = try TestStore(placedBy: { try GoldenStore.place("v5.store", at: $0) })
    try work(test.store)
    try checked(test.store)
    try GoldenStore.write(GoldenStore.dump { try test.store.dump(to: $0) }, to: "v5.increment.dump")
    try test.store.backup(to: test.root + "/increment", options: BackupOptions(since: "before"))
    try GoldenStore.keep(test.root + "/increment/data.mdb", as: "v5.increment")
  }

  private static func makeLogIfMissing() throws {
    guard GoldenStore.isToBeMade("v6.log") else { return }
    let test = try TestStore(placedBy: { try GoldenStore.place("v6.store", at: $0) })
    var options = StoreOptions()
    options.journalMode = .writeAheadLog
    try test.reopen(options: options)
    // The first commit ties the log to the file.
    try test.store.write { _ in }
    try GoldenStore.keep(test.path + "/data.mdb", as: "v6.logged")
    try work(test.store)
    try checked(test.store)
    try GoldenStore.write(GoldenStore.dump { try test.store.dump(to: $0) }, to: "v6.log.dump")
    try GoldenStore.keep(test.path + "/commit.log", as: "v6.log")
  }
}
