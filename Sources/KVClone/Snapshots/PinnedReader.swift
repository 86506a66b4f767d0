import Foundation
import KVCloneCore
import KVCloneLMDB
import Synchronization

/// The transaction of a pinned snapshot while it is open, and the reason for its end afterwards.
///
/// Dropping its one reference ends it: a running read has a reference of its own, so the transaction never ends during
/// a read.
package final class PinnedReader: Sendable {
  /// The reason why a snapshot cannot be read anymore.
  enum End: Sendable {
    case closed, expired, storeClosed
  }

  private enum State {
    case open(PinnedTransaction)
    case over(End)
  }

  package let owner: String
  /// The last commit that the snapshot shows.
  package let commit: UInt64
  /// The times of the pin and of its expiry, on a clock that counts from the machine's start.
  let began: UInt64
  let deadline: UInt64?
  /// Serializes readers: any thread may use an LMDB transaction, but only one at a time.
  private let turn = NSRecursiveLock()
  private let state: Mutex<State>

  init(_ transaction: PinnedTransaction, owner: String, commit: UInt64, began: UInt64, deadline: UInt64?) {
    self.owner = owner
    self.commit = commit
    self.began = began
    self.deadline = deadline
    state = Mutex(.open(transaction))
  }

  package var age: Duration { .nanoseconds(Int64(clamping: monotonicNanoseconds() &- began)) }

  var isPastDeadline: Bool { deadline.map { monotonicNanoseconds() >= $0 } ?? false }

  /// The reason for the end; nil while the snapshot can be read.
  var end: End? {
    state.withLock { state in
      if case .over(let end) = state { return end }
      return nil
    }
  }

  /// Ends the transaction, immediately or at the end of the running read. The first reason stays.
  func end(_ end: End) {
    // The deinitializer of the transaction must run outside of the lock.
    let ended = state.withLock { state -> PinnedTransaction? in
      guard case .open(let transaction) = state else { return nil }
      state = .over(end)
      return transaction
    }
    _ = consume ended
  }

  /// Runs `body` while no other thread reads. A nested read of the same thread already holds the lock.
  func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    turn.lock()
    defer { turn.unlock() }
    // The snapshot may have expired while this thread waited for the lock.
    let transaction = try openTransaction()
    return try body(transaction.transaction)
  }

  private func openTransaction() throws(StoreError) -> PinnedTransaction {
    if isPastDeadline { end(.expired) }
    let (transaction, end) = state.withLock { state -> (PinnedTransaction?, End) in
      switch state {
      case .open(let transaction): (transaction, .closed)
      case .over(let end): (nil, end)
      }
    }
    guard let transaction else { throw error(end) }
    return transaction
  }

  private func error(_ end: End) -> StoreError {
    let name = owner.isEmpty ? "" : " “\(owner)”"
    switch end {
    case .closed: return StoreError(.closed, "the pinned snapshot\(name) was closed; pin a new one")
    case .storeClosed:
      return StoreError(
        .closed, "the pinned snapshot\(name) ended when its store was closed; open the store, and pin a new one")
    case .expired:
      let limit = deadline.map { Duration.nanoseconds(Int64(clamping: $0 &- began)) } ?? .zero
      return StoreError(
        .snapshotExpired,
        "the pinned snapshot\(name) of commit \(commit) exceeded its maximum age of \(limit.inWords) and was closed, "
          + "to limit the growth of the file; pin a new one, close it sooner, or increase its maximum age and that of "
          + "the store's options")
    }
  }
}

/// The transaction itself, which ends with the last reference to it.
///
/// Sendable, because the lock serializes its use.
final class PinnedTransaction: @unchecked Sendable {
  let transaction: ReadTransaction

  init(_ session: consuming Session) {
    transaction = ReadTransaction(session)
  }
}

extension Duration {
  /// A duration for messages: `250 ms`, `90 s`, `15 min`, `1 h`.
  var inWords: String {
    let (seconds, attoseconds) = components
    if seconds < 10 { return "\(seconds * 1000 + attoseconds / 1_000_000_000_000_000) ms" }
    if seconds < 600 { return "\(seconds) s" }
    return seconds < 36_000 && seconds % 3600 != 0 ? "\(seconds / 60) min" : "\(seconds / 3600) h"
  }
}
