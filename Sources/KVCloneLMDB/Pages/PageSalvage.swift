import Glibc

/// The remains of a damaged file: the trees of one state, as far as they can be walked, and unreferenced pages.
///
/// Nothing is mapped, and no byte is trusted: the caller has to verify each entry by its checksum, which covers table
/// and key.
@safe
package final class PageSalvage {
  package let file: PageFile
  package let map: PageMap
  /// Whether all free pages are known. If so, an unreferenced page that is not free was referenced by a lost page, and
  /// its content is current. Otherwise it may be older, and deleted.
  package let knowsFreePages: Bool
  private let meta: PageMeta?
  private let walk: PageWalk?
  /// Corrupted pages, and those that lead to them: their entries are tried one by one.
  private let suspects: Set<UInt64>
  private let memory: UnsafeMutableRawPointer
  private var valueMemory: UnsafeMutableRawPointer?
  private var valueCapacity = 0
  /// Hashes of recently read values on overflow pages, each with its key.
  private var tried: Set<Int> = []
  private static let maximumTried = 1 << 20
  /// The number of bytes of such values that may still be read.
  private var budget: UInt64 = 0

  /// Walks over the state of the file's meta page.
  package convenience init(_ file: PageFile) throws(LMDBError) {
    try self.init(file, file.meta, readsValues: false)
  }

  /// Walks over the state with the list of tables at `root`; nil for a state without known pages.
  package convenience init(_ file: PageFile, root: PageRoot?) throws(LMDBError) {
    try self.init(file, root.map { PageMeta(guessed: $0.tree, lastPage: Self.lastPage(file)) }, readsValues: false)
  }

  /// The same state, with unreadable overflow pages located, so that scans do not end at them.
  package func readingValues() throws(LMDBError) -> PageSalvage {
    try PageSalvage(file, meta, readsValues: true)
  }

  private init(_ file: PageFile, _ meta: PageMeta?, readsValues: Bool) throws(LMDBError) {
    self.file = file
    self.meta = meta
    if let meta {
      let walk = PageWalk(file, meta, maximumFindings: .max, readsValues: readsValues)
      guard let walk else { throw .outOfMemory }
      map = walk.run()
      self.walk = walk
      // A guessed state has no information about free pages.
      knowsFreePages = walk.isFreeListSound && meta == file.meta
    } else {
      var map = PageMap(pageCount: Int(Self.lastPage(file)) + 1)
      map.findings = file.metaFindings
      map.isTableListDamaged = true
      self.map = map
      walk = nil
      knowsFreePages = false
    }
    suspects = Set(map.findings.map(\.page)).union(map.badEdges.keys.map { $0 >> 11 })
    unsafe memory = .allocate(byteCount: PageView.size, alignment: 16)
  }

  /// Whether the state's trees lead to a page, or would if it were readable.
  package func isUsed(_ page: UInt64) -> Bool { suspects.contains(page) || walk?.used.contains(page) == true }

  /// Whether the root page of a list of tables is free in this state; nil if not all free pages are known.
  package func isFree(_ root: PageRoot) -> Bool? {
    guard let walk, walk.isFreeListWhole else { return nil }
    return walk.freed.contains(root.tree.root)
  }

  /// Whether the file's meta page names a list of tables on a page that is free according to it.
  package var isListFree: Bool {
    guard let root = file.meta?.mainTree.root else { return false }
    if walk?.freed.contains(root) == true { return true }
    return map.findings.contains { finding in
      if finding.page == root, case .usedAndFree = finding.problem { return true }
      return false
    }
  }

  deinit {
    unsafe memory.deallocate()
    if let memory = unsafe valueMemory { unsafe free(memory) }
  }

  private static func lastPage(_ file: PageFile) -> UInt64 {
    max(2, file.byteCount / UInt64(PageView.size)) - 1
  }

  // MARK: Unreferenced entries

  /// An entry of a leaf that the trees do not lead to (any more). Its bytes are valid during the call.
  @safe
  package struct Entry {
    /// The leaf.
    package let page: UInt64
    /// Whether it certainly belongs to the walked state.
    package let isCurrent: Bool
    package let key: UnsafeRawBufferPointer
    fileprivate let view: PageView
    fileprivate let node: Int
    fileprivate let salvage: PageSalvage

    /// Its value, unverified; nil if unreadable.
    ///
    /// Also nil for a value on overflow pages that was recently read for an entry with the same key, length and first
    /// page: an old leaf may exist many times over, with values of a mebibyte. And nil once the visit has read 64 times
    /// the size of the file in such values.
    package func value() -> UnsafeRawBufferPointer? { unsafe salvage.value(self) }

    /// The first bytes of its value, to decide whether it is worth reading; nil if it is shorter, or unreadable.
    package func prefix(_ count: Int) -> [UInt8]? { salvage.prefix(self, count) }
  }

  /// Visits the entries of corrupted pages and of unreferenced leaves; if free pages are unknown, of those too. May
  /// visit bytes that are no entries, and entries more than once.
  ///
  /// - Parameter includingFree: whether free pages are always visited: for what is never deleted.
  package func forEachHidden<E: Error>(includingFree: Bool = false, _ body: (Entry) throws(E) -> Void) throws(E) {
    let pages = file.byteCount / UInt64(PageView.size) + (file.byteCount % UInt64(PageView.size) == 0 ? 0 : 1)
    budget = Self.budget(file)
    defer { tried = [] }
    var next: UInt64 = 2
    while next < pages {
      let page = next
      next += 1
      if file.watch?.isStopped == true { return }
      if suspects.contains(page) {
        guard read(page) else { continue }
        let view = unsafe PageView(memory)
        // Its node list may be corrupted: every possible offset of a node is tried. Nodes that the list does not name
        // may have been deleted: LMDB leaves the bytes in place.
        let named = Set((0..<min(max(0, view.count), PageView.size / 2 - 8)).map { view.node($0) })
        for node in stride(from: PageView.headerLength, to: PageView.size - PageView.nodeHeaderLength, by: 2) {
          if let entry = entry(view, node, page, isCurrent: named.contains(node)) { try body(entry) }
        }
        continue
      }
      if walk?.used.contains(page) == true { continue }
      let isFree = walk?.freed.contains(page) == true
      if isFree, knowsFreePages, !includingFree { continue }
      guard read(page) else { continue }
      let view = unsafe PageView(memory)
      if view.isBlank { next = file.nextStored(after: page) }
      guard view.number == page, view.isLeaf, let count = view.count(asPage: page, PageView.leafFlag) else { continue }
      for index in 0..<count {
        let node = view.node(index)
        if let entry = entry(view, node, page, isCurrent: knowsFreePages && !isFree) { try body(entry) }
      }
    }
  }

  private func read(_ page: UInt64) -> Bool {
    // The last page of a truncated file may be incomplete.
    unsafe memset(memory, 0, PageView.size)
    let count = min(UInt64(PageView.size), file.byteCount - min(file.byteCount, page * UInt64(PageView.size)))
    let buffer = unsafe UnsafeMutableRawBufferPointer(start: memory, count: Int(count))
    return (try? unsafe file.read(page, into: buffer)) != nil
  }

  private func entry(_ view: PageView, _ node: Int, _ page: UInt64, isCurrent: Bool) -> Entry? {
    guard node >= PageView.headerLength, node & 1 == 0, node + PageView.nodeHeaderLength <= PageView.size else {
      return nil
    }
    let flags = view.word16(node + 4)
    let keyLength = view.word16(node + 6)
    guard keyLength >= 1, keyLength <= LMDBLimits.maximumKeyLength, flags == 0 || flags == PageView.bigDataFlag else {
      return nil
    }
    let length = flags == 0 ? view.word32(node) : 8
    guard length <= PageView.size, node + PageView.nodeHeaderLength + keyLength + length <= PageView.size else {
      return nil
    }
    let key = unsafe UnsafeRawBufferPointer(start: view.base + node + PageView.nodeHeaderLength, count: keyLength)
    return unsafe Entry(page: page, isCurrent: isCurrent, key: key, view: view, node: node, salvage: self)
  }

  /// Longer values are read only if the header of their overflow pages confirms them.
  private static let unprovenLength = 2 << 20
  /// Sixty-four times the size of the file: a page that was reused again and again is claimed by as many keys of old
  /// leaves. In a malicious file, a thousand entries of each page could claim two mebibytes.
  private static func budget(_ file: PageFile) -> UInt64 { file.byteCount << 6 }

  private func value(_ entry: Entry) -> UnsafeRawBufferPointer? {
    let (view, node) = (entry.view, entry.node)
    let length = view.word32(node)
    let data = unsafe view.base + node + PageView.nodeHeaderLength + view.word16(node + 6)
    if view.word16(node + 4) == 0 { return unsafe UnsafeRawBufferPointer(start: data, count: length) }
    let first = UInt64(littleEndian: unsafe data.loadUnaligned(as: UInt64.self))
    guard first >= 2, first < 1 << 35 else { return nil }
    let start = first * UInt64(PageView.size) + UInt64(PageView.headerLength)
    guard start + UInt64(length) <= file.byteCount else { return nil }
    if length > Self.unprovenLength, !isOverflow(first, length) { return nil }
    guard length <= budget, tried.insert(attempt(entry, first, length)).inserted else { return nil }
    if tried.count == Self.maximumTried { tried.removeAll(keepingCapacity: true) }
    budget -= UInt64(length)
    if length > valueCapacity {
      if let memory = unsafe valueMemory { unsafe free(memory) }
      unsafe valueMemory = malloc(length)
      valueCapacity = unsafe valueMemory == nil ? 0 : length
    }
    guard let memory = unsafe valueMemory else { return nil }
    let buffer = unsafe UnsafeMutableRawBufferPointer(start: memory, count: length)
    guard (try? unsafe file.read(first, PageView.headerLength, into: buffer)) != nil else { return nil }
    return UnsafeRawBufferPointer(buffer)
  }

  private func prefix(_ entry: Entry, _ count: Int) -> [UInt8]? {
    let (view, node) = (entry.view, entry.node)
    guard count > 0, view.word32(node) >= count else { return nil }
    let data = unsafe view.base + node + PageView.nodeHeaderLength + view.word16(node + 6)
    if view.word16(node + 4) == 0 { return unsafe [UInt8](UnsafeRawBufferPointer(start: data, count: count)) }
    let first = UInt64(littleEndian: unsafe data.loadUnaligned(as: UInt64.self))
    guard first >= 2, first < 1 << 35,
      first * UInt64(PageView.size) + UInt64(PageView.headerLength + count) <= file.byteCount
    else { return nil }
    var bytes = [UInt8](repeating: 0, count: count)
    let isRead = unsafe bytes.withUnsafeMutableBytes { bytes in
      (try? unsafe file.read(first, PageView.headerLength, into: bytes)) != nil
    }
    return isRead ? bytes : nil
  }

  private func attempt(_ entry: Entry, _ first: UInt64, _ length: Int) -> Int {
    var hasher = Hasher()
    hasher.combine(first)
    hasher.combine(length)
    hasher.combine(entry.isCurrent)
    unsafe hasher.combine(bytes: entry.key)
    return hasher.finalize()
  }

  private func isOverflow(_ first: UInt64, _ length: Int) -> Bool {
    var bytes = [UInt8](repeating: 0, count: PageView.headerLength)
    let isRead = unsafe bytes.withUnsafeMutableBytes { bytes in
      (try? unsafe file.read(first, into: bytes)) != nil
    }
    guard isRead else { return false }
    return unsafe bytes.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return false }
      let view = unsafe PageView(base)
      let needed = (PageView.headerLength - 1 + length) / PageView.size + 1
      return view.number == first && view.word16(10) == PageView.overflowFlag && view.word32(12) >= needed
    }
  }
}
