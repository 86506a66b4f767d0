import Dispatch
import Foundation
import KVCloneLMDB
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneQuery

/// Asynchronous reads of an engine across a network run on a bounded number of threads, and those of other engines stay
/// on the caller's executor.
@Suite("Threads for reads", .serialized) struct ReadThreadTests {
  private let model = ManagedObjectModel("Plain") {
    EntityDescription("Note") { AttributeDescription("title", .string) }
  }

  /// The number of reads that run, the largest number, and the reads in the order of their begin.
  private struct Count {
    var running = 0
    var greatest = 0
    var begun: [Int] = []
  }

  private final class Counter: Sendable {
    private let count = Mutex(Count())

    var now: Count { count.withLock { $0 } }

    func change(_ body: (inout Count) -> Void) { count.withLock { body(&$0) } }
  }

  private func store(_ network: MemoryNetwork?) throws -> ObjectStore {
    let store = try ObjectStore.create(in: MemoryStorage(network: network), model: model)
    try store.setTracksHistory(true)
    _ = try store.insert("Note", ["title": "one"])
    return store
  }

  private static func isOnReadThread() -> Bool {
    queueLabel(nil).map { String(cString: $0).hasPrefix("KVClone.reader.") } ?? false
  }

  @Test func readsWaitOnThreadsOfTheirOwn() async throws {
    let store = try store(MemoryNetwork())
    defer { store.close() }
    try await store.createSnapshot(named: "one")
    let (pinned, named) = (try store.pinnedSnapshot(maximumAge: nil), try store.snapshot(named: "one"))
    #expect(try await store.read { _ in Self.isOnReadThread() })
    #expect(try await pinned.read { _ in Self.isOnReadThread() })
    #expect(try await named.read { _ in Self.isOnReadThread() })
    #expect(try await onMainActor(store))
    #expect(!Self.isOnReadThread())
    await #expect(throws: StoreError.self) { try await store.read { tx in try tx.count(FetchRequest("None")) } }
  }

  @MainActor private func onMainActor(_ store: ObjectStore) async throws -> Bool {
    let isThere = try await store.read { _ in Self.isOnReadThread() }
    MainActor.preconditionIsolated()
    return isThere
  }

  @Test func localReadsStayWithTheCaller() async throws {
    let store = try store(nil)
    defer { store.close() }
    #expect(try await !store.read { _ in Self.isOnReadThread() })
    let pinned = try store.pinnedSnapshot()
    #expect(try await !pinned.read { _ in Self.isOnReadThread() })
  }

  @Test func readsAreBoundedAndInOrder() async throws {
    let store = try store(MemoryNetwork(threadCount: 3))
    defer { store.close() }
    let count = Counter()
    try await withThrowingTaskGroup { group in
      for _ in 0..<40 {
        group.addTask {
          try await store.read { _ in
            count.change { count in
              count.running += 1
              count.greatest = max(count.greatest, count.running)
            }
            Thread.sleep(forTimeInterval: 0.005)
            count.change { $0.running -= 1 }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(count.now.greatest == 3)
  }

  @Test func jobsBeginInTheirOrder() async throws {
    let threads = ReadThreads(count: 1)
    let count = Counter()
    let gate = DispatchSemaphore(value: 0)
    let blocker = Task {
      await threads.run {
        count.change { $0.begun.append(-1) }
        gate.wait()
      }
    }
    while count.now.begun.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
    var tasks: [Task<Void, Never>] = []
    for number in 0..<20 {
      tasks.append(Task { await threads.run { count.change { $0.begun.append(number) } } })
      // One after the other: tasks themselves begin in any order.
      while threads.waitingCount <= number { try await Task.sleep(for: .milliseconds(1)) }
    }
    gate.signal()
    await blocker.value
    for task in tasks { await task.value }
    #expect(count.now.begun == Array(-1..<20))
  }

  @Test func changesAndLiveResultsArrive() async throws {
    let store = try store(MemoryNetwork())
    defer { store.close() }
    var changes = store.changes.makeAsyncIterator()
    var results = store.liveResults(for: FetchRequest("Note")).makeAsyncIterator()
    #expect(try await results.next()?.ids.count == 1)
    for number in 2...4 {
      try await store.write { tx in _ = try tx.insert("Note", ["title": .string("\(number)")]) }
      #expect(try await changes.next() != nil)
      #expect(try await results.next()?.ids.count == number)
    }
  }
}

@_silgen_name("dispatch_queue_get_label")
private func queueLabel(_ queue: OpaquePointer?) -> UnsafePointer<CChar>?
