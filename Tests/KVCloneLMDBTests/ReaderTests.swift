import Foundation
import Testing

@testable import KVCloneLMDB

/// Rules 3, 11 and 12: readers that are pooled, dead, forked, or of another PID namespace.
@Suite struct ReaderTests {
  let store: TemporaryStore

  init() throws {
    store = try TemporaryStore()
  }

  @Test func aThousandReadersInTurnTakeOneSlot() throws {
    let environment = try store.create()
    for _ in 0..<1000 { #expect(try environment.beginRead().commitNumber > 0) }
    #expect(try environment.info().readerCount == 1)
    #expect(try environment.liveReaders().count == 1)
  }

  @Test func aSlotIsTwoCacheLines() {
    #expect(MemoryLayout<ReaderSlot>.stride == 128)
  }

  @Test func readersBeyondThePoolGiveTheirSlotBack() throws {
    let environment = try store.create()
    try withReaders(environment, 40)
    #expect(try environment.liveReaders().count == EnvironmentCore.slotCount)
    try withReaders(environment, 40)
    #expect(try environment.info().readerCount == 40)
  }

  private func withReaders(_ environment: LMDBEnvironment, _ count: Int) throws {
    if count == 0 { return }
    let reader = try environment.beginRead()
    try withReaders(environment, count - 1)
    #expect(reader.commitNumber > 0)
  }

  @Test func aClosedEnvironmentStaysClosedWhenAnotherIsOpened() throws {
    let first = try store.create()
    first.close()
    let second = try LMDBEnvironment.create(at: store.root + "/other", tables: ["a"])
    #expect(throws: LMDBError.closed) { _ = try first.beginRead() }
    #expect(throws: LMDBError.closed) { _ = try first.beginWrite() }
    first.close()
    _ = try second.beginRead()
  }

  /// Threads begin and end reads while another one closes: no thread reads a closed environment, and it is closed in
  /// the end.
  @Test func closesUnderReaders() throws {
    for _ in 0..<20 {
      let environment = try FileSystem.exists(store.path) ? store.open() : store.create()
      let group = DispatchGroup()
      for _ in 0..<3 {
        DispatchQueue.global().async(group: group) {
          do throws(LMDBError) {
            while true { _ = try environment.beginRead().commitNumber }
          } catch {
            if error != .closed { Issue.record("\(error)") }
          }
        }
      }
      usleep(500)
      environment.close()
      group.wait()
    }
    _ = try store.open()
  }

  @Test func aDeadReaderIsFoundAfterSoManyCommits() throws {
    let environment = try store.create()
    let table = try environment.table(named: "a")
    let value = [UInt8](repeating: 1, count: 40_000)
    func commit(_ times: Int) throws -> Int {
      for _ in 0..<times {
        var writer = try environment.beginWrite()
        try writer.put(table, [1].span.bytes, value.span.bytes)
        try writer.commit()
      }
      return try environment.info().lastPage
    }
    _ = try commit(4)
    let peer = try Peer(store.path, ["open", "begin", "wait"])
    #expect(peer.lines(3).last == "waiting")
    #expect(try environment.liveReaders().contains { $0.pid == peer.pid && $0.commit != nil })
    peer.kill()
    // Its slot is still taken, and pages cannot be reused.
    let before = try commit(50)
    let grown = try commit(50)
    #expect(grown - before >= 500)
    let interval = Int(EnvironmentCore.commitsBetweenReaderChecks)
    let checked = try commit(interval)
    #expect(try !environment.liveReaders().contains { $0.pid == peer.pid })
    #expect(try commit(100) == checked)
    #expect(try environment.auditPages().isConsistent)
  }

  @Test func aDeadReadersSlotIsUsedAgainWhenSlotsAreFull() throws {
    var options = LMDBOptions()
    options.maximumReaders = 1
    let environment = try LMDBEnvironment.create(at: store.path, tables: ["a"], options: options)
    environment.close()
    let again = try store.open(options)
    let peer = try Peer(store.path, ["open", "begin", "wait"])
    #expect(peer.lines(3).last == "waiting")
    #expect(throws: LMDBError.readersFull) { _ = try again.beginRead() }
    peer.kill()
    _ = try again.beginRead()
  }

  @Test func aForkedChildMayUseNothingOfItsParentsAndOpenItsOwn() throws {
    try store.prepare()
    // 1 + 2 + 4: read, write and info rejected; 8: reopened. The parent's snapshot is still its own afterwards.
    let peer = try Peer(store.path, ["open", "begin", "fork", "count", "put=3", "end", "count"])
    #expect(peer.finish() == ["ok", "ok", "child 15", "count 1", "ok", "ok", "count 4"])
  }

  @Test(.enabled(if: Peer.canUnsharePIDs, "unshare --pid is not permitted here"))
  func aProcessWithOurNumberInAnotherNamespaceIsNamed() throws {
    try store.prepare()
    // Both are process 1 of their namespace.
    let wrapper = ["unshare", "--fork", "--pid", "--kill-child"]
    let first = try Peer(store.path, ["open", "begin", "wait", "end"], wrapper: wrapper)
    #expect(first.lines(3) == ["ok", "ok", "waiting"])
    let second = try Peer(store.path, ["open"], wrapper: wrapper)
    #expect(second.finish() == ["error pidNamespace"])
    first.resume()
    _ = first.finish()
    let third = try Peer(store.path, ["open", "begin", "count"], wrapper: wrapper)
    #expect(third.finish() == ["ok", "ok", "count 1"])
  }

  @Test func theSameFileByOtherNamesIsTheSameFile() throws {
    let environment = try store.create()
    let manager = FileManager.default
    try manager.createSymbolicLink(atPath: store.root + "/link", withDestinationPath: store.root)
    for path in ["/link/store", "/store/../store", "/./store//", "/link/link/store"] {
      #expect { _ = try LMDBEnvironment.open(at: store.root + path) } throws: { error in
        if case .alreadyOpen = error as? LMDBError { return true }
        return false
      }
    }
    _ = try environment.beginRead()
  }

  @Test(.enabled(if: Peer.canMount, "mounting needs root"))
  func theSameFileInABindMountIsTheSameFile() throws {
    try store.prepare()
    try FileSystem.createDirectory(store.root + "/mount")
    let lines = try Peer.script(
      """
      mount --bind "$2/store" "$2/mount"
      "$1" lmdb "$2/store" open path="$2/mount" open
      """, root: store.root)
    #expect(lines.count == 3 && lines[0] == "ok" && lines[2].contains("already has") && lines[2].contains("open"))
  }
}
