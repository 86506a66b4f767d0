import Foundation
import KVCloneTestSupport
import Synchronization
import Testing
@testable import KVClone
@testable import KVCloneCore

/// Progress and cancellation of clones.
@Suite("Clone progress and operations")
struct CloneProgressTests {
  private static let model = ManagedObjectModel("Chain") {
    EntityDescription("Link") { RelationshipDescription("next", toOne: "Link") }
  }

  private let fixture: CloneStore
  private let first: ObjectID

  init() throws {
    fixture = try CloneStore(Self.model)
    first = try fixture.store.write { tx in
      var next = try tx.insert("Link")
      for _ in 1..<5000 { next = try tx.insert("Link", relationships: ["next": [next]]) }
      return next
    }
  }

  @Test("phases come one after the other, with numbers that grow")
  func phases() throws {
    let seen = Mutex<[OperationProgress]>([])
    _ = try fixture.store.clone(
      [first], options: .with { $0.progress = { progress in seen.withLock { $0.append(progress) } } })
    let all = seen.withLock { $0 }
    let phases = all.reduce(into: [OperationProgress.Phase]()) { if $0.last != $1.phase { $0.append($1.phase) } }
    #expect(phases == [.mark, .wait, .copy, .publish, .commit])
    for phase in phases {
      let counts = all.filter { $0.phase == phase }.map(\.completed)
      #expect(counts == counts.sorted())
    }
    #expect(all.last == OperationProgress(phase: .commit, completed: 5000, total: 5000))
    #expect(all.contains(OperationProgress(phase: .copy, completed: 5000, total: 5000)))
  }

  @Test("an operation is watched and waited for, from anywhere")
  func operation() async throws {
    let operation = fixture.store.startClone([first])
    var last: OperationProgress?
    for await progress in operation.progress { last = progress }
    #expect(last?.phase == .commit && last?.completed == 5000)
    let result = try await operation.result
    #expect(try await operation.result.root == result.root && result.objectCount == 5000)
    // The clone has ended, so cancellation has no effect.
    operation.cancel()
    #expect(try await operation.result.root == result.root)
    try fixture.expectClean()
  }

  @Test(
    "an operation that is cancelled, in whatever phase, writes nothing", arguments: ["mark", "wait", "copy", "commit"])
  func cancelled(phase: String) async throws {
    let (lines, commit) = (try fixture.lines(), try fixture.commit)
    let (reached, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let options = CloneOptions.with {
      $0.progress = { progress in
        if progress.phase.rawValue == phase, progress.completed != progress.total {
          reached.signal()
          goOn.wait()
        }
      }
    }
    let operation = fixture.store.startClone([first], options: options)
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        reached.wait()
        continuation.resume()
      }
    }
    operation.cancel()
    for _ in 0..<1000 { goOn.signal() }
    let error = await #expect(throws: CloneError.self) { try await operation.result }
    #expect(error?.kind == .cancelled)
    #expect(try fixture.lines() == lines && fixture.commit == commit)
    #expect(try fixture.clone([first]).objectCount == 5000)
  }

  @Test("the time that a clone holds the lock is estimated from clones before it")
  func pace() throws {
    let pace = ClonePace()
    #expect(pace.lockDuration(objects: 1, written: 100) > .zero)
    pace.note(objects: 1000, written: 1000, writing: .milliseconds(500), commit: .milliseconds(3))
    func isNear(_ left: Duration, _ right: Duration) -> Bool {
      left - right < .microseconds(1) && right - left < .microseconds(1)
    }
    #expect(isNear(pace.lockDuration(objects: 2000, written: 0), .milliseconds(1003)))
    pace.note(objects: 1, written: 2 << 20, writing: .seconds(9), commit: .milliseconds(7))
    #expect(isNear(pace.lockDuration(objects: 2000, written: 4 << 20), .milliseconds(1011)))
    let plan = try fixture.store.planClone([first])
    #expect(try plan.estimatedLockDuration > .zero && fixture.store.planClone([first]).objectCount == 5000)
    #expect(pace.lockDuration(objects: 2000, written: .max) > .zero)
  }

  @Test("a clone that is refused ends its operation")
  func refused() async throws {
    let operation = fixture.store.startClone([first], options: .with { $0.maxObjects = 3 })
    let error = await #expect(throws: CloneError.self) { try await operation.result }
    #expect(error?.kind == .limitExceeded)
    for await _ in operation.progress {}
  }
}
