import CKVCloneLMDB
import Glibc
import Synchronization

/// A reader slot of this process: an LMDB read transaction that is renewed and reset, and whether it is in use.
///
/// Occupies two cache lines, so that two threads do not write into one.
@safe
struct ReaderSlot: ~Copyable {
  static let idle: UInt32 = 0
  static let busy: UInt32 = 1
  /// The slot cannot be claimed: an operation requires that all readers end.
  static let locked: UInt32 = 2

  let state: Atomic<UInt32>
  /// False for a reader beyond the slots of its core, which is freed with its transaction.
  let isPooled: Bool
  let core: Unmanaged<EnvironmentCore>
  /// Owned by the thread that has set `state`. It is not stored in the slot: changing a part of a value requires
  /// exclusive access to all of it, and other threads read `state` all the time.
  let content: UnsafeMutablePointer<Content>
  let isOneSided = Barrier.isOneSided
  /// The time when the transaction began, for reader lists; 0 without a transaction.
  private let since = Atomic<UInt64>(0)
  /// The commit that the transaction sees.
  private let commit = Atomic<UInt64>(0)
  private let padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) =
    (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)

  @safe
  struct Content: ~Copyable {
    let core: Unmanaged<EnvironmentCore>
    /// Nil until the first use of the slot.
    var transaction: OpaquePointer?
    var map = ReaderMap()
  }

  init(core: Unmanaged<EnvironmentCore>, isPooled: Bool) {
    state = Atomic(isPooled ? Self.idle : Self.busy)
    self.isPooled = isPooled
    unsafe self.core = unsafe core
    unsafe content = .allocate(capacity: 1)
    unsafe content.initialize(to: Content(core: core, transaction: nil))
  }

  deinit {
    unsafe content.deinitialize(count: 1)
    unsafe content.deallocate()
  }

  @inline(__always)
  func claim() -> Bool {
    state.compareExchange(expected: Self.idle, desired: Self.busy, ordering: .acquiring).exchanged
  }

  /// Releases the slot. Returns whether an operation waits for it.
  @inline(__always)
  func release() -> Bool {
    state.store(Self.idle, ordering: .releasing)
    return needsAttention
  }

  /// Records the begin of a transaction. Uses the time of the kernel's last tick, some milliseconds ago, which costs a
  /// seventh of the exact one: transactions begin in some ten nanoseconds.
  @inline(__always)
  func noteBegin(_ handle: LMDBTransactionHandle) {
    commit.store(handle.commitNumber, ordering: .relaxed)
    since.store(coarseMonotonicNanoseconds(), ordering: .releasing)
  }

  @inline(__always)
  func noteEnd() {
    since.store(0, ordering: .relaxed)
  }

  /// The open transaction, for other threads: it may have ended when the value arrives.
  var open: (commit: UInt64, since: UInt64)? {
    let before = since.load(ordering: .acquiring)
    let commit = commit.load(ordering: .acquiring)
    let after = since.load(ordering: .relaxed)
    return before != 0 && before == after ? (commit, before) : nil
  }

  /// Whether beginning and ending readers must take the slow path. Check after changing `state`.
  @inline(__always)
  var needsAttention: Bool {
    if !isOneSided { atomicMemoryFence(ordering: .sequentiallyConsistent) }
    return unsafe core._withUnsafeGuaranteedRef { $0.attention.load(ordering: .relaxed) != 0 }
  }
}
