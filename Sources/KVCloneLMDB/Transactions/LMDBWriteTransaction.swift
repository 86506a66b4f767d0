import CKVCloneLMDB

/// The one write transaction of an environment. It sees its own writes, which are invisible to others before `commit`.
///
/// It belongs to the thread that began it: begin, use and end it there (LMDB's lock belongs to a thread). Values it
/// returns are valid until its next write; writes are `mutating`, so the compiler checks that. A failed write operation
/// leaves it abort-only. Dropping it aborts.
public struct LMDBWriteTransaction: ~Copyable {
  /// The environment, which the transaction keeps alive.
  package let environment: LMDBEnvironment
  let handle: LMDBTransactionHandle
  /// The error of the first failed write operation.
  package internal(set) var failure: LMDBError?
  /// An upper estimate of the bytes dirtied since the last spill.
  var dirtyBytes = 0
  let spillBudget: Int
  /// The number of spills.
  package internal(set) var spillCount = 0
  /// Retained cursors (`retainCursors`). They are closed with the transaction, if not before.
  var places: [LMDBPlace] = []
  /// Tables that were created and are not yet visible to others.
  var madeTables: [(name: String, table: LMDBTable)] = []
  /// For a file with a size limit: its pages at the begin, and those in use then.
  var firstPageCount: Int?
  var firstUsedPages = 0
  /// Whether LMDB's number of the next page was found at its expected place.
  var knowsNextPage = false
  /// Whether the transaction only deletes, and may use the disk space reserved for that.
  var isDeleteOnly = false
  /// Whether it is a dry run, which always aborts.
  private var isDryRun = false
  private let thread: UInt
  private var isLive = true

  init(environment: LMDBEnvironment, handle: LMDBTransactionHandle, spillBudget: Int) {
    self.environment = environment
    self.handle = handle
    self.spillBudget = spillBudget
    thread = Threads.currentID
    beginGrowth()
  }

  /// The number that its commit will have.
  package var commitNumber: UInt64 { handle.commitNumber }

  /// Makes all writes durable and visible, or none. Throws `transactionFailed` after a failed operation. After every
  /// other error nothing was committed, except `commitFailed`, which contains the outcome of the commit.
  package consuming func commit() throws(LMDBError) {
    try commitInPlace()
  }

  /// Commits for an owner that cannot consume the transaction, such as a class. Only its end may follow.
  package mutating func commitInPlace() throws(LMDBError) {
    precondition(thread == Threads.currentID, "A write transaction is committed by the thread that began it.")
    guard isLive else { throw .badTransaction }
    isLive = false
    endWritingBack()
    if failure != nil || isDryRun {
      environment.abortWrite(handle, abortReason)
      throw .transactionFailed
    }
    do throws(LMDBError) {
      try environment.settleReserve(handle, isDeleteOnly: isDeleteOnly)
    } catch {
      environment.abortWrite(handle, error)
      throw error
    }
    try environment.commitWrite(handle)
    if !madeTables.isEmpty { environment.registerMade(madeTables) }
  }

  /// Declares that the transaction only deletes, with the consequences of deletes: the commit, and earlier spills, may
  /// use the reserved disk space.
  package mutating func markDeleteOnly() { isDeleteOnly = true }

  /// Turns the transaction into a dry run: it can no longer commit, and an abort truncates pages spilled beyond the
  /// file's end.
  package mutating func markDryRun() { isDryRun = true }

  /// Discards every write.
  package consuming func abort() {
    precondition(thread == Threads.currentID, "A write transaction is aborted by the thread that began it.")
    isLive = false
    endWritingBack()
    environment.abortWrite(handle, abortReason)
  }

  /// The error that the environment cleans up after; for a dry run that spilled, one that truncates the file.
  private var abortReason: LMDBError? {
    if failure == nil, isDryRun, spillCount > 0 {
      return .fileTooLarge(limit: environment.options.maximumFileBytes ?? 0)
    }
    return failure
  }

  /// Runs while the environment is in use, and so cannot be closed.
  private borrowing func endWritingBack() {
    if spillCount > 0 { environment.endWritingBack() }
  }

  deinit {
    if isLive {
      precondition(thread == Threads.currentID, "A write transaction is dropped by the thread that began it.")
      if spillCount > 0 { environment.endWritingBack() }
      environment.abortWrite(handle, abortReason)
    }
  }
}
