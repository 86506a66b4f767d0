import Foundation
import KVClone
import Testing

/// Errors about a snapshot of an earlier version of the model use the names of that version.
@Suite("kvclone: snapshots after a migration")
struct SnapshotModelTests {
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    let old = """
      <model><entity name="Note"><attribute name="title" optional="YES" attributeType="String"/></entity>
      <entity name="Gone"><attribute name="a" optional="YES" attributeType="String"/></entity></model>
      """
    let new = """
      <model><entity name="Page" elementID="Note"><attribute name="name" elementID="title" optional="YES" \
      attributeType="String"/></entity>
      <entity name="Fresh"><attribute name="a" optional="YES" attributeType="String"/></entity></model>
      """
    for (name, contents) in [("One", old), ("Two", new)] {
      let folder = scratch.file("M.xcdatamodeld/\(name).xcdatamodel")
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try scratch.write(contents, to: "M.xcdatamodeld/\(name).xcdatamodel/contents")
    }
    try scratch.succeed("init", "--model", scratch.file("M.xcdatamodeld"), "--model-version", "One")
    try scratch.succeed("insert", "Note", "title=a")
    try scratch.succeed("insert", "Gone", "a=1")
    try scratch.succeed("snapshot", "create", "before")
    try scratch.succeed("migrate", "--model", scratch.file("M.xcdatamodeld"), "--to", "Two")
    try scratch.succeed("snapshot", "create", "after")
  }

  @Test("an entity that the snapshot's model has not is an error about that model")
  func unknownEntities() throws {
    for arguments in [
      ["dump", "--snapshot", "before", "Fresh"], ["dump", "--snapshot", "before", "Page"],
      ["dump", "--snapshot", "before", "--from", "Fresh/1"], ["clone", "Fresh/1", "--from-snapshot", "before"],
      ["clone", "-n", "Fresh/1", "--from-snapshot", "before"],
      ["snapshot", "rollback", "before", "--object", "Fresh/1"],
    ] {
      let run = try scratch.run(["-s", scratch.store] + arguments)
      #expect(run.code == 1, "\(arguments)")
      for word in ["snapshot before", "“One”", "“Two”", "no entity", "Gone, Note"] {
        #expect(run.errors.contains(word), "\(arguments): \(run.errors)")
      }
    }
    // Without a snapshot, and for one of the current version, the model is the store's.
    for arguments in [["dump", "Note"], ["dump", "--snapshot", "after", "Note"], ["insert", "Note"]] {
      let run = try scratch.run(["-s", scratch.store, "--json"] + arguments)
      #expect(try run.code == 1 && run.error()["kind"] as? String == "unknownEntity", "\(arguments)")
      #expect(run.errors.contains("Fresh, Page") && !run.errors.contains("“One”"), "\(arguments): \(run.errors)")
    }
    // The name exists only in the snapshot's model.
    for arguments in [["clone"], ["clone", "-n"]] {
      let run = try scratch.run(["-s", scratch.store] + arguments + ["Gone/1", "--from-snapshot", "before"])
      #expect(run.code == 1 && run.errors.contains("Gone/1 of the snapshot before"), "\(run.errors)")
      #expect(run.errors.contains("“One”") && run.errors.contains("“Two”"), "\(run.errors)")
    }
    #expect(try scratch.succeed("dump", "--snapshot", "before", "Note").text.contains(#""title":"a""#))
    #expect(try scratch.succeed("dump", "Page").text.contains(#""name":"a""#))
  }

  @Test("a request, a name and a value by the library")
  func requests() throws {
    let store = try ObjectStore.open(at: scratch.store)
    defer { store.close() }
    let before = try store.snapshot(named: "before")
    func expectOwnModel(_ body: (borrowing ReadTransaction) throws -> Void) {
      let error = #expect(throws: StoreError.self) { try before.read(body) }
      #expect(
        error?.message.contains("“One”") == true && error?.message.contains("before") == true,
        "\(String(describing: error))")
    }
    expectOwnModel { _ = try $0.fetch(FetchRequest("Page")) }
    expectOwnModel { _ = try $0.fetch(FetchRequest("Note", predicate: QueryPredicate(format: "name == 'a'"))) }
    expectOwnModel { _ = try $0.objectID(named: "Page/1") }
    expectOwnModel { _ = try $0.value(try $0.objectID(named: "Note/1"), "name") }
    #expect(try before.read { try $0.fetch(FetchRequest("Note")).count } == 1)
  }
}
