import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Uploads of two processes into one store: neither sweeps uploads of the other in progress, and those of a killed
/// process are deleted.
@Suite("Staged data of two processes")
struct BlobStagingPeerTests {
  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(stagingModel) }

  /// Makes a second process stage `mebibytes`, completely written.
  private func stagingPeer(_ mebibytes: Int) throws -> PeerProcess {
    let peer = try PeerProcess("stage", [test.location, String(mebibytes)])
    #expect(peer.hear() == "open")
    for number in 0..<mebibytes {
      try peer.tell("go")
      #expect(peer.hear() == "piece \(number)")
    }
    try peer.tell("end")
    #expect(peer.hear() == "staged \(mebibytes << 20)")
    return peer
  }

  private func stageAndDrop() throws {
    _ = try store.stageBlob { writer in try writer.append(Data(count: 3000)) }
  }

  @Test("a slow upload does not block writers, and is not swept while its process lives")
  func slow() throws {
    let id = try store.insert("File")
    let peer = try PeerProcess("stage", [test.location, "9"])
    #expect(peer.hear() == "open")
    for number in 0..<9 {
      try peer.tell("go")
      #expect(peer.hear() == "piece \(number)")
      // No waiting: the lock is free between the chunks.
      try store.write(timeout: .zero) { tx in try tx.set(id, "name", .string("\(number)")) }
      try stageAndDrop()
    }
    try peer.tell("end")
    #expect(peer.hear() == "staged \(9 << 20)")
    // Two sweeps, one by a new upload, one by opening.
    try stageAndDrop()
    try test.reopen()
    #expect(try store.blobCounts() == BlobCounts(pending: 1, chunks: 10, staged: 1))
    try checked(store)
    try peer.tell("use \(try store.read { tx in try tx.name(of: id) }) data")
    #expect(peer.hear() == "used")
    #expect(try peer.finish() == 0)
    try stageAndDrop()
    try test.reopen()
    #expect(try store.blobCounts() == BlobCounts(complete: 1, chunks: 10))
    let expected = (0..<9).reduce(into: Data()) { $0 += Data(repeating: UInt8($1), count: 1 << 20) }
    #expect(try store.data(id, "data") == expected)
    try checked(store)
  }

  @Test("what a killed process had under way is swept by the next one that opens the store", .needsDataFile(.lease))
  func killed() throws {
    let peer = try stagingPeer(5)
    try test.reopen()
    #expect(try store.blobCounts() == BlobCounts(pending: 1, chunks: 6, staged: 1))
    peer.kill()
    try test.reopen()
    #expect(try store.blobCounts() == BlobCounts())
    try checked(store)
  }

  @Test("the uploads of a killed process are swept by the next upload, which uses another byte", .needsDataFile(.lease))
  func killedAndNext() throws {
    let peer = try stagingPeer(5)
    let own = try store.stageBlob { writer in try writer.append(Data(count: 3000)) }
    peer.kill()
    let next = try store.stageBlob { writer in try writer.append(Data(count: 3000)) }
    #expect(try store.blobCounts() == BlobCounts(pending: 2, chunks: 2, staged: 2))
    withExtendedLifetime((own, next)) {}
    try checked(store)
  }

  @Test("what a living process dropped is swept by another one")
  func dropped() throws {
    let peer = try stagingPeer(2)
    try stageAndDrop()
    #expect(try store.blobCounts().pending == 2)
    try peer.tell("drop")
    #expect(peer.hear() == "dropped")
    try test.reopen()
    #expect(try store.blobCounts() == BlobCounts())
    #expect(try peer.finish() == 0)
  }

  @Test("a copy of the store has nothing under way, the original still has", .needsDataFile(.copiedDirectory))
  func copied() throws {
    let id = try store.insert("File")
    let peer = try stagingPeer(3)
    let copy = test.root + "/copy.kvclone"
    store.close()
    try FileManager.default.copyItem(atPath: test.path, toPath: copy)
    let other = try ObjectStore.open(at: copy)
    #expect(try other.blobCounts() == BlobCounts())
    try checked(other)
    other.close()
    try test.reopen()
    #expect(try store.blobCounts().pending == 1)
    try peer.tell("use \(try store.read { tx in try tx.name(of: id) }) data")
    #expect(peer.hear() == "used")
    #expect(try peer.finish() == 0)
    #expect(try store.data(id, "data")?.count == 3 << 20)
    try checked(store)
  }
}
