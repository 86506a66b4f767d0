/// Asynchronous writes that share one transaction of the storage engine and one durable commit.
///
/// Each write has its own session, commit number, history transaction, hooks and validation, and sees the changes of
/// those before it, as if they had committed. All but the first run in a savepoint of the storage, so a failure rolls
/// back only its own changes. The first needs none: if it fails, there are no other changes.
struct CommitGroup: ~Copyable {
  private struct Member {
    let write: any GroupedWrite
    /// Nil if the write changed nothing.
    let commit: PreparedCommit?
  }

  /// The free space that a group requires, in bytes, before it takes another write. A write that fills the map or the
  /// disk in the middle of a change would abort the whole group.
  private static let neededRoom = 8 << 20
  /// The number of written bytes after which the space is checked again, by this group and the next ones.
  private static let checkedByteCount: UInt64 = 1 << 20

  private let store: ObjectStore
  private let options: GroupCommitOptions
  /// When the write lock was acquired.
  private var start = ContinuousClock.now
  private var members: [Member] = []
  private var writtenByteCount: UInt64 = 0
  /// The commit number of the next write that changes something.
  private var nextCommit: UInt64 = 0

  init(_ store: ObjectStore) {
    self.store = store
    // A transaction that exceeds the file limit cannot continue after a rollback.
    options = store.context.limits?.fileBytes == nil ? store.options.groupCommit : .off
  }

  /// Runs `first` and waiting writes behind it, commits, and resumes their callers.
  consuming func run(_ first: any GroupedWrite) {
    var storage: StorageTransaction
    do {
      var transaction = WriteTransaction(try store.writeSession(label: first.label, timeout: first.timeout))
      start = .now
      nextCommit = transaction.session.commit
      let prepared = try perform(first, &transaction)
      try transaction.session.storage.endRecording()
      storage = transaction.takeSession().takeStorage()
      add(first, prepared, storage)
    } catch {
      return first.resume(throwing: error)
    }
    while takesAnother(storage), let next = store.writerQueue.takeWrite(as: (any GroupedWrite).self) {
      do throws(GroupFailure) {
        storage = try continued(by: next, storage)
      } catch {
        return fail(error.error)
      }
    }
    do throws(StoreError) {
      try makeDurable(storage)
    } catch {
      return fail(error)
    }
    resume()
  }

  /// The storage transaction can only be aborted.
  private struct GroupFailure: Error {
    let error: any Error
  }

  /// Runs a write in a savepoint of the transaction that the group has open.
  ///
  /// - Throws: if the whole group has failed. The failure of the write itself goes to its caller.
  private mutating func continued(
    by write: any GroupedWrite, _ storage: consuming StorageTransaction
  ) throws(GroupFailure) -> StorageTransaction {
    storage.beginCounting()
    var transaction = WriteTransaction(store.writeContext.session(storage, store.schema, commit: nextCommit))
    do {
      let savepoint = try transaction.session.storage.beginSavepoint(
        directory: transaction.session.context.scratchDirectory)
      do {
        try transaction.session.beginWrite(author: store.options.author)
        let prepared = try perform(write, &transaction)
        try transaction.session.storage.endRecording()
        transaction.session.storage.release(savepoint)
        add(write, prepared, transaction.session.storage)
      } catch {
        // The changes must be rolled back before the caller gets its error.
        do {
          try transaction.session.storage.rollBack(to: savepoint)
        } catch let failure {
          transaction.session.changes.fail(error)
          throw failure.cause(in: transaction.session.changes)
        }
        write.resume(throwing: error)
      }
    } catch {
      write.resume(throwing: error)
      throw GroupFailure(error: error)
    }
    return transaction.takeSession().takeStorage()
  }

  /// Runs a write up to its commit.
  private func perform(_ write: any GroupedWrite, _ transaction: inout WriteTransaction) throws -> PreparedCommit? {
    transaction.mergePolicy = write.mergePolicy
    do {
      try write.perform(&transaction)
      return try transaction.prepareCommit(store)
    } catch {
      store.noteSerials(of: transaction.session.changes, dryRun: nil)
      throw error
    }
  }

  private mutating func add(
    _ write: any GroupedWrite, _ commit: PreparedCommit?, _ storage: borrowing StorageTransaction
  ) {
    writtenByteCount += storage.writtenByteCount
    store.writerQueue.uncheckedByteCount.add(storage.writtenByteCount, ordering: .relaxed)
    if commit != nil { nextCommit += 1 }
    members.append(Member(write: write, commit: commit))
  }

  /// Whether the group takes another write.
  private mutating func takesAnother(_ storage: borrowing StorageTransaction) -> Bool {
    guard members.count < options.maximumCount, writtenByteCount < UInt64(max(0, options.maximumByteCount)),
      ContinuousClock.now - start < options.maximumDuration
    else { return false }
    if store.writerQueue.uncheckedByteCount.load(ordering: .relaxed) < Self.checkedByteCount { return true }
    guard let space = storage.space() else { return true }
    do throws(StoreError) {
      try space.makeRoom(toContinueFor: Self.neededRoom)
    } catch {
      return false
    }
    store.writerQueue.uncheckedByteCount.store(0, ordering: .relaxed)
    return true
  }

  private func makeDurable(_ storage: consuming StorageTransaction) throws(StoreError) {
    let commits = members.compactMap(\.commit)
    if commits.isEmpty { return }
    if commits.allSatisfy(\.isDeleteOnly) { storage.markDeleteOnly() }
    try storage.commit()
    store.commitSignal.noteCommit()
  }

  private func resume() {
    for member in members {
      member.commit?.announce(store)
      member.write.resume()
    }
  }

  /// Nothing was committed, or the outcome is unknown.
  private func fail(_ error: any Error) {
    for member in members { member.write.resume(throwing: error) }
  }
}
