import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// Histories of many tasks and two processes, and tests that the checker finds injected violations.
@Suite("Linearizability of asynchronous reads and writes")
struct LinearizabilityTests {
  private static let operationCount = Int(ProcessInfo.processInfo.environment["KVCLONE_OPERATIONS"] ?? "") ?? 60
  private static let (registerCount, taskCount) = (4, 24)

  private func store(_ mode: JournalMode) throws -> TestStore {
    var options = StoreOptions()
    options.journalMode = mode
    let test = try TestStore(RegisterTasks.model, options: options)
    try RegisterTasks.insertRegisters(Self.registerCount, into: test.store)
    return test
  }

  private func tasks(_ test: TestStore, seed: UInt64 = 1) throws -> RegisterTasks {
    try RegisterTasks(test.store, seed: seed, taskCount: Self.taskCount, operationCount: Self.operationCount)
  }

  private func expectLinearizable(_ events: [RegisterEvent]) {
    let checker = LinearizabilityChecker(events)
    #expect(checker.registerWithoutOrder() == nil)
    #expect(checker.contradiction() == nil)
  }

  /// Expects consecutive commit numbers in a history, even if writes failed in between.
  private func expectConsecutiveCommits(_ events: [RegisterEvent]) {
    let commits = events.filter { !$0.written.isEmpty }.map(\.commit).sorted()
    #expect(zip(commits, commits.dropFirst()).allSatisfy { $0 + 1 == $1 })
  }

  // MARK: Real histories

  @Test("many tasks", arguments: [JournalMode.copyOnWrite, .writeAheadLog])
  func manyTasks(_ mode: JournalMode) async throws {
    let test = try store(mode)
    let events = try await tasks(test).run()
    #expect(events.count > Self.taskCount * Self.operationCount / 2)
    #expect(events.contains { $0.observed.count == 1 && $0.written.count == 1 })
    expectLinearizable(events)
    expectConsecutiveCommits(events)
  }

  @Test("many tasks of two processes", arguments: [JournalMode.copyOnWrite, .writeAheadLog])
  func twoProcesses(_ mode: JournalMode) async throws {
    let test = try store(mode)
    let peer = try PeerProcess("registers", [test.location, "2", "\(Self.taskCount)", "\(Self.operationCount)"])
    #expect(peer.hear() == "open")
    try peer.tell("run")
    var events = try await tasks(test).run()
    let ownCount = events.count
    while let line = peer.hear() {
      events.append(try JSONDecoder().decode(RegisterEvent.self, from: Data(line.utf8)))
    }
    #expect(try peer.finish() == 0)
    #expect(events.count > ownCount)
    expectLinearizable(events)
    expectConsecutiveCommits(events)
  }

  // MARK: Injected violations

  @Test("a reader that does not see the last commit is found")
  func staleReader() async throws {
    let test = try store(.copyOnWrite)
    let snapshot = try test.store.pinnedSnapshot()
    defer { snapshot.close() }
    var events = try await tasks(test).run()
    expectLinearizable(events)
    let invoked = RegisterEvent.now()
    let value = try await snapshot.read { transaction -> AttributeValue? in
      try transaction.value(try transaction.objectID(named: "Register/1"), "value")
    }
    guard case .integer(let value) = value else { throw Unexpected() }
    events.append(
      RegisterEvent(
        invoked: invoked, returned: RegisterEvent.now(), commit: snapshot.commit, observed: [0: value]))
    let checker = LinearizabilityChecker(events)
    #expect(checker.registerWithoutOrder() == 0)
    #expect(checker.contradiction() != nil)
  }

  private struct Unexpected: Error {}

  @Test("violations of small histories are found")
  func smallHistories() {
    func write(_ time: ClosedRange<UInt64>, _ commit: UInt64, _ value: Int64, observed: Int64? = nil) -> RegisterEvent {
      RegisterEvent(
        invoked: time.lowerBound, returned: time.upperBound, commit: commit, observed: observed.map { [0: $0] } ?? [:],
        written: [0: value])
    }
    func read(_ time: ClosedRange<UInt64>, _ commit: UInt64, _ value: Int64) -> RegisterEvent {
      RegisterEvent(invoked: time.lowerBound, returned: time.upperBound, commit: commit, observed: [0: value])
    }
    // Concurrent writes have either order, and reads during them see either value.
    expectLinearizable([
      write(1...9, 1, 1), write(2...8, 2, 2), read(3...4, 1, 1), read(5...6, 2, 2), read(10...11, 2, 2),
    ])
    expectLinearizable([write(1...9, 2, 1), write(2...8, 1, 2), read(3...4, 0, 0), read(10...11, 2, 1)])
    let violations = [
      // Not yet written, and already overwritten.
      [write(5...6, 1, 1), read(1...2, 1, 1)],
      [write(1...2, 1, 1), read(3...4, 0, 0)],
      // Two reads see two writes in different orders.
      [write(1...9, 1, 1), read(2...3, 1, 1), read(4...5, 0, 0)],
      // Two writes of one value.
      [write(1...9, 1, 1, observed: 0), write(1...9, 2, 2, observed: 0)],
      // In the order of the commits, but not of the times.
      [write(1...2, 2, 2), write(3...4, 1, 1), read(5...6, 2, 2)],
    ]
    for events in violations {
      #expect(LinearizabilityChecker(events).registerWithoutOrder() == 0)
      #expect(LinearizabilityChecker(events).contradiction() != nil)
    }
  }
}
