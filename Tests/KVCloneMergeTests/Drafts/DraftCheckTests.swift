import Foundation
import KVCloneMerge
import KVCloneOperations
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Checks of stores with drafts.
@Suite("Drafts: check") struct DraftCheckTests {
  /// Descriptions of bases in which one part is malformed.
  private static let descriptions: [[String: String]?] = [
    nil, [:], ["roots": "1"], ["clones": "1:1-2"], ["roots": "one", "clones": "1:1-2"],
    ["roots": "1;", "clones": "1:1-2"], ["roots": "1", "clones": "1:2"], ["roots": "1", "clones": "1:2-1"],
    ["roots": "1", "clones": "70000:1-2"], ["roots": "1", "clones": "65535:1-281474976710655"],
    ["roots": "1", "clones": "1:1-281474976710656"],
  ]

  @Test("P1: a malformed base of a draft is reported with a remedy, which deletes it", arguments: [false, true])
  func malformedBase(isOnBranch: Bool) throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let side = isOnBranch ? try store.branches.create("work") : store
    let draft = try fixture.draft(in: side)
    #expect(try side.drafts.isDraft(draft))
    let (name, value) = try #require(
      try Snapshots.all(side.readSession().storage, side.schema.tables).first(where: \.value.isDraft))
    for description in Self.descriptions {
      var damaged = value
      damaged.userInfo = try description.map { Array(try JSONEncoder().encode($0)) } ?? Array("no JSON".utf8)
      try plant(damaged, name, side)
      let issues = try store.check(CheckOptions(readData: true)).issues
      #expect(issues.map(\.kind) == [.snapshot], "\(String(describing: description)): \(issues.map(\.message))")
      #expect(issues.first?.branch == (isOnBranch ? "work" : nil))
      #expect(issues.first?.message.contains("snapshot delete --expired") == true)
      #expect(try !side.drafts.isDraft(draft))
    }
    _ = try side.deleteExpiredSnapshots()
    #expect(try Snapshots.all(side.readSession().storage, side.schema.tables).allSatisfy { !$0.value.isDraft })
    #expect(try side.exists(draft))
    try fixture.check()
  }

  private func plant(_ value: SnapshotValue, _ name: String, _ side: ObjectStore) throws {
    let key = Array(name.utf8)
    let bytes = value.encoded(seed: ValueEnvelope.seed(tableCode: .snapshots, key: key))
    try side.write { tx in
      try tx.change { session in
        try session.storage.put(session.schema.tables.snapshots, key.span.bytes, bytes.span.bytes)
        session.changes.isEmpty = false
      }
    }
  }
}
