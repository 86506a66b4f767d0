import Synchronization

/// The serials allocated by transactions of this process, committed or not: an id that a caller saw in an aborted
/// transaction must never refer to another object.
package final class SerialHighWaterMark: Sendable {
  private let floors = Mutex<[UInt16: UInt64]>([:])

  package init() {}

  /// The least serial that was never allocated. Blobs use code 0, which no entity has.
  package func next(rootCode: UInt16) -> UInt64 {
    floors.withLock { $0[rootCode] ?? 1 }
  }

  /// Records the serials of a transaction, whether it commits or aborts.
  func note(_ changes: borrowing PendingChanges) {
    if changes.nextSerials.isEmpty && changes.nextBlobSerial == nil { return }
    floors.withLock { floors in
      for (code, next) in changes.nextSerials { floors[code] = max(floors[code] ?? 1, next) }
      if let next = changes.nextBlobSerial { floors[0] = max(floors[0] ?? 1, next) }
    }
  }
}
