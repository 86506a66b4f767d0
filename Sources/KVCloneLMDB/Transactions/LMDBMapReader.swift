import CKVCloneLMDB
import Glibc

/// Reads a snapshot's tables directly from the pages in LMDB's memory map.
///
/// A read transaction holds its reader slot, so no page that its snapshot can reach is overwritten while it lives;
/// without `MDB_WRITEMAP`, the map has no uncommitted pages. What is read here stays unchanged until the transaction
/// ends, like what LMDB returns.
///
/// No byte is trusted. Whatever is invalid, or too rare to be worth it, is left to LMDB: then the code is `askLMDB`.
@safe
@usableFromInline
package struct LMDBMapReader {
  /// The code for "LMDB has to read it". Not one of LMDB's codes.
  @inlinable package static var askLMDB: Int32 { 1 }

  let content: UnsafeMutablePointer<ReaderSlot.Content>
  let handle: LMDBTransactionHandle
  private let snapshot: UInt64

  @inline(__always)
  init(slot: UnsafeMutablePointer<ReaderSlot>, handle: LMDBTransactionHandle) {
    unsafe content = unsafe slot.pointee.content
    self.handle = handle
    snapshot = handle.commitNumber
  }

  // MARK: Trees

  /// The tree of a table, if it can be read here.
  @inline(__always)
  func tree(_ dbi: UInt32, isScan: Bool = false) -> MapTree? {
    if let trees = unsafe content.pointee.map.trees, unsafe Int(dbi) < content.pointee.map.count {
      let tree = unsafe trees + Int(dbi)
      if unsafe tree.pointee.snapshot == snapshot, unsafe tree.pointee.depth >= 0 { return unsafe tree.pointee }
    }
    return findTree(dbi, isScan: isScan)
  }

  @inline(never)
  private func findTree(_ dbi: UInt32, isScan: Bool) -> MapTree? {
    guard let tree = unsafe content.pointee.map.reserve(dbi) else { return nil }
    if unsafe tree.pointee.snapshot != snapshot {
      unsafe tree.pointee.snapshot = snapshot
      unsafe tree.pointee.depth = MapTree.unknown
      unsafe tree.pointee.reads = 0
      unsafe tree.pointee.forgetReads()
    }
    if unsafe tree.pointee.depth == MapTree.unusable { return nil }
    unsafe tree.pointee.reads += 1
    if unsafe !isScan && tree.pointee.reads <= MapTree.readsByLMDB { return nil }
    unsafe tree.pointee.depth = MapTree.unusable
    guard let found = unsafe lookUp(dbi, &tree.pointee) else { return nil }
    unsafe tree.pointee.root = found.root
    unsafe tree.pointee.depth = Int32(found.depth)
    return unsafe tree.pointee
  }

  /// Looks up the tree in the list of tables, which is LMDB's main database (`MAIN_DBI`): names, and an `MDB_db` each.
  private func lookUp(_ dbi: UInt32, _ tree: inout MapTree) -> PageTree? {
    var flags: UInt32 = 0
    // EINVAL for a table that was opened after this transaction began.
    guard unsafe mdb_dbi_flags(handle.pointer, dbi, &flags) == 0, flags == 0 else { return nil }
    if unsafe tree.name == nil { unsafe tree.name = unsafe content.pointee.core.takeUnretainedValue().copyName(dbi) }
    guard let name = unsafe tree.name else { return nil }
    let key = unsafe UnsafeRawBufferPointer(start: name, count: strlen(name))
    let found = unsafe rawGet(handle.pointer, LMDBLimits.mainDatabase, key)
    guard found.code == 0, found.count == PageTree.length, let bytes = unsafe found.base else { return nil }
    if unsafe content.pointee.map.start == nil {
      guard let start = unsafe content.pointee.core.takeUnretainedValue().start(ofMapWith: bytes) else { return nil }
      unsafe content.pointee.map.start = unsafe start
    }
    let entry = unsafe PageTree(bytes)
    _ = isReadable(entry.root)
    let lastPage = unsafe content.pointee.map.pageLimit &- 1
    guard entry.isPlain, entry.isPlausible(lastPage: lastPage), entry.depth <= MapTree.maximumDepth else { return nil }
    return entry
  }

  // MARK: Pages

  /// A page of the map.
  @inline(__always)
  func page(_ number: UInt64) -> PageView? {
    guard isReadable(number), let start = unsafe content.pointee.map.start else { return nil }
    return unsafe PageView(start + Int(truncatingIfNeeded: number &* UInt64(PageView.size)))
  }

  /// Whether the page exists; it may have been written since the last count.
  @inline(__always)
  private func isReadable(_ number: UInt64) -> Bool {
    unsafe number < content.pointee.map.pageLimit || number < findPageLimit()
  }

  @inline(never)
  private func findPageLimit() -> UInt64 {
    let count = unsafe content.pointee.core.takeUnretainedValue().readablePageCount()
    unsafe content.pointee.map.pageLimit = count
    return count
  }

  // MARK: Entries

  /// The address of a leaf's entry; returns 0, or `askLMDB`, which leaves `entry` unchanged.
  @inline(__always)
  func entry(_ page: PageView, _ index: Int, _ entry: inout StorageEntryPointers) -> Int32 {
    guard let node = page.checkedNode(index), let value = unsafe value(page, index) else { return Self.askLMDB }
    let (keyLength, _) = PageView.lengths(page.word64(node))
    // The header of a value on overflow pages does not tell where its key ends.
    guard UInt(bitPattern: keyLength &- 1) < UInt(LMDBLimits.maximumKeyLength),
      node &+ PageView.nodeHeaderLength &+ keyLength <= PageView.size
    else { return Self.askLMDB }
    unsafe entry.keyBase = unsafe page.base + (node &+ PageView.nodeHeaderLength)
    entry.keyCount = keyLength
    unsafe entry.valueBase = value.baseAddress
    entry.valueCount = value.count
    return 0
  }

  /// The address of a leaf's value.
  @inline(__always)
  func value(_ page: PageView, _ index: Int) -> UnsafeRawBufferPointer? {
    guard let node = page.checkedNode(index) else { return nil }
    let header = page.word64(node)
    let (keyLength, length) = PageView.lengths(header)
    // Numbers of 16 and 32 bits: nothing overflows.
    let start = node &+ PageView.nodeHeaderLength &+ keyLength
    if PageView.isPlain(header) {
      guard start &+ length <= PageView.size else { return nil }
      return unsafe UnsafeRawBufferPointer(start: page.base + start, count: length)
    }
    return unsafe longValue(page, header, start, length)
  }

  /// A value on overflow pages: one header, and the bytes, without a gap.
  @inline(never)
  private func longValue(_ page: PageView, _ header: UInt64, _ start: Int, _ length: Int) -> UnsafeRawBufferPointer? {
    guard Int(header >> 32 & 0xFFFF) == PageView.bigDataFlag, start + 8 <= PageView.size else { return nil }
    let number = page.word64(start)
    let pageCount = PageView.overflowPageCount(length)
    guard let first = self.page(number), first.number == number, first.word16(10) == PageView.overflowFlag,
      first.word32(12) >= pageCount, isReadable(number + pageCount - 1)
    else { return nil }
    return unsafe UnsafeRawBufferPointer(start: first.base + PageView.headerLength, count: length)
  }
}

extension LMDBReadTransaction {
  /// The same reads through the pages of the map. The owner keeps the transaction alive.
  package var map: LMDBMapReader { unsafe LMDBMapReader(slot: slot, handle: handle) }
}
