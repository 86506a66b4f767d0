import CKVCloneLMDB
import Testing

@testable import KVCloneLMDB

/// Disk space that is reserved for deletes. `Tools/faults --class full-disk` tests deletes on disks that are full.
@Suite struct DiskReserveTests {
  private let store: TemporaryStore

  init() throws {
    store = try TemporaryStore()
  }

  private func given(_ lock: WriterLockFile) -> Int { Int(kvclone_given_room(lock.descriptor)) }

  @Test func spaceIsReservedReleasedAndReservedAgain() throws {
    let environment = try store.create()
    defer { environment.close() }
    let lock = try #require(environment.lockFile)
    let size = lock.reserve.load(ordering: .relaxed)
    try #require(size > 0, "the file system of TMPDIR keeps room for no file")
    #expect(given(lock) >= size)
    let length = try #require(try FileSystem.facts(store.path + "/writer.lock")).byteCount
    #expect(length <= 129, "the file is as long as before")

    // Plenty of space: the reserve is kept.
    try lock.settleReserve(isDeleteOnly: true, hasLittleRoom: false, grows: true, freeBytes: 0)
    #expect(given(lock) >= size)
    try lock.settleReserve(isDeleteOnly: true, hasLittleRoom: true, grows: true, freeBytes: 0)
    #expect(given(lock) < size)
    // Every other commit restores it.
    try lock.settleReserve(isDeleteOnly: false, hasLittleRoom: true, grows: false, freeBytes: 0)
    #expect(given(lock) >= size)
    let after = try #require(try FileSystem.facts(store.path + "/writer.lock")).byteCount
    #expect(after == length)
  }

  /// A full disk gives a part of the reserve, and an error: a delete needs that part.
  @Test func aPartOfTheReserveIsReleasedToo() throws {
    let environment = try store.create()
    defer { environment.close() }
    let lock = try #require(environment.lockFile)
    try #require(lock.reserve.load(ordering: .relaxed) > 0, "the file system of TMPDIR keeps room for no file")
    #expect(kvclone_give_up_room(lock.descriptor) == 0)
    let content = given(lock)
    #expect(kvclone_keep_room(lock.descriptor, 4096, 16384) == 0)
    #expect(given(lock) >= content + 16384)
    try lock.settleReserve(isDeleteOnly: true, hasLittleRoom: true, grows: true, freeBytes: 0)
    #expect(given(lock) == content)
  }
}
