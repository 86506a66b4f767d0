import Foundation
import KVClone

/// The process into which faults are injected: it creates a store, performs the workload, and reports acknowledgements.
///
/// It writes one line per event to standard output, unbuffered and in order: `ack N` (0: the creation; `ack N as
/// COMMIT` for a write of a group, with its number in the store), `error N KIND`, `state DIGEST` (after an error, or
/// after each commit on request), `reopened N`, `done N`, and around each copy of the store `copying NAME` and `copied
/// NAME`. The shim adds `fault OPERATION CALL` in between. The worker exits with 0 after the last commit.
struct Worker {
  /// Bugs that the campaign must detect; see `SelfTestFaults`.
  enum PlantedBug: String, CaseIterable {
    case earlyAcknowledgement, ignoredError, earlyMigration, lateSnapshot, keptSavepoint
  }

  struct Stuck: Error, CustomStringConvertible {
    let description: String
  }

  /// The directory that contains the store's directory.
  let root: String
  var workload: Workload
  var plantedBug: PlantedBug?
  var plantedBugOfGroups: GroupRun.PlantedBug?
  /// The content after each commit, from 0, which determines whether a failed commit is durable. Nil in the run that
  /// determines the contents: without faults, with one commit per write of a group, without the changes of rolled-back
  /// savepoints, and with a report of the content after each commit.
  var states: [String]?

  /// The number of attempts of a step before the fault is cleared.
  static let attemptsUnderFault = 2
  static let attempts = 5

  private var path: String { root + "/store" }

  func run() throws {
    var store = try make()
    Self.say("ack 0")
    if states == nil { try tellState(store) }
    var number = 0
    while number < workload.commitCount {
      number += 1
      let step = workload.step(of: number)
      if number == step.lowerBound, workload.opensAgain(before: number) {
        store.close()
        store = try open(number, expecting: workload.version(after: number - 1))
      }
      if workload.kind(number) == .grouped, let states {
        try performGroup(step, states, &store)
        number = step.upperBound
      } else {
        try perform(number, &store)
      }
      if states == nil { try tellState(store) }
      if workload.makesCopies {
        for copy in Copies.Copy.allCases where copy.commit == number { try make(copy, number, store) }
      }
    }
    store.close()
    Self.say("done \(workload.commitCount)")
  }

  private func make() throws -> ObjectStore {
    for attempt in 1...Self.attempts {
      do {
        return try ObjectStore.create(at: path, model: WorkloadModel.versions[0], options: workload.options())
      } catch {
        try tell(error, 0)
        if error.kind == .storeExists, attempt > 1 { return try reopen(after: 0) }
        if attempt == Self.attemptsUnderFault { Fault.clear() }
      }
    }
    throw Stuck(description: "cannot create the store after the fault was removed")
  }

  /// - Parameter version: the expected version; nil if a commit's outcome is unknown.
  private func open(_ number: Int, expecting version: WorkloadVersion?) throws -> ObjectStore {
    for attempt in 1...Self.attempts {
      do {
        return try ObjectStore.open(at: path, model: version?.model, options: workload.options())
      } catch {
        try tell(error, number)
        if attempt == Self.attemptsUnderFault { Fault.clear() }
      }
    }
    throw Stuck(description: "cannot open the store after the fault was removed")
  }

  private func perform(_ number: Int, _ store: inout ObjectStore) throws {
    if plantedBug == .lateSnapshot, workload.kind(number) == .snapshot { return Self.say("ack \(number)") }
    let isMigration = workload.kind(number).isMigration
    let isEarly = plantedBug == .earlyAcknowledgement || plantedBug == .earlyMigration && isMigration
    if isEarly { Self.say("ack \(number)") }
    for attempt in 1...Self.attempts {
      do {
        try workload.perform(number, on: store, at: path)
        if plantedBug == .lateSnapshot, workload.kind(number - 1) == .snapshot {
          try store.createSnapshot(named: Workload.snapshotName(number - 1))
        }
        if !isEarly { Self.say("ack \(number)") }
        // Errors of this opening do not belong to the commit, which is already acknowledged.
        if isMigration { store = try open(number + 1, expecting: workload.version(after: number)) }
        return
      } catch {
        if plantedBug == .ignoredError { return Self.say("ack \(number)") }
        try tell(error, number)
        if attempt == Self.attemptsUnderFault { Fault.clear() }
        if try hasHappened(number, despite: error, &store) { return Self.say("ack \(number)") }
      }
    }
    throw Stuck(description: "cannot repeat commit \(number) after the fault was removed")
  }

  /// Whether a commit that ended in an error is durable. If its outcome is unknown, opens the store again to find out.
  private func hasHappened(_ number: Int, despite error: any Error, _ store: inout ObjectStore) throws -> Bool {
    if (error as? StoreError)?.kind == .commitOutcomeUnknown {
      store.close()
      store = try reopen(after: number)
    } else if workload.kind(number).isMigration {
      store = try open(number, expecting: nil)
    }
    let state = try tellState(store)
    return states?.indices.contains(number) == true && states?[number] == state
  }

  private func make(_ copy: Copies.Copy, _ number: Int, _ store: ObjectStore) throws {
    Self.say("copying \(copy)")
    for attempt in 1...Self.attempts {
      do {
        try Copies(root: root).make(copy, of: store)
        return Self.say("copied \(copy)")
      } catch {
        try tell(error, number)
        // The copy already had its final name when the error occurred.
        if (error as? StoreError)?.kind == .storeExists, attempt > 1 { return Self.say("copied \(copy)") }
        if attempt == Self.attemptsUnderFault { Fault.clear() }
      }
    }
    throw Stuck(description: "cannot create the \(copy) after the fault was removed")
  }

  func reopen(after number: Int) throws -> ObjectStore {
    Self.say("reopened \(number)")
    Fault.clear()
    return try open(number, expecting: nil)
  }

  @discardableResult
  func tellState(_ store: ObjectStore) throws -> String {
    let state = try StoreDigest.content(of: store).digest
    Self.say("state \(state)")
    return state
  }

  /// Reports an error. An error that is not a library error ends the process, and the trial fails.
  func tell(_ error: any Error, _ number: Int) throws {
    guard let typed = error as? any KVCloneError else { throw error }
    Self.say("error \(number) \(typed.kindName)")
    StandardError.write("commit \(number): \(typed.kindName): \(typed.message)\n")
  }

  /// Writes a line with one system call, so that it has the right position in the shim's journal.
  static func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = bytes.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
  }
}

/// The shim's interface to the process, if it is loaded.
enum Fault {
  static func clear() {
    guard let symbol = dlsym(nil, "kvclone_fault_clear") else { return }
    unsafeBitCast(symbol, to: (@convention(c) () -> Void).self)()
  }
}

enum StandardError {
  static func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
