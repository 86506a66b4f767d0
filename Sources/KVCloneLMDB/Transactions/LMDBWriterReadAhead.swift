import CKVCloneLMDB
import Glibc

/// Requests pages from the disk before a write transaction reads them.
///
/// The transaction reads through LMDB, which does not reveal the path to a leaf. The trees that it began with stay in
/// the map until it ends, because no transaction overwrites pages of the last commit: they lead to the leaves that it
/// has not changed, which are those that may have to come from the disk.
@safe
package final class LMDBWriterReadAhead {
  private let handle: LMDBTransactionHandle
  private let core: EnvironmentCore
  /// By LMDB's number of the table.
  private var tables: UnsafeMutablePointer<CommittedTree>
  private var count = 0
  private var start: UnsafeRawPointer?
  private var pageLimit: UInt64 = 0

  /// A table's tree in the last commit.
  @safe
  private struct CommittedTree {
    var root: UInt64 = 0
    /// See ``MapTree``.
    var depth = MapTree.unknown
    var lastPage: UInt = 0
    /// See ``MapTree``.
    var ignoredLeaves: Int32 = 1
    var readAhead: UnsafeMutablePointer<TableReadAhead>?
  }

  fileprivate init(_ handle: LMDBTransactionHandle, _ core: EnvironmentCore) {
    self.handle = handle
    self.core = core
    unsafe tables = .allocate(capacity: 0)
  }

  deinit {
    for index in 0..<count { unsafe tables[index].readAhead?.deallocate() }
    unsafe tables.deallocate()
  }

  /// Notes that a lookup, or a scan's begin, found a value.
  package func noteRead(_ dbi: UInt32, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawPointer, byteCount: Int) {
    if byteCount >= PageView.size / 2 { unsafe requestValue(value, byteCount) }
    guard let tree = unsafe self.tree(dbi), unsafe isNewPage(tree, value) else { return }
    unsafe tree.pointee.ignoredLeaves &-= 1
    guard unsafe tree.pointee.ignoredLeaves < 0 else { return }
    unsafe tree.pointee.ignoredLeaves = 0
    guard var pages = pages(), let path = unsafe path(tree, key, &pages) else { return }
    unsafe tree.pointee.ignoredLeaves = unsafe readAhead(tree).pointee.read(path, &pages)
  }

  /// Notes that a scan enters another leaf. Returns how many more it can read before the next call is needed.
  ///
  /// - Parameter end: Leaves with no key before it are not requested; empty for none.
  package func noteScan(_ dbi: UInt32, _ key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer) -> Int32 {
    guard let tree = unsafe self.tree(dbi) else { return .max }
    if let base = key.baseAddress { _ = unsafe isNewPage(tree, base) }
    guard var pages = pages(), let path = unsafe path(tree, key, &pages) else { return 0 }
    let readAhead = unsafe readAhead(tree)
    let leaves = unsafe readAhead.pointee.scan(path, before: end, &pages)
    unsafe tree.pointee.ignoredLeaves = readAhead.pointee.residentReads
    return leaves
  }

  /// Requests the further pages of a value.
  private func requestValue(_ value: UnsafeRawPointer, _ byteCount: Int) {
    let first = UInt(bitPattern: value) / UInt(PageView.size)
    let end = (UInt(bitPattern: value) + UInt(byteCount) - 1) / UInt(PageView.size) + 1
    guard end - first > 1, let start = unsafe mapStart(), UInt(bitPattern: value) >= UInt(bitPattern: start) else {
      return
    }
    let base = UInt(bitPattern: start) / UInt(PageView.size)
    guard var pages = pages() else { return }
    // Values outside of the map belong to this transaction, and their pages are beyond the file's end.
    pages.requestValue(at: UInt64(first - base), pageCount: UInt64(end - first))
  }

  // MARK: Trees

  /// Whether the page differs from the last one of the table.
  private func isNewPage(_ tree: UnsafeMutablePointer<CommittedTree>, _ address: UnsafeRawPointer) -> Bool {
    let page = UInt(bitPattern: address) / UInt(PageView.size)
    if unsafe tree.pointee.lastPage == page { return false }
    unsafe tree.pointee.lastPage = page
    return true
  }

  /// The tree of a table, if it has branches.
  private func tree(_ dbi: UInt32) -> UnsafeMutablePointer<CommittedTree>? {
    let index = Int(dbi)
    if index >= count { reserve(index) }
    let tree = unsafe tables + index
    if unsafe tree.pointee.depth == MapTree.unknown { unsafe find(tree, dbi) }
    return unsafe tree.pointee.depth > 1 ? tree : nil
  }

  private func reserve(_ index: Int) {
    let newCount = max(16, 2 * index)
    let grown = UnsafeMutablePointer<CommittedTree>.allocate(capacity: newCount)
    unsafe grown.initialize(repeating: CommittedTree(), count: newCount)
    unsafe grown.update(from: tables, count: count)
    unsafe tables.deallocate()
    unsafe tables = unsafe grown
    count = newCount
  }

  /// The list of tables changes when the transaction commits.
  private func find(_ tree: UnsafeMutablePointer<CommittedTree>, _ dbi: UInt32) {
    unsafe tree.pointee.depth = MapTree.unusable
    var flags: UInt32 = 0
    guard unsafe mdb_dbi_flags(handle.pointer, dbi, &flags) == 0, flags == 0, let name = unsafe core.copyName(dbi)
    else { return }
    defer { unsafe free(name) }
    let found = unsafe rawGet(
      handle.pointer, LMDBLimits.mainDatabase, UnsafeRawBufferPointer(start: name, count: strlen(name)))
    guard found.code == 0, found.count == PageTree.length, let bytes = unsafe found.base else { return }
    let entry = unsafe PageTree(bytes)
    guard entry.isPlain, entry.isPlausible(lastPage: UInt64(1) << 35), entry.depth <= MapTree.maximumDepth else {
      return
    }
    unsafe tree.pointee.root = entry.root
    unsafe tree.pointee.depth = Int32(entry.depth)
  }

  private func readAhead(_ tree: UnsafeMutablePointer<CommittedTree>) -> UnsafeMutablePointer<TableReadAhead> {
    if let readAhead = unsafe tree.pointee.readAhead { return unsafe readAhead }
    let made = UnsafeMutablePointer<TableReadAhead>.allocate(capacity: 1)
    unsafe made.initialize(to: TableReadAhead())
    unsafe tree.pointee.readAhead = unsafe made
    return unsafe made
  }

  private func path(
    _ tree: UnsafeMutablePointer<CommittedTree>, _ key: UnsafeRawBufferPointer, _ pages: inout MappedPages
  ) -> BranchPath? {
    unsafe BranchPath(root: tree.pointee.root, depth: Int(tree.pointee.depth), PageKey(key), &pages)
  }

  // MARK: The map

  private func mapStart() -> UnsafeRawPointer? {
    if let start = unsafe start { return unsafe start }
    guard let source = unsafe core.mappedStart() else { return nil }
    unsafe start = unsafe source
    pageLimit = core.readablePageCount()
    return unsafe source
  }

  private func pages() -> MappedPages? {
    guard let start = unsafe mapStart() else { return nil }
    return unsafe MappedPages(start: start, pageLimit: pageLimit, counter: nil, hooks: core.options.readAheadHooks)
  }
}

extension LMDBWriteTransaction {
  /// Read-ahead for the transaction, which must not outlive it.
  package var readAhead: LMDBWriterReadAhead { LMDBWriterReadAhead(handle, environment.core) }
}
