import CKVCloneLMDB
import Glibc
import Synchronization

/// The state that transactions share with their environment: LMDB's handle, the pooled readers, and the count of live
/// users.
///
/// A read transaction must cost nanoseconds, so it takes no reference and no lock: it claims a reader slot by one
/// compare-and-swap and releases it by a plain store, after which it checks `attention`. An operation that requires all
/// readers to end (closing, moving the map, reopening) sets `attention`, makes every processor see it (`membarrier`),
/// and locks the slots one by one; if one is busy, its reader finds `attention` set when it ends and does the work
/// instead.
///
/// A core is never freed, because a reader that ends may access it just after another thread closed the environment.
/// Closed cores are reused.
@safe
final class EnvironmentCore: @unchecked Sendable {
  struct State {
    /// Live users other than readers in slots: writers, readers beyond the slots, and calls into LMDB.
    var live = 0
    var isClosing = false
    var isClosed = false
    /// Whether no environment object refers to the core any more: once closed, it can be reused.
    var isAbandoned = false
    /// Whether LMDB refuses to continue after it failed to write a meta page: it has to be closed and reopened.
    var isFatal = false
    /// The error that the last attempt to reopen it ended with; nil if live users prevented it.
    var reopeningError: LMDBError?
    /// Whether reopening failed half way: there is no LMDB environment behind `pointer`.
    var isBroken = false
    /// Whether a transaction reached the end of the map, which has to grow.
    var wantsGrowth = false
    /// The map size to grow to; zero for twice the current size.
    var wantedMapSize = 0
    var tables: [String: LMDBTable] = [:]
    /// Readers beyond the slots, by the address of their own slot.
    var unpooled: [UInt: UnpooledReader] = [:]

    var wantsAttention: Bool { isClosing || isFatal || wantsGrowth }
  }

  /// Readers beyond this many are not pooled.
  static let slotCount = 16

  /// LMDB's environment. Replaced only under the lock of `state`, without live users; read by live users.
  var raw: RawEnvironment
  let state = Mutex(State())
  let slots: UnsafeMutablePointer<ReaderSlot>
  /// Nonzero if beginning and ending readers must take the slow path.
  let attention = Atomic<UInt32>(0)
  /// The start of the memory map: see `start(ofMapWith:)`.
  let mapStart = Atomic<UInt>(0)
  let forkGuard = ForkGuard()
  let writeback = Writeback()
  /// The number of commits by this process, for periodic checks.
  let commitCount = Atomic<UInt64>(0)

  // The parameters of opening. Constant from open to close.
  private(set) var directory = ""
  private(set) var options = LMDBOptions()
  private(set) var identity = FileSystem.Identity(device: 0, inode: 0)
  /// Makes commits durable in LMDB's place; also present where only other processes may use one. Nil if this
  /// environment does not write.
  var commitLog: CommitLog?
  /// For the holder of the write lock.
  let scratch = PageScratch()

  private static let closed = Mutex<[EnvironmentCore]>([])

  private init(raw: RawEnvironment) {
    self.raw = raw
    let byteCount = Self.slotCount * MemoryLayout<ReaderSlot>.stride
    let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 64)
    unsafe slots = unsafe memory.bindMemory(to: ReaderSlot.self, capacity: Self.slotCount)
    let core = unsafe Unmanaged.passUnretained(self)
    for index in 0..<Self.slotCount { unsafe (slots + index).initialize(to: ReaderSlot(core: core, isPooled: true)) }
  }

  /// Returns a core for an environment that was just opened.
  static func make(
    _ raw: RawEnvironment, directory: String, options: LMDBOptions, identity: FileSystem.Identity
  ) -> EnvironmentCore {
    // A core from before a fork has a page that the kernel cleared.
    let reused = closed.withLock { cores -> EnvironmentCore? in
      while let core = cores.popLast() { if !core.forkGuard.isForked { return core } }
      return nil
    }
    let core: EnvironmentCore
    if let reused {
      core = reused
      core.raw = raw
    } else {
      core = EnvironmentCore(raw: raw)
      _ = unsafe Unmanaged.passRetained(core)
    }
    core.directory = directory
    core.options = options
    core.identity = identity
    core.commitLog = nil
    core.commitCount.store(0, ordering: .relaxed)
    core.state.withLock { state in
      state = State()
      core.unlockSlots()
      core.attention.store(0, ordering: .sequentiallyConsistent)
    }
    return core
  }

  /// LMDB's handle, for live users.
  @inline(__always)
  var pointer: OpaquePointer { unsafe raw.pointer }

  // MARK: Counting

  /// Adds a live user other than a slot's reader, once no pending work prevents it.
  func enter() throws(LMDBError) {
    // Before the lock: in a forked child, its copy may be locked by another thread for ever.
    if forkGuard.isForked { throw .forked }
    let failure = state.withLock { state -> LMDBError? in
      if let failure = admit(&state) { return failure }
      state.live += 1
      return nil
    }
    if let failure { throw failure }
  }

  /// Removes a live user; with the address of its slot if it is a reader.
  func leave(_ reader: UInt? = nil) {
    state.withLock { state in
      state.live -= 1
      if let reader { state.unpooled[reader] = nil }
      if state.wantsAttention { settle(&state) }
    }
  }

  /// Does the work that waits for idleness, if there are no live users. Returns the error that prevents a begin, if
  /// any.
  func admit(_ state: inout State) -> LMDBError? {
    if state.wantsAttention { settle(&state) }
    if state.isClosing { return .closed }
    return state.isFatal ? state.reopeningError ?? .panic : nil
  }

  /// The number of live users, including readers in slots.
  func liveCount(_ state: State) -> Int {
    var count = state.live
    for index in 0..<Self.slotCount where unsafe slots[index].state.load(ordering: .relaxed) == ReaderSlot.busy {
      count += 1
    }
    return count
  }

  // MARK: Idleness

  /// Makes beginning and ending readers take the slow path from now on, and makes those that are already ending
  /// visible.
  func demandAttention() {
    attention.store(1, ordering: .sequentiallyConsistent)
    Barrier.everywhere()
  }

  /// Runs `body` while there are no live users except the `own` ones that the caller counts and the reader in the slot
  /// number `except`. Returns false if there are others.
  func whileIdle(
    _ state: inout State, own: Int = 0, except: Int? = nil, _ body: (inout State) -> Void
  ) -> Bool {
    guard state.live == own else { return false }
    if attention.load(ordering: .relaxed) == 0 { demandAttention() }
    guard lockSlots(except: except) else {
      if !state.wantsAttention { attention.store(0, ordering: .sequentiallyConsistent) }
      return false
    }
    body(&state)
    // The slots of a closed environment stay locked until the core is reused.
    if !state.isClosed { unlockSlots() }
    if !state.wantsAttention { attention.store(0, ordering: .sequentiallyConsistent) }
    return true
  }

  /// Closes, reopens or grows, as requested, if the only live users are `own` ones of the caller.
  func settle(_ state: inout State, own: Int = 0) {
    guard !state.isClosed else { return }
    state.reopeningError = nil
    _ = whileIdle(&state, own: own) { state in
      if state.isClosing {
        if own == 0 { close(&state) }
        return
      }
      if state.isFatal { reopen(&state) }
      if state.wantsGrowth, !state.isFatal { growAfterFailure(&state) }
    }
  }

  private func close(_ state: inout State) {
    dropPooledReaders()
    if !state.isBroken {
      if let descriptor { commitLog?.finish(data: descriptor) }
      raw.close()
    }
    commitLog = nil
    state.isClosed = true
    state.tables = [:]
    EnvironmentRegistry.release(identity)
    if state.isAbandoned { Self.keepForReuse(self) }
  }

  static func keepForReuse(_ core: EnvironmentCore) {
    closed.withLock { $0.append(core) }
  }

  private func lockSlots(except: Int?) -> Bool {
    for index in 0..<Self.slotCount where index != except {
      let (locked, _) = unsafe slots[index].state.compareExchange(
        expected: ReaderSlot.idle, desired: ReaderSlot.locked, ordering: .sequentiallyConsistent)
      if !locked {
        unlockSlots()
        return false
      }
    }
    return true
  }

  private func unlockSlots() {
    for index in 0..<Self.slotCount {
      _ = unsafe slots[index].state.compareExchange(
        expected: ReaderSlot.locked, desired: ReaderSlot.idle, ordering: .sequentiallyConsistent)
    }
  }

  /// Frees the slots in the reader table. All slots are locked, or the caller's.
  func dropPooledReaders() {
    forgetMap()
    for index in 0..<Self.slotCount {
      let content = unsafe slots[index].content
      guard unsafe slots[index].state.load(ordering: .relaxed) == ReaderSlot.locked,
        let transaction = unsafe content.pointee.transaction
      else { continue }
      unsafe mdb_txn_abort(transaction)
      unsafe content.pointee.transaction = nil
    }
  }
}
