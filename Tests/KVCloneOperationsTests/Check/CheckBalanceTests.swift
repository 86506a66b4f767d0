import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneOperations

/// `check` compares both sides of links and indexes by sums, and looks up entries only if the sums differ.
///
/// `CheckLinkTests` tests the detection for each kind of corruption.
@Suite struct CheckBalanceTests {
  @Test func soundLinksAndIndexesNeedNoLookups() throws {
    let fixture = try CheckFixture()
    try expectEven(fixture.store)
    try fixture.store.write { tx in
      try tx.delete([fixture.items[3]])
      try tx.setMembers(fixture.items[5], "related", Array(fixture.items.suffix(12)))
      try tx.insert("Folder", ["code": .string("C")], relationships: ["sorted": [fixture.items[7], fixture.items[2]]])
    }
    try expectEven(fixture.store)
  }

  @Test func fetchIndexesNeedNoLookups() throws {
    let model = ManagedObjectModel("Indexed") {
      EntityDescription("Note", indexes: [FetchIndexDescription("byTitle", [.init("title")])]) {
        AttributeDescription("title", .string)
      }
    }
    let files = try TestStore(model)
    // Equal values, nil, and strings that are truncated in keys.
    try files.store.write { tx in
      for title in ["a", "a", nil, String(repeating: "x", count: 900), String(repeating: "x", count: 901)] {
        try tx.insert("Note", title.map { ["title": .string($0)] } ?? [:])
      }
    }
    try expectEven(files.store)
  }

  /// Strings that a constraint's keys truncate at the same position have equal keys: they are looked up, and are valid.
  @Test func uniqueTextsThatAreCutAlikeAreNoDamage() throws {
    let fixture = try CheckFixture()
    try fixture.store.write { tx in
      for end in ["1", "2"] {
        try tx.insert("Tag", ["name": .string(String(repeating: "x", count: 900) + end)])
      }
    }
    let (links, indexes) = try balance(fixture.store)
    #expect(links)
    #expect(!indexes)
    try fixture.expect()
  }

  private func expectEven(_ store: ObjectStore, _ location: SourceLocation = #_sourceLocation) throws {
    let (links, indexes) = try balance(store)
    #expect(links && indexes, sourceLocation: location)
    let report = try store.check()
    #expect(report.isClean, sourceLocation: location)
  }

  private func balance(_ store: ObjectStore) throws -> (links: Bool, indexes: Bool) {
    let checker = StoreChecker(try store.readSession())
    let run = CheckRun(schema: store.schema, options: CheckOptions())
    try checker.checkRecords(run)
    return (try checker.linksAreEven(run), try checker.indexesAreEven(run))
  }
}
