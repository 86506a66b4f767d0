import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneBranches
@testable import KVCloneCore

/// The second reader reads branches as their stores do, and finds entries that contradict `Format.md`.
@Suite("Format.md: branches", .needsDataFile(.bytes)) struct SecondBranchTests {
  private let test: TestStore
  private let book: ObjectID
  private var store: ObjectStore { test.store }

  /// A store with snapshots, two branches and drafts. Both branches have an earlier layer.
  init() throws {
    test = try TestStore(snapshotModel)
    try test.store.setTracksHistory(true)
    book = try BranchFixture.fill(test.store, "A")
    let snapshot = try test.store.createSnapshot(named: "one")
    try BranchFixture.change(test.store, book)
    let (first, second) = try (
      test.store.branches.create("first", from: snapshot), test.store.branches.create("second")
    )
    try BranchFixture.change(first, book)
    _ = try BranchFixture.fill(test.store, "B")
    try second.createSnapshot(named: "own")
    _ = try second.delete([book])
    try test.store.branches.reset("first")
    try BranchFixture.change(first, book)
    try test.store.runWrite(label: "update", timeout: nil) { tx in
      try tx.change { session in
        try BranchManager.own(&session) { manager in _ = try manager.rebaseKeepingChanges("second") }
      }
    }
    var options = CloneOptions()
    options.keepsBase = true
    options.count = 2
    for side in [test.store, second] {
      let root = try side.clone([try BranchFixture.fill(side, "C")], options: options).root
      try side.write { tx in try tx.set(root, "title", .string("draft")) }
    }
    _ = try test.store.delete([book])
  }

  private static func text(_ store: ObjectStore) throws -> Substring {
    let text = try BranchFixture.text(store)
    return text[text.index(after: try #require(text.firstIndex(of: "\n")))...]
  }

  /// Reads the closed file.
  private func read() throws -> SecondStore {
    test.store.close()
    defer { try? test.reopen() }
    return try SecondStore(path: test.path)
  }

  private func expectAgreement() throws {
    let names = try store.branches.list().map(\.name)
    let texts = try names.map { try Self.text(store.branches.open($0)) }
    let ofStore = try Self.text(store)
    let second = try read()
    try second.check()
    #expect(try second.dump() == ofStore)
    let branches = try second.branches()
    #expect(branches.map(\.name) == names.sorted())
    for (name, text) in zip(names, texts) {
      let branch = try #require(branches.first { $0.name == name })
      #expect(try second.view(of: branch, layer: branch.layers.count - 1).dump() == text, "\(name)")
    }
  }

  @Test("branches, their earlier layers, their snapshots and drafts are read as the store reads them")
  func agreement() throws {
    #expect(try store.branches.list().count == 2)
    for name in ["first", "second"] { #expect(try BranchFixture.record(store, name).layers.count == 2) }
    try expectAgreement()
    for snapshot in try store.branches.open("first").snapshots() {
      try store.branches.open("first").deleteSnapshot(named: snapshot.name)
    }
    try expectAgreement()
    try store.branches.delete("second")
    try expectAgreement()
  }

  private func expectRefused(_ what: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let second = try read()
    #expect(throws: SecondError.self, "\(what)", sourceLocation: sourceLocation) { try second.check() }
  }

  @Test("wrong numbers of a branch, and entries in the wrong place, are found") func contradictions() throws {
    let key = Array("first".utf8)
    let record = try BranchFixture.record(store, "first")
    func plant(_ record: BranchValue) throws {
      let bytes = record.encoded(seed: ValueEnvelope.seed(tableCode: .branches, key: key))
      try BranchFixture.plant(store, .branches, key, bytes)
    }
    let changes: [(String, (inout BranchValue) -> Void)] = [
      ("entries", { $0.entryCount += 1 }), ("bytes", { $0.byteCount -= 1 }),
      ("changed objects", { $0.changedObjectCount += 1 }), ("objects", { $0.objectCounts[0].count += 1 }),
      ("last commit", { $0.lastCommit += 1_000 }), ("base", { $0.layers[0].baseEpoch += 1 }),
      ("name", { $0.layers[1].baseName = "@99" }), ("layer", { $0.layers.removeFirst() }),
    ]
    for (what, change) in changes {
      var wrong = record
      change(&wrong)
      try plant(wrong)
      try expectRefused(what)
    }
    try plant(record)
    try expectAgreement()
    let stray = Array("key".utf8)
    try BranchFixture.plant(store, layer: 9_999, .operations, stray, [])
    try expectRefused("no branch")
    try BranchFixture.plant(
      store, .overlays, OverlayKey.encode(layer: 9_999, table: .operations, key: stray.span.bytes), nil)
    try expectAgreement()
  }

  @Test("each damaged entry of branches is found by a checksum") func damage() throws {
    test.store.close()
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: test.path + "/data.mdb")))
    let file = try SecondFile(bytes)
    var tables: Set<UInt64> = []
    for name in ["branches", "overlays"] {
      for entry in try file.entries(name) {
        if name == "overlays", !tables.insert(secondNumber(entry.key[4..<6])).inserted { continue }
        for place in [entry.range.lowerBound, entry.range.upperBound - 1] {
          var damaged = bytes
          damaged[place] ^= 1
          #expect(throws: SecondError.self) { try SecondFile(damaged) }
        }
      }
    }
    #expect(tables.isSuperset(of: [1, 2, 4, 5, 6, 7, 8]))
  }
}
