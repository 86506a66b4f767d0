/// The root of a tree and its own counts: `MDB_db` of mdb.c.
package struct PageTree: Sendable, Equatable {
  /// The size of an `MDB_db` in bytes.
  static let length = 48
  /// `CURSOR_STACK` of mdb.c: LMDB cannot descend further.
  static let maximumDepth = 32
  /// `P_INVALID`: the tree has no page.
  static let noPage = UInt64.max

  let pad: UInt32
  let flags: UInt16
  let depth: Int
  let branchPages: UInt64
  let leafPages: UInt64
  let overflowPages: UInt64
  package let entries: UInt64
  let root: UInt64

  /// Reads 48 arbitrary bytes.
  init(_ bytes: UnsafeRawPointer) {
    let view = unsafe PageView(bytes)
    pad = UInt32(truncatingIfNeeded: view.word32(0))
    flags = UInt16(truncatingIfNeeded: view.word16(4))
    depth = view.word16(6)
    branchPages = view.word64(8)
    leafPages = view.word64(16)
    overflowPages = view.word64(24)
    entries = view.word64(32)
    root = view.word64(40)
  }

  var isEmpty: Bool { root == Self.noPage }

  /// Whether root and depth are plausible, which a descent relies on.
  func isPlausible(lastPage: UInt64) -> Bool {
    if isEmpty { return depth == 0 && entries == 0 && branchPages == 0 && leafPages == 0 && overflowPages == 0 }
    return root >= 2 && root <= lastPage && depth >= 1 && depth <= Self.maximumDepth
  }

  /// Whether it is a named table's: plain keys, no duplicates.
  var isPlain: Bool { pad == 0 && flags == 0 }
}

/// One of the two meta pages, the start of a snapshot. `MDB_meta` of mdb.c, after the page's header of 16 bytes.
package struct PageMeta: Sendable, Equatable {
  /// The page number: 0 or 1.
  package let page: UInt64
  package let commitNumber: UInt64
  package let lastPage: UInt64
  let freeTree: PageTree
  let mainTree: PageTree

  /// Checks everything that LMDB relies on except the roots, and all fields with a single valid value.
  init(_ bytes: UnsafeRawPointer, page: UInt64) throws(PageProblem) {
    let view = unsafe PageView(bytes)
    if view.word32(16) != 0xBEEF_C0DE { throw .meta("the magic number is not LMDB's") }
    if view.word32(20) != 1 { throw .meta("its data version is not 1") }
    // Exactly P_META.
    if view.number != page || view.word16(10) != 0x08 { throw .meta("its header is not a meta page header") }
    if view.word64(24) != 0 { throw .meta("it requires a fixed map address") }
    freeTree = unsafe PageTree(bytes + 40)
    mainTree = unsafe PageTree(bytes + 88)
    lastPage = view.word64(136)
    commitNumber = view.word64(MetaPages.commitOffset)
    self.page = page
    // The page size is in the free tree's otherwise unused field.
    if freeTree.pad != UInt32(LMDBLimits.pageSize) { throw .meta("its page size is not 4096") }
    // A process can address 2^47 bytes.
    if lastPage < 1 || lastPage >= 1 << 35 { throw .meta("its last page number is out of range") }
    // MDB_INTEGERKEY, and MDB_NOSUBDIR, which mdb_env_init_meta0 keeps and which is never read.
    if freeTree.flags & ~0x4000 != 0x08 { throw .meta("its flags are not valid for a store") }
    if !mainTree.isPlain { throw .meta("the flags of the list of tables are not valid for a store") }
    // Transaction N writes meta page N % 2; both pages of a new file have transaction 0.
    if commitNumber & 1 != page, commitNumber != 0 { throw .meta("its commit belongs on the other meta page") }
    let mapSize = view.word64(32)
    if mapSize < (lastPage + 1) * 4096 || mapSize > 1 << 48 {
      throw .meta("its map size is invalid")
    }
  }

  /// The reason why no transaction can begin here. The older page may break these rules: after a commit with a meta
  /// page that could not be written, mdb_env_write_meta restores the old numbers next to the new roots.
  var rootProblem: PageProblem? {
    if !freeTree.isPlausible(lastPage: lastPage) { return .meta("the free list's root is invalid") }
    if !mainTree.isPlausible(lastPage: lastPage) { return .meta("the root of the list of tables is invalid") }
    return nil
  }
}

// MARK: States without a meta page

extension PageTree {
  /// A tree without a page.
  static var empty: PageTree { PageTree(root: noPage, depth: 0, branchPages: 0, leafPages: 0, entries: 0) }

  /// A tree of plain keys without overflow pages.
  init(root: UInt64, depth: Int, branchPages: UInt64, leafPages: UInt64, entries: UInt64) {
    pad = 0
    flags = 0
    self.depth = depth
    self.branchPages = branchPages
    self.leafPages = leafPages
    overflowPages = 0
    self.entries = entries
    self.root = root
  }
}

extension PageMeta {
  /// A state of which only the list of tables was found.
  init(guessed mainTree: PageTree, lastPage: UInt64) {
    page = 0
    commitNumber = 0
    self.lastPage = lastPage
    freeTree = .empty
    self.mainTree = mainTree
  }
}
