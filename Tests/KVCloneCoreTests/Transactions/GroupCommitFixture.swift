import Dispatch
import Foundation
import KVClone
import KVCloneLMDB
import KVCloneTestSupport
import Synchronization

@testable import KVCloneCore
@testable import KVCloneOperations

/// A store with an engine that counts commits, and writes that certainly wait at the same time.
final class GroupCommitFixture: Sendable {
  let engine: GroupCommitEngine
  let store: ObjectStore
  private let root: String?
  private let start: UInt64

  /// - Parameter isOnDisk: whether the engine is LMDB; otherwise it is in memory.
  init(
    _ model: ManagedObjectModel = savepointModel, isOnDisk: Bool = false, options: StoreOptions = .grouping()
  ) throws {
    let inner: any StorageEngine
    if isOnDisk {
      let root = try temporaryDirectory()
      self.root = root
      inner = LMDBEngine(try LMDBEnvironment.create(at: root + "/store", tables: []))
    } else {
      root = nil
      inner = MemoryStorage()
    }
    // Enabled before commits are counted.
    try ObjectStore.create(in: inner, model: model).setTracksHistory(true)
    engine = GroupCommitEngine(inner)
    store = try StoreOpening.assemble(engine, path: "engine", model: nil, options: options)
    start = try store.info().commit
  }

  /// The number of commits since the store was created.
  func commits() throws -> UInt64 { try store.info().commit - start }

  deinit {
    store.close()
    if let root { try? FileManager.default.removeItem(atPath: root) }
  }

  /// Runs operations at the same time, all of which wait until the last one has been started: another write blocks the
  /// queue. Each one is in the queue before the next one starts, so their order is that of their numbers.
  ///
  /// - Parameter isQueued: whether the operation with a number enters the queue; if not, the next one does not wait for
  ///   it.
  /// - Returns: the results in the same order.
  func waiting<R: Sendable>(
    _ count: Int, isQueued: (Int) -> Bool = { _ in true },
    whileWaiting: @escaping @Sendable ([Task<R, any Error>]) async throws -> Void = { _ in },
    _ body: @escaping @Sendable (ObjectStore, Int) async throws -> R
  ) async throws -> [Result<R, any Error>] {
    let store = store
    let (isBlocking, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let blocker = Task {
      try await store.write { _ in
        isBlocking.signal()
        mayEnd.wait()
      }
    }
    await Self.wait(for: isBlocking)
    var tasks: [Task<R, any Error>] = []
    var queuedCount = 0
    for number in 0..<count {
      tasks.append(Task.detached { try await body(store, number) })
      guard isQueued(number) else { continue }
      queuedCount += 1
      await Self.onThread { [queuedCount] in while store.writerQueue.count < queuedCount { usleep(50) } }
    }
    do {
      try await whileWaiting(tasks)
    } catch {
      mayEnd.signal()
      throw error
    }
    mayEnd.signal()
    // It changes nothing, and may still be in a group with a failing commit.
    _ = await blocker.result
    var results: [Result<R, any Error>] = []
    for task in tasks { results.append(await task.result) }
    return results
  }

  /// Waits on a separate thread, so that the tasks keep theirs.
  static func wait(for semaphore: DispatchSemaphore) async { await onThread { semaphore.wait() } }

  private static func onThread(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        body()
        continuation.resume()
      }
    }
  }
}

extension StoreOptions {
  /// Options with groups that end only at the number of waiting writes.
  static func grouping(_ change: (inout StoreOptions) -> Void = { _ in }) -> StoreOptions {
    var options = StoreOptions.tracking(author: "options")
    options.groupCommit.maximumCount = 10_000
    options.groupCommit.maximumByteCount = 1 << 30
    options.groupCommit.maximumDuration = .unreached
    change(&options)
    return options
  }
}

extension [Result<Int, any Error>] {
  /// The thrown errors, by position.
  var errors: [Int: any Error] {
    var found: [Int: any Error] = [:]
    for (place, result) in enumerated() {
      if case .failure(let error) = result { found[place] = error }
    }
    return found
  }
}

extension Error {
  /// The kind of a store error; nil for others.
  var storeErrorKind: StoreError.Kind? { (self as? StoreError)?.kind }
}
