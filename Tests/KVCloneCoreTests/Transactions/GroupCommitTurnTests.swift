import Dispatch
import Foundation
import KVClone
import KVCloneLMDB
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

/// Two processes that write continuously take turns: groups of one do not keep the other one waiting.
@Suite("Group commit next to another process", .serialized)
struct GroupCommitTurnTests {
  private static let model = ManagedObjectModel("Turns") {
    EntityDescription("Mine") { AttributeDescription("number", .integer64) }
    EntityDescription("Other") { AttributeDescription("number", .integer64) }
  }
  private static let count = 400

  /// A write of this process: the engine's transaction that it belongs to, and its commit number.
  private struct Mine: Sendable {
    let transaction: Int
    let commit: UInt64
  }

  @Test("two processes with single writes")
  func processes() throws {
    let test = try TestStore(Self.model, options: .tracking())
    let peers = try (0..<2).map { _ in try PeerProcess("insert", [test.path, "Other"]) }
    for peer in peers { #expect(peer.hear() == "open") }
    // Each is told all of its turns at once.
    for peer in peers { try peer.tell(Array(repeating: "go", count: Self.count).joined(separator: "\n")) }
    var last: [UInt64] = []
    for peer in peers {
      var serials: [UInt64] = []
      for _ in 0..<Self.count { serials.append(UInt64(peer.hear() ?? "") ?? 0) }
      last.append(serials.max() ?? 0)
      #expect(try peer.finish() == 0)
    }
    #expect(last.max() == UInt64(2 * Self.count))
    // Serials are the order of the turns. When the first of them was done, the other one had done about as many.
    let first = last.min() ?? 0
    let share = Double(Self.count) / Double(first)
    #expect(share > 0.4 && share < 0.6, "the faster process had \(share) of the turns")
    try checked(test.store)
  }

  @Test("many tasks that share commits, and another process", arguments: [1, 8, 64])
  func tasksAndProcess(_ taskCount: Int) async throws {
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    let path = root + "/store"
    try ObjectStore.create(at: path, model: Self.model, options: .tracking()).close()
    let engine = GroupCommitEngine(LMDBEngine(try LMDBEnvironment.open(at: path)))
    let store = try ObjectStore.assemble(engine, path: path, model: nil, options: .tracking(author: "me"))
    defer { store.close() }
    let peer = try PeerProcess("insert", [path, "Other"])
    #expect(peer.hear() == "open")
    let isOver = ContractBox(false)
    let notes = ContractBox<[Mine]>([])
    try peer.tell(Array(repeating: "go", count: Self.count).joined(separator: "\n"))
    let listener = DispatchSemaphore(value: 0)
    let heard = ContractBox(0)
    // The test's own end is in this thread.
    let box = PeerBox(peer)
    Thread.detachNewThread {
      for _ in 0..<Self.count where box.peer.hear() != nil { heard.change { $0 += 1 } }
      isOver.change { $0 = true }
      listener.signal()
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<taskCount {
        group.addTask {
          while !isOver.value {
            try await store.write(timeout: .seconds(60)) { tx in
              try tx.insert("Mine")
              let note = Mine(transaction: engine.beginCount, commit: try tx.currentToken().commit + 1)
              notes.change { $0.append(note) }
            }
          }
        }
      }
      try await group.waitForAll()
    }
    await GroupCommitFixture.wait(for: listener)
    #expect(heard.value == Self.count)
    #expect(try peer.finish() == 0)
    let theirs = try store.history().filter { $0.author == "peer" }.map(\.commit)
    #expect(theirs.count == Self.count)
    let (first, last) = (try #require(theirs.first), try #require(theirs.last))
    let mine = Set(notes.value.filter { $0.commit > first && $0.commit < last }.map(\.transaction)).count
    let share = Double(mine) / Double(mine + Self.count)
    #expect(share > 0.4 && share < 0.6, "\(mine) turns of this process, \(Self.count) of the other one")
    try checked(store)
  }
}

/// A process that another thread listens to.
private final class PeerBox: @unchecked Sendable {
  let peer: PeerProcess
  init(_ peer: PeerProcess) { self.peer = peer }
}
