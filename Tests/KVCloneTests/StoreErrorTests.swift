import Glibc
import KVCloneLMDB
import Testing

@testable import KVClone

/// What a caller is told decides what it does: make room, repeat the write, or look first.
@Suite struct StoreErrorTests {
  @Test(arguments: [ENOSPC, EDQUOT, EFBIG])
  func noRoomIsToldAlikeWhereverItShows(code: Int32) {
    #expect(LMDBError.isDiskFull(code))
    // The meta page, which is written last, has an error of its own.
    let error = StoreError(.commitFailed(outcome: .notCommitted, errno: code))
    #expect(error.kind == .diskFull)
    #expect(error.message == StoreError(.diskFull).message)
  }

  @Test func onlyACommitThatDidNotHappenMayBeRepeated() {
    #expect(StoreError(.commitFailed(outcome: .notCommitted, errno: EIO)).kind == .io)
    for outcome in [LMDBCommitOutcome.committed, .unknown] {
      for code in [EIO, ENOSPC] {
        #expect(StoreError(.commitFailed(outcome: outcome, errno: code)).kind == .commitUnknown)
      }
    }
  }
}
