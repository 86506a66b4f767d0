import Glibc

/// The write lock among the threads of this process. First come, first served, with a timeout.
///
/// A thread that locks twice would hang in LMDB's mutex; here it gets an error. Waiters queue, because a thread that
/// commits in a loop would otherwise take the slot again and again before a woken waiter runs.
@safe
final class WriterSlot: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  // Guarded by `mutex`.
  private var owner: UInt?
  private var ownerLabel = ""
  private var ownerSince: Int64 = 0
  private var waiting: [UInt64] = []
  private var nextTicket: UInt64 = 0

  init() {
    unsafe mutex = .allocate(capacity: 1)
    unsafe condition = .allocate(capacity: 1)
    unsafe pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(condition, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
  }

  /// Takes the slot, waiting until `deadline` (of `monotonicNanoseconds`; nil: forever).
  func acquire(deadline: UInt64?, label: String) throws(LMDBError) {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    let thread = Threads.currentID
    if owner == thread { throw .nestedWrite }
    if owner != nil || !waiting.isEmpty {
      try wait(deadline: deadline)
    }
    owner = thread
    ownerLabel = label
    ownerSince = wallClockNanoseconds()
  }

  func release() {
    unsafe pthread_mutex_lock(mutex)
    owner = nil
    if !waiting.isEmpty { unsafe pthread_cond_broadcast(condition) }
    unsafe pthread_mutex_unlock(mutex)
  }

  var holder: WriterHolder? {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return holderLocked
  }

  private var holderLocked: WriterHolder? {
    if owner == nil { return nil }
    return WriterHolder(pid: getpid(), label: ownerLabel, sinceNanoseconds: ownerSince, isThisProcess: true)
  }

  /// Waits until the caller is first in the queue, with the mutex held.
  private func wait(deadline: UInt64?) throws(LMDBError) {
    let ticket = nextTicket
    nextTicket += 1
    waiting.append(ticket)
    while owner != nil || waiting.first != ticket {
      var code: Int32 = 0
      if let deadline {
        var time = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
        code = unsafe pthread_cond_timedwait(condition, mutex, &time)
      } else {
        code = unsafe pthread_cond_wait(condition, mutex)
      }
      if code == ETIMEDOUT, owner != nil || waiting.first != ticket {
        waiting.removeAll { $0 == ticket }
        // Another waiter may now be the first, and the slot may be free.
        unsafe pthread_cond_broadcast(condition)
        throw .busy(holder: holderLocked)
      }
    }
    waiting.removeFirst()
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe pthread_mutex_destroy(mutex)
    unsafe condition.deallocate()
    unsafe mutex.deallocate()
  }
}
