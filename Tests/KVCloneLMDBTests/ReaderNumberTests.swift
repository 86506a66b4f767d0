import Foundation
import Synchronization
import Testing

@testable import KVCloneLMDB

/// A reader's number is that of the commit that it sees, regardless of delays at any point of its beginning: cached
/// data of a snapshot is identified by this number.
@Suite(.serialized) struct ReaderNumberTests {
  /// 1 from the time when a thread is stopped until it may continue.
  private static let isHeld = Atomic<Int>(0)
  /// Whether the thread was stopped since its last check.
  private static let wasHeld = Atomic<Bool>(false)

  /// Signals stop the reader anywhere, also between its number and the roots that belong to it, and two commits are
  /// made before it continues.
  @Test func isThatOfTheCommitThatIsSeen() throws {
    let store = try TemporaryStore()
    let environment = try store.create()
    let table = try environment.table(named: "a")
    let key: [UInt8] = [1]
    func commit() throws {
      var writer = try environment.beginWrite()
      let number = [writer.commitNumber]
      try writer.put(table, key.span.bytes, number.span.bytes)
      try writer.commit()
    }
    try commit()
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in
      Self.wasHeld.store(true, ordering: .relaxed)
      Self.isHeld.store(1, ordering: .sequentiallyConsistent)
      // A stopped thread may hold a lock of the allocator that the other thread waits for, so the stop is limited in
      // time.
      var start = timespec()
      var now = timespec()
      clock_gettime(CLOCK_MONOTONIC, &start)
      repeat {
        clock_gettime(CLOCK_MONOTONIC, &now)
      } while Self.isHeld.load(ordering: .sequentiallyConsistent) == 1
        && (now.tv_sec - start.tv_sec) * 1_000_000_000 + now.tv_nsec - start.tv_nsec < 100_000_000
    }
    var former = sigaction()
    Self.wasHeld.store(Self.isHeld.load(ordering: .relaxed) == 1, ordering: .relaxed)
    #expect(sigaction(SIGURG, &action, &former) == 0)
    defer { sigaction(SIGURG, &former, nil) }

    let reading = Reading()
    let thread = Thread { reading.run(environment, table) }
    thread.start()
    while reading.thread.load(ordering: .acquiring) == 0 { usleep(100) }
    for _ in 0..<2000 {
      pthread_kill(pthread_t(reading.thread.load(ordering: .acquiring)), SIGURG)
      while Self.isHeld.load(ordering: .sequentiallyConsistent) == 0 {}
      defer { Self.isHeld.store(0, ordering: .sequentiallyConsistent) }
      try commit()
      try commit()
    }
    reading.isOver.store(true, ordering: .releasing)
    while !reading.hasEnded.load(ordering: .acquiring) { usleep(100) }
    let (wrong, count) = (reading.wrong.load(ordering: .relaxed), reading.count.load(ordering: .relaxed))
    #expect(wrong == 0 && count > 0, "\(wrong) of \(count)")
  }

  private final class Reading: Sendable {
    let thread = Atomic<UInt>(0)
    let isOver = Atomic<Bool>(false)
    let hasEnded = Atomic<Bool>(false)
    let count = Atomic<Int>(0)
    /// The number of reads that saw another commit than the number's.
    let wrong = Atomic<Int>(0)

    func run(_ environment: LMDBEnvironment, _ table: LMDBTable) {
      let key: [UInt8] = [1]
      // Threads that workers of a queue start have all signals blocked, like the workers.
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGURG)
      pthread_sigmask(SIG_UNBLOCK, &signals, nil)
      thread.store(UInt(pthread_self()), ordering: .releasing)
      while !isOver.load(ordering: .acquiring) {
        do {
          let reader = try environment.beginRead()
          // Most of the time between two signals is spent in beginning.
          if !ReaderNumberTests.wasHeld.load(ordering: .relaxed) { continue }
          ReaderNumberTests.wasHeld.store(false, ordering: .relaxed)
          let seen = try reader.bytes(table, key)?.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
          count.add(1, ordering: .relaxed)
          if seen != reader.commitNumber { wrong.add(1, ordering: .relaxed) }
        } catch {
          wrong.add(1, ordering: .relaxed)
        }
      }
      hasEnded.store(true, ordering: .releasing)
    }
  }
}
