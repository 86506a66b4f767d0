import KVCloneBranches
import KVCloneCore
import Synchronization

/// The open branches of a store, which are closed with it.
final class OpenBranches: StoreResource {
  private struct Entry {
    weak var branch: ObjectStore?
  }

  private let entries = Mutex<[UInt32: Entry]>([:])
  private let openTables = Mutex<BranchTables?>(nil)

  /// Returns the tables of branches; nil if the store never had one. Opening them waits for writers, so they stay open.
  func tables(_ open: () throws(StoreError) -> BranchTables?) throws(StoreError) -> BranchTables? {
    if let known = openTables.withLock({ $0 }) { return known }
    let opened = try open()
    if let opened { note(opened) }
    return opened
  }

  /// Records tables that a committed transaction has created or opened.
  func note(_ tables: BranchTables) { openTables.withLock { $0 = tables } }

  /// Returns the open branch with a number, or opens it: one instance notices the commits of all its users.
  func branch(_ number: UInt32, _ open: () throws(StoreError) -> ObjectStore) throws(StoreError) -> ObjectStore {
    if let known = entries.withLock({ $0[number]?.branch }), !known.commitSignal.isClosed { return known }
    let opened = try open()
    return entries.withLock { entries in
      if let known = entries[number]?.branch, !known.commitSignal.isClosed { return known }
      entries = entries.filter { $0.value.branch != nil }
      entries[number] = Entry(branch: opened)
      return opened
    }
  }

  func close() {
    let open = entries.withLock { entries in
      defer { entries.removeAll() }
      return entries.values.compactMap(\.branch)
    }
    for branch in open { branch.close() }
  }
}
