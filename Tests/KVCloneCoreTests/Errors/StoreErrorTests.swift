import Glibc
import KVClone
import KVCloneLMDB
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

/// The error kind determines the caller's reaction: free space, repeat the write, or read the outcome first.
@Suite struct StoreErrorTests {
  @Test(arguments: [ENOSPC, EDQUOT, EFBIG])
  func aFullMapIsTheSameErrorWhereverItOccurs(code: Int32) {
    #expect(LMDBError.isDiskFull(code))
    // The meta page, which is written last, has an error of its own.
    let error = StoreError(.commitFailed(outcome: .notCommitted, errno: code))
    #expect(error.kind == .diskFull)
    let sameError: LMDBError = code == ENOSPC ? .diskFull : code == EDQUOT ? .quotaExceeded : .fileSizeLimit
    #expect(error.message == StoreError(sameError).message && StoreError(sameError).kind == .diskFull)
  }

  @Test func onlyACommitThatDidNotHappenMayBeRepeated() {
    #expect(StoreError(.commitFailed(outcome: .notCommitted, errno: EIO)).kind == .io)
    for outcome in [LMDBCommitOutcome.committed, .unknown] {
      for code in [EIO, ENOSPC] {
        #expect(StoreError(.commitFailed(outcome: outcome, errno: code)).kind == .commitOutcomeUnknown)
      }
    }
  }

  @Test("messages about an object contain its own entity, if known, and not the root of the inheritance")
  func entities() throws {
    let fixture = try CheckFixture()
    let (item, schema) = (fixture.items[3], fixture.store.schema)
    let missing = expectError(.objectNotFound) {
      try fixture.store.read { tx in _ = try tx.objectID(named: "Item/999") }
    }
    #expect(missing?.object == "Item/999" && missing?.entity == "Item")
    #expect(missing?.message.contains("Item/999") == true)
    let index = try #require(try schema.entity("Item").attributeIndex["title"])
    let title = try #require(try schema.entity("Item").attributes[index].field)
    try fixture.edit(item) { record, _ in
      let bytes: [UInt8] = [0xC3, 0x28]
      try bytes.withUnsafeBytes { try record.setVariable(title, $0) }
    }
    let name = "Item/\(item.serial)"
    let damaged = expectError(.corrupted) { _ = try fixture.store.value(item, "title") }
    #expect(damaged?.object == name && damaged?.entity == "Item", "\(damaged?.message ?? "")")
    let position = expectError(.invalidIndex) { try fixture.store.link(item, "tags", [fixture.tag], at: 0) }
    #expect(position?.object == name)
    // The entity is unknown if the bytes fail their checksum.
    try fixture.tamper(record: item, sealed: false) { $0[30] ^= 1 }
    let unread = expectError(.corrupted) { _ = try fixture.store.value(item, "title") }
    #expect(unread?.object == "Thing/\(item.serial)")
  }
}
