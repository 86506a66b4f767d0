import Foundation
import Testing

@testable import KVCloneLMDB

/// Rules 6, 8 and 12: stores on full and failing media, with limits, and after crashes, with real ones.
@Suite struct MediaTests {
  let store: TemporaryStore

  init() throws {
    store = try TemporaryStore()
  }

  // MARK: Creation

  @Test func aCreationThatWasKilledIsSweptByTheNextOne() throws {
    let manager = FileManager.default
    for _ in 0..<2 { #expect(try Peer(store.path, ["create-and-die"]).finish() == []) }
    // The second creation swept the leftovers of the first.
    #expect(try manager.contentsOfDirectory(atPath: store.root).count == 1)
    // Directories of other names, and files of others, stay.
    let other = store.root + "/.other.creating-abcdef"
    try FileSystem.createDirectory(other)
    let foreign = store.root + "/.store.creating-notes-of-mine"
    try FileSystem.createDirectory(foreign)
    _ = try store.create()
    #expect(
      try Set(manager.contentsOfDirectory(atPath: store.root)) == [
        "store", ".other.creating-abcdef", ".store.creating-notes-of-mine",
      ])
  }

  @Test func aCreationThatIsAtWorkIsNotSwept() throws {
    let path = store.path
    #expect(throws: LMDBError.storeExists(path: path)) {
      _ = try LMDBEnvironment.create(at: path, tables: ["a"]) { _ in
        let names = try FileManager.default.contentsOfDirectory(atPath: store.root)
        CreationDirectory.sweep(for: StorePaths(path))
        #expect(try FileManager.default.contentsOfDirectory(atPath: store.root) == names && names.count == 1)
        // Another process may create the same store concurrently; the first to finish wins.
        #expect(try Peer(path, ["create"]).finish() == ["ok"])
      }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: store.root) == ["store"])
  }

  // MARK: Limits and full disks

  @Test func theLongestFileAllowedIsAFullDisk() throws {
    try store.prepare()
    let peer = try Peer(
      store.path,
      ["limit-file=1048576", "open", "put=10", "put=4000", "count", "put=20", "limit-file=0", "put=4000", "count"])
    #expect(
      peer.finish() == ["ok", "ok", "ok", "error diskFull", "count 11", "ok", "ok", "ok", "count 4001"])
    let environment = try store.open()
    try environment.openTables(["a"], create: false)
    #expect(try environment.auditPages().isConsistent)
  }

  @Test(.enabled(if: Peer.canMount, "mounting needs root"))
  func aFullDiskIsAnErrorAndNoMore() throws {
    try FileSystem.createDirectory(store.root + "/disk")
    let lines = try Peer.script(
      """
      mount -t tmpfs -o size=8m none "$2/disk"
      "$1" lmdb "$2/disk/store" create put=1000 put=20000 count put=100 count delete=200 count close
      dd if=/dev/zero of="$2/disk/filler" bs=4096 2>/dev/null || true
      "$1" lmdb "$2/disk/store" open count put=3000 count delete=100 count
      rm "$2/disk/filler"
      "$1" lmdb "$2/disk/store" open put=3000 count
      """, root: store.root)
    #expect(
      lines == [
        "ok", "ok", "error diskFull", "count 1000", "ok", "count 1000", "delete 200", "count 800", "ok",
        "ok", "count 800", "error diskFull", "count 800", "delete 100", "count 700",
        "ok", "ok", "count 3000",
      ])
  }

  @Test func aShortWriteOnAFullDiskIsAFullDisk() throws {
    let environment = try store.create()
    #expect(environment.error(EIO, "mdb_txn_commit") == .io(errno: EIO, operation: "mdb_txn_commit"))
    #expect(environment.error(ENOSPC, "mdb_txn_commit") == .diskFull)
    #expect(environment.error(EAGAIN, "mdb_txn_begin") == .pidNamespace)
  }

  // MARK: Read-only

  @Test(.enabled(if: Peer.canMount, "mounting needs root"))
  func aReadOnlyMediumIsReadWithoutLock() throws {
    try FileSystem.createDirectory(store.root + "/disk")
    let lines = try Peer.script(
      """
      mount -t tmpfs -o size=8m none "$2/disk"
      "$1" lmdb "$2/disk/store" create put=5 close
      mount -o remount,ro "$2/disk"
      "$1" lmdb "$2/disk/store" readonly open begin count put=1 writer end close
      "$1" lmdb "$2/disk/store" open
      """, root: store.root)
    #expect(lines.count == 12 && lines[3] == "ok")
    #expect(lines[4...10] == ["ok without lock", "ok", "count 5", "error readOnly", "none", "ok", "ok"])
    #expect(lines.last == "error io \(EROFS)")
  }

  @Test(.enabled(if: Peer.isRoot, "root only: root itself is held by no mode, so another user is tried"))
  func aStoreThatMayOnlyBeReadIsOpenedReadOnly() throws {
    try store.prepare()
    let manager = FileManager.default
    for path in [store.root, store.path, store.data, store.path + "/lock.mdb", store.path + "/writer.lock"] {
      try manager.setAttributes([.ownerAccountID: 65534], ofItemAtPath: path)
    }
    try store.setMode(0o400, store.data)
    try store.setMode(0o500, store.path)
    let peer = try Peer(store.path, ["user=65534", "readonly", "open", "count", "put=1", "writer", "close"])
    #expect(peer.finish() == ["ok", "ok", "ok", "count 1", "error readOnly", "none", "ok"])
    let writing = try Peer(store.path, ["user=65534", "open"])
    #expect(writing.finish().last?.contains("mode 0400") == true)
  }

  @Test func aReadOnlyEnvironmentSeesWhoWrites() throws {
    try store.prepare()
    var options = LMDBOptions()
    options.isReadOnly = true
    let environment = try store.open(options)
    #expect(environment.currentWriter == nil && !environment.readsWithoutLock)
    let peer = try Peer(store.path, ["budget=1048576", "open", "spill-forever"])
    #expect(peer.lines(3).last == "spilling")
    #expect(environment.currentWriter?.label == "peer" && environment.currentWriter?.pid == peer.pid)
    peer.kill()
    #expect(environment.currentWriter == nil)
    let table = try environment.openTables(["a"], create: false)[0]
    #expect(try environment.beginRead().keys(table) == ["key"])
  }
}
