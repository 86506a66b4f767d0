import CKVCloneLMDB
import Glibc
import Synchronization

/// One reader: a read transaction of LMDB's that is renewed and reset, and whether it is in use.
///
/// As long as two cache lines, so that two threads do not write into one.
@safe
struct ReaderSlot: ~Copyable {
  static let idle: UInt32 = 0
  static let busy: UInt32 = 1
  /// Nobody may claim it: somebody needs all readers to be gone.
  static let locked: UInt32 = 2

  let state: Atomic<UInt32>
  /// False for a reader beyond the slots of its core, which is freed with its transaction.
  let isPooled: Bool
  let core: Unmanaged<EnvironmentCore>
  /// Belongs to whoever has set `state`. It is no part of the slot: who changes a part of a value has, by Swift's rules, all of it to
  /// himself, and other threads look at `state` all the time.
  let content: UnsafeMutablePointer<Content>
  let isOneSided = Barrier.isOneSided
  /// When the transaction began, for whoever lists readers; 0 while there is none.
  private let since = Atomic<UInt64>(0)
  /// The commit that it sees.
  private let commit = Atomic<UInt64>(0)
  private let padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) =
    (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)

  @safe
  struct Content: ~Copyable {
    let core: Unmanaged<EnvironmentCore>
    /// Nil until the slot is used for the first time.
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

  /// Gives the slot back, and says whether somebody waits for that.
  @inline(__always)
  func release() -> Bool {
    state.store(Self.idle, ordering: .releasing)
    return needsAttention
  }

  /// Says that a transaction began. By the clock of the kernel's last tick, some milliseconds ago, which costs a seventh of
  /// the exact one: transactions begin in some ten nanoseconds.
  @inline(__always)
  func noteBegin(_ handle: LMDBTransactionHandle) {
    commit.store(handle.commitNumber, ordering: .relaxed)
    since.store(coarseMonotonicNanoseconds(), ordering: .releasing)
  }

  @inline(__always)
  func noteEnd() {
    since.store(0, ordering: .relaxed)
  }

  /// The transaction that is open, for another thread than its own: it may have ended when the answer arrives.
  var open: (commit: UInt64, since: UInt64)? {
    let before = since.load(ordering: .acquiring)
    let commit = commit.load(ordering: .acquiring)
    let after = since.load(ordering: .relaxed)
    return before != 0 && before == after ? (commit, before) : nil
  }

  /// Whether whoever begins or ends must take the slow way. To be asked after `state` was changed.
  @inline(__always)
  var needsAttention: Bool {
    if !isOneSided { atomicMemoryFence(ordering: .sequentiallyConsistent) }
    return unsafe core._withUnsafeGuaranteedRef { $0.attention.load(ordering: .relaxed) != 0 }
  }
}
