import CKVCloneLMDB
import Glibc
import Synchronization

/// What transactions share with their environment: LMDB's handle, the pooled readers, and who is live.
///
/// A read transaction must cost nanoseconds, so it takes no reference to anything and no lock: it claims a reader slot
/// by one compare-and-swap and gives it back by a plain store, after which it looks at `attention`. Whoever needs all
/// readers to be gone (to close, to move the map, to reopen) sets `attention`, makes every processor see it
/// (`membarrier`), and locks the slots one by one; if one is busy, its reader finds `attention` set when it ends and
/// does the work instead.
///
/// A core is never freed, because such a reader may look at it just after somebody else closed the environment. Closed
/// ones are used again.
@safe
final class EnvironmentCore: @unchecked Sendable {
  struct State {
    /// Live users other than readers in slots: writers, readers beyond the slots, and whoever asks LMDB something.
    var live = 0
    var isClosing = false
    var isClosed = false
    /// No environment object refers to the core any more: when it is closed, it can serve another one.
    var isAbandoned = false
    /// LMDB refuses to work on after it failed to write a meta page: it is to be closed and opened again.
    var isFatal = false
    /// A reopening failed half way: there is no LMDB environment behind `pointer`.
    var isBroken = false
    /// A transaction met the map's end: the map is to grow.
    var wantsGrowth = false
    /// How large the map should become then; zero for twice what it is.
    var wantedMapSize = 0
    var tables: [String: LMDBTable] = [:]
    /// Readers beyond the slots, by where their own slot is.
    var unpooled: [UInt: UnpooledReader] = [:]

    var wantsAttention: Bool { isClosing || isFatal || wantsGrowth }
  }

  /// Readers beyond this many are not pooled.
  static let slotCount = 16

  /// LMDB's environment. Exchanged only under the lock of `state`, with no live user; read by live users.
  var raw: RawEnvironment
  let state = Mutex(State())
  let slots: UnsafeMutablePointer<ReaderSlot>
  /// Not zero if a reader that begins or ends must take the slow way.
  let attention = Atomic<UInt32>(0)
  /// Where the memory map begins: see `start(ofMapWith:)`.
  let mapStart = Atomic<UInt>(0)
  let forkGuard = ForkGuard()
  let writeback = Writeback()
  /// Commits of this process, for the checks that are due every so many.
  let commitCount = Atomic<UInt64>(0)

  // What the environment was opened with. Constant from open to close.
  private(set) var directory = ""
  private(set) var options = LMDBOptions()
  private(set) var identity = FileSystem.Identity(device: 0, inode: 0)
  /// What makes commits durable, if not LMDB does; also where only others may have one. Nil where nobody writes.
  var commitLog: CommitLog?
  /// For who has the right to write.
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

  /// A core for an environment that was just opened.
  static func make(
    _ raw: RawEnvironment, directory: String, options: LMDBOptions, identity: FileSystem.Identity
  ) -> EnvironmentCore {
    // A core of before a fork has a page that the kernel cleared.
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

  /// Counts one more live user other than a slot's reader, once nothing stands in its way.
  func enter() throws(LMDBError) {
    // Before the lock: in a forked child another thread's copy of it may be locked for ever.
    if forkGuard.isForked { throw .forked }
    let failure = state.withLock { state -> LMDBError? in
      if let failure = admit(&state) { return failure }
      state.live += 1
      return nil
    }
    if let failure { throw failure }
  }

  /// Counts one live user less; with the place of its slot if it is a reader.
  func leave(_ reader: UInt? = nil) {
    state.withLock { state in
      state.live -= 1
      if let reader { state.unpooled[reader] = nil }
      if state.wantsAttention { settle(&state) }
    }
  }

  /// Does what is waiting for idleness, if nobody is live, and says why nothing can begin now, if so.
  func admit(_ state: inout State) -> LMDBError? {
    if state.wantsAttention { settle(&state) }
    if state.isClosing { return .closed }
    return state.isFatal ? .panic : nil
  }

  /// How many users are live, readers in slots included.
  func liveCount(_ state: State) -> Int {
    var count = state.live
    for index in 0..<Self.slotCount where unsafe slots[index].state.load(ordering: .relaxed) == ReaderSlot.busy {
      count += 1
    }
    return count
  }

  // MARK: Idleness

  /// Makes readers that begin or end take the slow way from now on, and those that end already visible to us.
  func demandAttention() {
    attention.store(1, ordering: .sequentiallyConsistent)
    Barrier.everywhere()
  }

  /// Runs `body` while no user is live but the `own` ones that the caller counts and the reader in the slot number
  /// `except`. False if there are others.
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
    // The slots of a closed environment stay locked until the core is used again.
    if !state.isClosed { unlockSlots() }
    if !state.wantsAttention { attention.store(0, ordering: .sequentiallyConsistent) }
    return true
  }

  /// Closes, reopens or grows, whatever is wanted, if nobody is live but `own` users of the caller's.
  func settle(_ state: inout State, own: Int = 0) {
    guard !state.isClosed else { return }
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

  /// Gives the reader table its slots back. All slots are locked, or the caller's.
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
