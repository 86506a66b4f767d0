import CKVCloneLMDB

/// The one write transaction of an environment. It sees its own writes, and nobody else does before `commit`.
///
/// It belongs to the thread that began it: begin, use and end it there (LMDB's lock belongs to a thread). Values it
/// returns are valid until its next write; writes are `mutating`, so the compiler checks that. A failed write operation
/// leaves it abort-only. Dropping it aborts.
public struct LMDBWriteTransaction: ~Copyable {
  /// The environment it writes. Kept alive by the transaction.
  package let environment: LMDBEnvironment
  let handle: LMDBTransactionHandle
  /// The error of the first write operation that failed, if one did.
  package internal(set) var failure: LMDBError?
  /// Bytes dirtied since the last spill, by an upper estimate.
  var dirtyBytes = 0
  let spillBudget: Int
  /// How often it spilled.
  package internal(set) var spillCount = 0
  /// Cursors that are kept for now (`retainCursors`). They end with the transaction, if not before.
  var places: [LMDBPlace] = []
  /// Tables that were made, and are not known yet to others.
  var madeTables: [(name: String, table: LMDBTable)] = []
  /// Of a file whose length is limited: its pages at the begin, and those in use then.
  var firstPageCount: Int?
  var firstUsedPages = 0
  /// Whether LMDB's own number of the next page was where it is looked for.
  var knowsNextPage = false
  /// Whether it deletes only, and may use the room on the disk that is kept for that.
  var takesAway = false
  /// Whether it is a dry run, which is always aborted.
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

  /// Makes every write durable and visible, or none. Throws `transactionFailed` after a failed operation. After every
  /// other error nothing was committed, unless it is `commitFailed`, which says what became of the commit.
  package consuming func commit() throws(LMDBError) {
    try commitInPlace()
  }

  /// The same for an owner that cannot give the transaction away, such as a class. Nothing may follow but its end.
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
      try environment.settleReserve(handle, takesAway: takesAway)
    } catch {
      environment.abortWrite(handle, error)
      throw error
    }
    try environment.commitWrite(handle)
    if !madeTables.isEmpty { environment.registerMade(madeTables) }
  }

  /// Says that nothing but deletes was done, with what follows from them: the commit may take the room on the disk that is kept for that.
  package mutating func markDeleteOnly() { takesAway = true }

  /// Turns the transaction into a dry run: it can no longer be committed, and pages that it spills beyond the file's
  /// end are cut off when it is aborted.
  package mutating func markDryRun() { isDryRun = true }

  /// Forgets every write.
  package consuming func abort() {
    precondition(thread == Threads.currentID, "A write transaction is aborted by the thread that began it.")
    isLive = false
    endWritingBack()
    environment.abortWrite(handle, abortReason)
  }

  /// The error that the environment cleans up after; of a dry run that spilled, the one after which the file is cut.
  private var abortReason: LMDBError? {
    if failure == nil, isDryRun, spillCount > 0 {
      return .fileTooLarge(limit: environment.options.maximumFileBytes ?? 0)
    }
    return failure
  }

  /// While the environment is in use, and so cannot be closed.
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
