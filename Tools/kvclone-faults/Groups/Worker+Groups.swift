import KVClone
import Synchronization

/// The worker's groups of concurrent writes.
extension Worker {
  /// Performs the commits of a group concurrently, and repeats those that failed.
  ///
  /// - Parameter states: the content after each commit, from 0.
  func performGroup(_ group: ClosedRange<Int>, _ states: [String], _ store: inout ObjectStore) throws {
    let acknowledged = Mutex(group.lowerBound - 1)
    for attempt in 1...Self.attempts {
      let next = acknowledged.withLock { $0 } + 1
      let failures = Mutex<[any Error]>([])
      var run = GroupRun(workload, next...group.upperBound)
      run.plantedBug = plantedBugOfGroups
      run.didCommit = { acknowledgement in
        acknowledged.withLock { $0 = max($0, acknowledgement.number) }
        Self.say("\(acknowledgement)")
      }
      run.didFail = { error in
        failures.withLock { $0.append(error) }
        try? tell(error, group.lowerBound)
      }
      do {
        return try run.perform(on: store)
      } catch {
        if !(error is any KVCloneError) { throw error }
        // The error may come from an upload before the writes.
        if failures.withLock({ $0.isEmpty }) {
          failures.withLock { $0.append(error) }
          try tell(error, group.lowerBound)
        }
      }
      if attempt == Self.attemptsUnderFault { Fault.clear() }
      let isUnknown = failures.withLock { $0.contains { ($0 as? StoreError)?.kind == .commitOutcomeUnknown } }
      if isUnknown {
        store.close()
        store = try reopen(after: group.lowerBound)
      }
      let state = try tellState(store)
      let last = acknowledged.withLock { $0 }
      guard let found = states.firstIndex(of: state), last...group.upperBound ~= found else {
        throw Finding("after a group that failed, the content is not that of commit \(last) or of a later one of it")
      }
      for number in last..<found { Self.say("ack \(number + 1)") }
      acknowledged.withLock { $0 = found }
      if found == group.upperBound { return }
    }
    throw Stuck(description: "cannot repeat the group \(group) after the fault was removed")
  }
}
