import CKVCloneLMDB
import Glibc
import Synchronization

/// The memory map as a reader slot knows it: its start, and the trees in it.
///
/// It is kept across transactions. Each tree records its snapshot, so nothing has to be cleared when the next
/// transaction sees another; everything is reset when the map moves or the slot's transaction is freed.
@safe
struct ReaderMap: ~Copyable {
  /// The address of the file's first page. Nil until the first lookup of a tree, and where only LMDB can read.
  var start: UnsafeRawPointer?
  /// Pages below this number are in the map, in the file, and committed: they are readable.
  var pageLimit: UInt64 = 0
  /// The trees, by LMDB's number of the table.
  private(set) var trees: UnsafeMutablePointer<MapTree>?
  private(set) var count = 0

  init() {}

  /// Allocates the tree of `dbi`.
  mutating func reserve(_ dbi: UInt32) -> UnsafeMutablePointer<MapTree>? {
    let index = Int(dbi)
    if index >= count {
      let newCount = max(16, 2 * index)
      let grown = UnsafeMutablePointer<MapTree>.allocate(capacity: newCount)
      unsafe grown.initialize(repeating: MapTree(), count: newCount)
      if let trees = unsafe trees {
        unsafe grown.update(from: trees, count: count)
        unsafe trees.deallocate()
      }
      unsafe trees = unsafe grown
      count = newCount
    }
    return unsafe trees.map { unsafe $0 + index }
  }

  mutating func forget() {
    if let trees = unsafe trees {
      for index in 0..<count {
        unsafe free(trees[index].name)
        unsafe trees[index].readAhead?.deallocate()
      }
      unsafe trees.deallocate()
    }
    unsafe start = nil
    unsafe trees = nil
    pageLimit = 0
    count = 0
  }
}

/// The tree of a table in one snapshot.
@safe
struct MapTree {
  /// Invalid depths, which make LMDB read: the tree was not looked up yet, or was not found.
  static let unknown: Int32 = -1
  static let unusable: Int32 = -2
  /// LMDB reads deeper trees. Keys of eight bytes fill eight levels with more than a file can hold; the longest keys,
  /// seven to a page, with some millions of entries.
  static let maximumDepth = 8
  /// The number of reads per snapshot that LMDB does: looking up the tree costs about as much as one of them.
  static let readsByLMDB: Int32 = 2

  /// A number that no transaction has.
  var snapshot = UInt64.max
  var root: UInt64 = 0
  /// 0 for an empty tree.
  var depth = Self.unknown
  var reads: Int32 = 0
  /// The table's name, once needed; freed with its slot's map.
  var name: UnsafeMutablePointer<CChar>?
  /// The leaf of the last read; nil before the first.
  var lastLeaf: UnsafeRawPointer?
  /// The number of changes of the leaf that read-ahead does not need to know. It ignores the first leaf, because most
  /// small transactions read one leaf of a table.
  var ignoredLeaves: Int32 = 1
  /// Read-ahead, allocated when a second leaf is read; freed with its slot's map.
  var readAhead: UnsafeMutablePointer<TableReadAhead>?

  /// Allocates read-ahead.
  mutating func reserveReadAhead() -> UnsafeMutablePointer<TableReadAhead> {
    if let readAhead = unsafe readAhead { return unsafe readAhead }
    let made = UnsafeMutablePointer<TableReadAhead>.allocate(capacity: 1)
    unsafe made.initialize(to: TableReadAhead())
    unsafe readAhead = unsafe made
    return unsafe made
  }

  /// Resets the position of reads: the next snapshot has other pages.
  mutating func forgetReads() {
    unsafe lastLeaf = nil
    ignoredLeaves = 1
    unsafe readAhead?.pointee = TableReadAhead()
  }
}

extension EnvironmentCore: PageCounting {
  /// The start of the map that contains `address`; nil if unknown. Looked up once until the map moves.
  func start(ofMapWith address: UnsafeRawPointer) -> UnsafeRawPointer? {
    var start = mapStart.load(ordering: .relaxed)
    if start == 0 {
      start = unsafe UInt(bitPattern: kvclone_mapped_file(address))
      if start == 0 { start = Self.noMapStart }
      // A concurrent lookup finds the same.
      mapStart.store(start, ordering: .relaxed)
    }
    return unsafe start == Self.noMapStart ? nil : UnsafeRawPointer(bitPattern: start)
  }

  /// The file's pages for a live user that holds the write lock, and has no transaction.
  var pageSource: PageSource? {
    guard let descriptor else { return nil }
    return unsafe PageSource(descriptor, map: mappedStart(), pageCount: readablePageCount(), scratch: scratch)
  }

  /// The start of the map, for a live user; nil if unknown.
  func mappedStart() -> UnsafeRawPointer? {
    var start = mapStart.load(ordering: .relaxed)
    if start == 0 {
      findMapStart()
      start = mapStart.load(ordering: .relaxed)
    }
    return unsafe start <= Self.noMapStart ? nil : UnsafeRawPointer(bitPattern: start)
  }

  /// Finds the start of the map by the address of any value that a reader gets.
  private func findMapStart() {
    var transaction: OpaquePointer?
    guard unsafe mdb_txn_begin(pointer, nil, UInt32(MDB_RDONLY), &transaction) == 0 else { return }
    defer { unsafe mdb_txn_abort(transaction) }
    var cursor: OpaquePointer?
    guard unsafe mdb_cursor_open(transaction, LMDBLimits.mainDatabase, &cursor) == 0, let cursor = unsafe cursor
    else { return }
    defer { unsafe mdb_cursor_close(cursor) }
    let found = unsafe rawMove(cursor, MDB_FIRST)
    if found.code == 0, let address = unsafe found.entry.valueBase { _ = unsafe self.start(ofMapWith: address) }
  }

  /// The map's start is unknown.
  static var noMapStart: UInt { 1 }

  /// Resets the start before the map moves or is unmapped. There are no live users.
  func forgetMap() {
    mapStart.store(0, ordering: .relaxed)
    for index in 0..<Self.slotCount {
      // Through a separate binding: as a part of `slots`, a change counts as a change of the whole slot, and other
      // threads read the slot's state.
      let content = unsafe slots[index].content
      unsafe content.pointee.map.forget()
    }
  }

  /// The number of readable pages: LMDB's map reaches beyond the file, and the file can be shorter than its last page
  /// says. It only grows, except for garbage behind the last page (`cutFile`).
  func readablePageCount() -> UInt64 {
    var raw = unsafe MDB_envinfo()
    guard unsafe mdb_env_info(pointer, &raw) == 0, let fileSize else { return 0 }
    let bytes = unsafe min(raw.me_mapsize, fileSize)
    return unsafe UInt64(min(bytes / LMDBLimits.pageSize, raw.lastPage + 1))
  }

  /// Returns a copy of the name of an open table, to be freed by the caller.
  func copyName(_ dbi: UInt32) -> UnsafeMutablePointer<CChar>? {
    let name = state.withLock { state in state.tables.first { $0.value.dbi == dbi }?.key }
    guard let name else { return nil }
    return unsafe name.withCString { unsafe strdup($0) }
  }
}
