import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// R29: a cancelled clone has written nothing, regardless of when it was cancelled.
@Suite("Clone contract: cancellation")
struct CloneContractCancelTests {
  /// Creates enough objects for every phase to report progress.
  private func filled() throws -> (ContractStore, ObjectID) {
    let test = try ContractStore(contractModel)
    let source = try ContractLibrary(test.store)
    try test.store.write { tx in
      for _ in 0..<100 {
        try tx.insert("Page", relationships: ["doc": [source.doc], "tags": source.tags, "shelf": [source.shelves[0]]])
      }
    }
    return (test, source.doc)
  }

  @Test(
    "R29: cancelled from the progress callback, in any phase before the commit", .tags(.r29),
    arguments: [OperationProgress.Phase.mark, .check, .wait, .copy, .publish])
  func inPhase(_ phase: OperationProgress.Phase) async throws {
    let (test, doc) = try filled()
    let (before, commit) = (try test.dump(), try test.commit())
    let operation = ContractBox<CloneTask?>(nil)
    let isCancelled = ContractBox(false)
    let options = CloneOptions.contract(count: 5) {
      $0.progress = { progress in
        guard progress.phase == phase else { return }
        // The clone may run before its task is assigned here.
        while operation.value == nil { Thread.sleep(forTimeInterval: 0.0001) }
        operation.value?.cancel()
        isCancelled.change { $0 = true }
      }
    }
    let started = test.store.startClone([doc], options: options)
    operation.change { $0 = started }
    do {
      let result = try await started.result
      #expect(!isCancelled.value, "cancelled in \(phase), and yet done: \(result.objectCount) objects")
    } catch {
      #expect(isCancelled.value && (error as? CloneError)?.kind == .cancelled, "\(error)")
      #expect(try test.dump() == before && test.commit() == commit)
    }
    operation.change { $0 = nil }
    try test.expectClean()
    // The store continues to work normally.
    #expect(try await test.store.clone([doc], options: .contract(count: 2)).objectCount == 2 * 107)
    try test.expectClean()
  }

  @Test("R29: a task that is cancelled by the progress callback, or before it began", .tags(.r29))
  func task() async throws {
    let (test, doc) = try filled()
    let (before, commit) = (try test.dump(), try test.commit())
    let store = test.store
    let task = ContractBox<Task<CloneResult, any Error>?>(nil)
    let calls = ContractBox(0)
    let options = CloneOptions.contract(count: 5) {
      $0.idempotencyKey = "cancelled"
      $0.recordsProvenance = true
      $0.progress = { progress in
        guard progress.phase == .mark || progress.phase == .copy else { return }
        while task.value == nil { Thread.sleep(forTimeInterval: 0.0001) }
        calls.change { $0 += 1 }
        task.value?.cancel()
      }
    }
    let first = Task { try await store.clone([doc], options: options) }
    task.change { $0 = first }
    let outcome = await first.result
    #expect(throws: CloneError.self) { try outcome.get() }
    #expect(calls.value > 0)
    #expect(try test.dump() == before && test.commit() == commit)
    let early = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await store.clone([doc])
    }
    let second = await early.result
    do {
      _ = try second.get()
      Issue.record("a cancelled task cloned")
    } catch {
      #expect((error as? CloneError)?.kind == .cancelled, "\(error)")
    }
    #expect(try test.dump() == before && test.commit() == commit)
    task.change { $0 = nil }
    let third = try await store.clone([doc], options: .contract { $0.idempotencyKey = "cancelled" })
    #expect(!third.isRepeated, "the key was not used")
    try test.expectClean()
  }

  @Test("R29: progress counts up, phase by phase, and its stream ends with the clone", .tags(.r29))
  func progress() async throws {
    let (test, doc) = try filled()
    let heard = ContractBox<[OperationProgress]>([])
    let options = CloneOptions.contract(count: 3) { $0.progress = { progress in heard.change { $0.append(progress) } } }
    let operation = test.store.startClone([doc], options: options)
    var streamed: [OperationProgress] = []
    for await progress in operation.progress { streamed.append(progress) }
    let result = try await operation.result
    #expect(result.objectCount == 3 * 107)
    let order: [OperationProgress.Phase] = [.mark, .check, .wait, .copy, .publish, .commit]
    for all in [heard.value, streamed] {
      var (phase, completed) = (0, 0)
      for progress in all {
        let index = try #require(order.firstIndex(of: progress.phase))
        #expect(index >= phase, "phases go on: \(all.map(\.phase))")
        if index > phase { completed = 0 }
        #expect(progress.completed >= completed, "\(progress)")
        #expect(progress.total.map { progress.completed <= $0 && $0 <= result.objectCount } ?? true, "\(progress)")
        (phase, completed) = (index, progress.completed)
      }
    }
    #expect(!heard.value.isEmpty && !streamed.isEmpty)
    operation.cancel()
    #expect(try await operation.result.roots == result.roots, "too late")
    try test.expectClean()
  }

  @Test("R29: of many clones that are cancelled at any time each is complete or absent", .tags(.r29))
  func anyTime() async throws {
    let (test, doc) = try filled()
    let store = test.store
    var (done, random) = (0, SeededGenerator(seed: 29))
    for _ in 0..<8 {
      let steps = random.below(12)
      let operation = store.startClone([doc], options: .contract(count: 2))
      for _ in 0..<steps { try await Task.sleep(for: .microseconds(500)) }
      operation.cancel()
      do {
        _ = try await operation.result
        done += 1
      } catch {
        #expect((error as? CloneError)?.kind == .cancelled, "\(error)")
      }
      let documents = try await store.read { try $0.count(entity: "Doc") }
      let pages = try await store.read { try $0.count(entity: "Page") }
      #expect(documents == 1 + 2 * done && pages == 1 + 103 * documents)
    }
    try test.expectClean()
  }
}
