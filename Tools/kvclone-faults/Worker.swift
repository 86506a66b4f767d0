import Foundation
import KVClone

/// The process in which faults strike: it makes a store, performs the workload, and tells what it acknowledged.
///
/// A line a fact on standard output, unbuffered, in the order in which things happened:
/// `ack N` (0: the store was made; `ack N as COMMIT` for a write of a group, with its number in the store), `error N KIND`, `state DIGEST` (after an error, or after each commit where asked),
/// `reopened N`, `done N`, and around each copy of the store `copying NAME` and `copied NAME`. The shim adds
/// `fault OPERATION CALL` in between. It exits with 0 when it came to its end.
struct Worker {
  /// Mistakes that the campaign must find; see `SelfTest`.
  enum PlantedBug: String, CaseIterable {
    case earlyAcknowledgement, ignoredError, earlyMigration, lateSnapshot, keptSavepoint
  }

  struct Stuck: Error, CustomStringConvertible {
    let description: String
  }

  /// The directory that the store's is in.
  let root: String
  var workload: Workload
  var plantedBug: PlantedBug?
  var plantedBugOfGroups: GroupRun.PlantedBug?
  /// The content after each commit, from 0, which decides whether a commit that failed is durable. Nil in the run that
  /// determines it: without faults, with one commit for each write of a group, without the changes that a savepoint
  /// rolls back, and with a report of the content after each commit.
  var states: [String]?

  /// How often a step is tried with the fault still there, before it is asked to go away.
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

  /// - Parameter version: the one that it has to have; nil where a commit's outcome is to be found out.
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
        // What the opening may have to report is no matter of this commit any more.
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

  /// Whether a commit took place that ended in an error; where its outcome was unknown, the store is opened anew to find
  /// out.
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
        // It had its name already when something failed.
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

  /// Every failure has a type of the library's own; any other ends the process, and the trial has failed.
  func tell(_ error: any Error, _ number: Int) throws {
    guard let typed = error as? any KVCloneError else { throw error }
    Self.say("error \(number) \(typed.kindName)")
    StandardError.write("commit \(number): \(typed.kindName): \(typed.message)\n")
  }

  /// One system call, so that the line stands in the shim's journal where it belongs.
  static func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = bytes.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
  }
}

/// The shim's other half, where it is loaded.
enum Fault {
  static func clear() {
    guard let symbol = dlsym(nil, "kvclone_fault_clear") else { return }
    unsafeBitCast(symbol, to: (@convention(c) () -> Void).self)()
  }
}

enum StandardError {
  static func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
