import Synchronization

/// The serials that transactions of this process have given out, committed or not: an id that a caller saw in a
/// transaction that was given up must never come to name another object.
package final class SerialHighWaterMark: Sendable {
  private let floors = Mutex<[UInt16: UInt64]>([:])

  package init() {}

  /// The least serial that was never given out. Blobs count under code 0, which no entity has.
  package func next(rootCode: UInt16) -> UInt64 {
    floors.withLock { $0[rootCode] ?? 1 }
  }

  /// Notes what a transaction used, when it ends either way.
  func note(_ changes: borrowing PendingChanges) {
    if changes.nextSerials.isEmpty && changes.nextBlobSerial == nil { return }
    floors.withLock { floors in
      for (code, next) in changes.nextSerials { floors[code] = max(floors[code] ?? 1, next) }
      if let next = changes.nextBlobSerial { floors[0] = max(floors[0] ?? 1, next) }
    }
  }
}
