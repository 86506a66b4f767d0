import CKVCloneLMDB
import Glibc
import Synchronization

/// What a reader slot knows of the memory map: where it is, and where trees are in it.
///
/// It is kept from transaction to transaction. A tree says of which snapshot it is, so nothing has to be cleared when the
/// next one sees another; everything is forgotten when the map moves or the slot's transaction ends for good.
@safe
struct ReaderMap: ~Copyable {
  /// Where the file's first page lies. Nil until a tree was looked for, and where LMDB has to be asked for everything.
  var start: UnsafeRawPointer?
  /// Pages below this number are in the map, in the file, and part of what was committed: they can be looked at.
  var pageLimit: UInt64 = 0
  /// By LMDB's number of the table.
  private(set) var trees: UnsafeMutablePointer<MapTree>?
  private(set) var count = 0

  init() {}

  /// Makes room for the tree of `dbi`.
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

/// A table's tree in one snapshot.
@safe
struct MapTree {
  /// Depths that no tree has: LMDB has to be asked, because the tree was not looked for yet, or was not found.
  static let unknown: Int32 = -1
  static let unusable: Int32 = -2
  /// Deeper trees are LMDB's to read. Keys of eight bytes fill eight levels with more than a file can hold; the longest keys,
  /// seven to a page, with some millions of entries.
  static let maximumDepth = 8
  /// So many reads of a snapshot are LMDB's: looking for the tree costs about as much as one of them.
  static let readsByLMDB: Int32 = 2

  /// No transaction has this number.
  var snapshot = UInt64.max
  var root: UInt64 = 0
  /// 0: there is no entry.
  var depth = Self.unknown
  var reads: Int32 = 0
  /// The table's name, once it was needed; freed with its slot's map.
  var name: UnsafeMutablePointer<CChar>?
  /// The leaf that was read last; nil before the first.
  var lastLeaf: UnsafeRawPointer?
  /// Read-ahead, once more than one leaf was read; freed with its slot's map.
  var readAhead: UnsafeMutablePointer<TableReadAhead>?

  /// Makes room for read-ahead.
  mutating func reserveReadAhead() -> UnsafeMutablePointer<TableReadAhead> {
    if let readAhead = unsafe readAhead { return unsafe readAhead }
    let made = UnsafeMutablePointer<TableReadAhead>.allocate(capacity: 1)
    unsafe made.initialize(to: TableReadAhead())
    unsafe readAhead = unsafe made
    return unsafe made
  }

  /// Forgets what was read: the next snapshot has other pages.
  mutating func forgetReads() {
    unsafe lastLeaf = nil
    unsafe readAhead?.pointee = TableReadAhead()
  }
}

extension EnvironmentCore: PageCounting {
  /// Where the map begins in which `address` lies; nil if nobody can tell. Found out once for as long as the map stays.
  func start(ofMapWith address: UnsafeRawPointer) -> UnsafeRawPointer? {
    var start = mapStart.load(ordering: .relaxed)
    if start == 0 {
      start = unsafe UInt(bitPattern: kvclone_mapped_file(address))
      if start == 0 { start = Self.noMapStart }
      // Whoever else looked found the same.
      mapStart.store(start, ordering: .relaxed)
    }
    return unsafe start == Self.noMapStart ? nil : UnsafeRawPointer(bitPattern: start)
  }

  /// The file's pages for a live user who has the right to write, and no transaction.
  var pageSource: PageSource? {
    guard let descriptor else { return nil }
    return unsafe PageSource(descriptor, map: mappedStart(), pageCount: readablePageCount(), scratch: scratch)
  }

  /// Where the map begins, for a live user; nil if nobody can tell.
  func mappedStart() -> UnsafeRawPointer? {
    var start = mapStart.load(ordering: .relaxed)
    if start == 0 {
      findMapStart()
      start = mapStart.load(ordering: .relaxed)
    }
    return unsafe start <= Self.noMapStart ? nil : UnsafeRawPointer(bitPattern: start)
  }

  /// By the address of any value that a reader is given.
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

  /// Nobody can tell.
  static var noMapStart: UInt { 1 }

  /// Before the map moves, or goes. Nobody is live.
  func forgetMap() {
    mapStart.store(0, ordering: .relaxed)
    for index in 0..<Self.slotCount {
      // By a name of its own: changed as a part of `slots`, it counts as a change of the whole slot, whose state others look at.
      let content = unsafe slots[index].content
      unsafe content.pointee.map.forget()
    }
  }

  /// How many pages can be looked at: LMDB's map reaches beyond the file, and the file can be shorter than its last page
  /// says. It only grows, but for garbage behind the last page (`cutFile`).
  func readablePageCount() -> UInt64 {
    var raw = unsafe MDB_envinfo()
    guard unsafe mdb_env_info(pointer, &raw) == 0, let fileSize else { return 0 }
    let bytes = unsafe min(raw.me_mapsize, fileSize)
    return unsafe UInt64(min(bytes / LMDBLimits.pageSize, raw.lastPage + 1))
  }

  /// A copy of the name of an open table, to be freed.
  func copyName(_ dbi: UInt32) -> UnsafeMutablePointer<CChar>? {
    let name = state.withLock { state in state.tables.first { $0.value.dbi == dbi }?.key }
    guard let name else { return nil }
    return unsafe name.withCString { unsafe strdup($0) }
  }
}
