import Dispatch
import Foundation
package import KVClone
import Synchronization

/// One operation on registers: its reads, its writes and its time.
package struct RegisterEvent: Codable, Sendable {
  /// The times of call and return, in nanoseconds of a clock that all processes of a machine share.
  package var invoked: UInt64
  package var returned: UInt64
  /// The number of its commit, or for an operation without writes, of the last visible commit.
  package var commit: UInt64
  /// Observed values by the number of the register.
  package var observed: [Int: Int64]
  package var written: [Int: Int64]

  package init(
    invoked: UInt64, returned: UInt64, commit: UInt64, observed: [Int: Int64] = [:], written: [Int: Int64] = [:]
  ) {
    (self.invoked, self.returned, self.commit) = (invoked, returned, commit)
    (self.observed, self.written) = (observed, written)
  }

  /// The current time of the clock.
  package static func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

/// Tasks that read, write, and compare and set some registers, each an object, by the asynchronous calls of a store.
package struct RegisterTasks: Sendable {
  package static let model = ManagedObjectModel("Registers") {
    EntityDescription("Register") { AttributeDescription("value", .integer64, optional: false, default: .integer(0)) }
  }

  private struct Failed: Error {}

  private final class Results: Sendable {
    private let events = Mutex<[RegisterEvent]>([])
    private let error = Mutex<(any Error)?>(nil)

    func add(_ events: [RegisterEvent]) { self.events.withLock { $0 += events } }

    func add(_ error: any Error) { self.error.withLock { $0 = error } }

    func all() throws -> [RegisterEvent] {
      if let error = error.withLock({ $0 }) { throw error }
      return events.withLock { $0 }
    }
  }

  private let store: ObjectStore
  private let registers: [ObjectID]
  private let seed: UInt64
  private let taskCount: Int
  private let operationCount: Int

  /// - Parameters:
  ///   - seed: differs from the seeds of other processes; all values, which are unique, are derived from it.
  ///   - operationCount: the number of operations of each task.
  package init(_ store: ObjectStore, seed: UInt64, taskCount: Int, operationCount: Int) throws {
    (self.store, self.seed, self.taskCount, self.operationCount) = (store, seed, taskCount, operationCount)
    registers = try store.read { transaction in
      var registers: [ObjectID] = []
      try transaction.forEachObject(of: "Register") { register in
        registers.append(register.id)
        return true
      }
      return registers
    }
  }

  package static func insertRegisters(_ count: Int, into store: ObjectStore) throws {
    try store.write { transaction in for _ in 0..<count { try transaction.insert("Register") } }
  }

  /// Runs all tasks.
  package func run() async throws -> [RegisterEvent] {
    try await withThrowingTaskGroup(of: [RegisterEvent].self) { group in
      for number in 0..<taskCount { group.addTask { try await run(task: number) } }
      return try await group.reduce(into: []) { $0 += $1 }
    }
  }

  /// Runs all tasks, and waits for them. Must not run on a thread of the cooperative pool, which all tests share.
  package func runAndWait() throws -> [RegisterEvent] {
    let results = Results()
    let isOver = DispatchSemaphore(value: 0)
    Task { [self] in
      do { results.add(try await run()) } catch { results.add(error) }
      isOver.signal()
    }
    isOver.wait()
    return try results.all()
  }

  private func run(task number: Int) async throws -> [RegisterEvent] {
    var random = SeededGenerator(seed: seed &* 1_000 &+ UInt64(number))
    var events: [RegisterEvent] = []
    // The values that the task observed last, used for comparisons.
    var known: [Int: Int64] = [:]
    for count in 1...operationCount {
      let value = Int64(truncatingIfNeeded: seed << 32) | Int64(number << 20 | count)
      let register = random.below(registers.count)
      let invoked = RegisterEvent.now()
      var event: RegisterEvent?
      switch random.below(10) {
      case 0..<3: event = try await read([register])
      case 3: event = try await read(Array(registers.indices))
      case 4..<6: event = try await write(register, value)
      case 6..<9: event = try await compareAndSet(register, known[register] ?? 0, value)
      default:
        if random.chance(in: 2) {
          try await fail(register, value)
        } else {
          event = try await swap(register, random.below(registers.count))
        }
      }
      guard var event else { continue }
      (event.invoked, event.returned) = (invoked, RegisterEvent.now())
      known.merge(event.observed) { $1 }
      known.merge(event.written) { $1 }
      events.append(event)
    }
    return events
  }

  // MARK: Operations

  private func value<T: ObjectReading & ~Copyable>(_ register: Int, _ transaction: borrowing T) throws -> Int64 {
    guard case .integer(let value) = try transaction.value(registers[register], "value") else { return -1 }
    return value
  }

  private func observe<T: ObjectReading & ~Copyable>(
    _ registers: [Int], _ transaction: borrowing T
  ) throws -> RegisterEvent {
    var event = RegisterEvent(invoked: 0, returned: 0, commit: try transaction.currentToken().commit)
    for register in registers { event.observed[register] = try value(register, transaction) }
    return event
  }

  private func set(
    _ register: Int, _ value: Int64, _ transaction: inout WriteTransaction, _ event: inout RegisterEvent
  ) throws {
    if event.written.isEmpty { event.commit += 1 }
    event.written[register] = value
    try transaction.set(registers[register], "value", .integer(value))
  }

  private func read(_ registers: [Int]) async throws -> RegisterEvent {
    try await store.read { try observe(registers, $0) }
  }

  private func write(_ register: Int, _ value: Int64) async throws -> RegisterEvent {
    try await store.write(timeout: .unreached) { transaction in
      var event = try observe([], transaction)
      try set(register, value, &transaction, &event)
      return event
    }
  }

  private func compareAndSet(_ register: Int, _ expected: Int64, _ value: Int64) async throws -> RegisterEvent {
    try await store.write(timeout: .unreached) { transaction in
      var event = try observe([register], transaction)
      if event.observed[register] == expected { try set(register, value, &transaction, &event) }
      return event
    }
  }

  private func swap(_ first: Int, _ second: Int) async throws -> RegisterEvent {
    try await store.write(timeout: .unreached) { transaction in
      var event = try observe([first, second], transaction)
      guard let (one, other) = (event.observed[first].flatMap { one in event.observed[second].map { (one, $0) } }),
        first != second
      else { return event }
      try set(first, other, &transaction, &event)
      try set(second, one, &transaction, &event)
      return event
    }
  }

  /// Writes a value in a failing transaction, so that it must never be visible.
  private func fail(_ register: Int, _ value: Int64) async throws {
    do {
      try await store.write(timeout: .unreached) { transaction in
        try transaction.set(registers[register], "value", .integer(-value))
        throw Failed()
      }
    } catch is Failed {}
  }
}
