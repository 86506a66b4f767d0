import Glibc

/// Why a file was not copied.
package enum PageCopyError: Error {
  case system(LMDBError)
  /// A page of the source is corrupted.
  case corrupted(PageError)
  /// The watch of the source stopped it.
  case stopped
}

/// Copies one state of a store into a file with new trees: without free pages, and without a byte of deleted data.
///
/// Reads with `pread` and checks what it reads, so that no byte of the source can crash it, and takes some 2 MiB of
/// memory. `mdb_env_copyfd2` with `MDB_CP_COMPACT` maps the source and trusts it, copies deleted bytes within pages,
/// restarts transaction numbers at 1, and cannot be stopped.
@safe
final class PageCopy {
  private let file: PageFile
  private let meta: PageMeta
  private let output: PageOutput
  /// A page for each level of a tree, and one for the heads of overflow pages.
  private let buffers: UnsafeMutableRawPointer
  /// The number of pages read: a corrupted file could lead to the same ones again and again.
  private var readPages: UInt64 = 0

  init(_ file: PageFile, _ meta: PageMeta, to descriptor: Int32) {
    self.file = file
    self.meta = meta
    output = PageOutput(descriptor)
    unsafe buffers = .allocate(byteCount: (PageTree.maximumDepth + 1) * PageView.size, alignment: 16)
  }

  deinit {
    unsafe buffers.deallocate()
  }

  /// Writes the new file; returns its number of pages.
  func run() throws(PageCopyError) -> UInt64 {
    let tables = try self.tables()
    let main = TreeBuilder(output)
    for table in tables {
      let bytes = try copy(table.tree, page: table.page)
      // mn_lo and mn_hi: the length; mn_flags; mn_ksize.
      var node: [UInt8] = []
      node.append(littleEndian: UInt32(bytes.count))
      node.append(littleEndian: UInt16(PageView.subDataFlag))
      node.append(littleEndian: UInt16(table.name.count))
      node += table.name + bytes
      try system { () throws(LMDBError) in try main.add(node) }
    }
    let bytes = try system { () throws(LMDBError) in try main.finish(flags: meta.mainTree.flags) }
    let pageCount = output.nextPage
    let metas = (0...1).map { Self.meta($0, meta, main: bytes, lastPage: pageCount - 1) }
    try system { () throws(LMDBError) in try output.writeMetas(metas) }
    return pageCount
  }

  /// An upper estimate of the copy's pages, from the counts of the trees. Also checks the list of tables.
  func expectedPages() throws(PageCopyError) -> UInt64 {
    var count = UInt64(2)
    for tree in [meta.mainTree] + (try tables()).map(\.tree) {
      for pages in [tree.branchPages, tree.leafPages, tree.overflowPages] {
        count = min(count.addingReportingOverflow(min(pages, meta.lastPage)).partialValue, meta.lastPage + 1)
      }
    }
    readPages = 0
    return count
  }

  // MARK: Trees

  private struct Table {
    let name: [UInt8]
    let tree: PageTree
    let page: UInt64
  }

  private func tables() throws(PageCopyError) -> [Table] {
    var tables: [Table] = []
    try forEachLeaf(meta.mainTree, from: meta.page) { view, page throws(PageCopyError) in
      for index in 0..<view.count {
        guard view.flags(index) == PageView.subDataFlag, view.dataLength(index) == PageTree.length else {
          throw Self.damage(page, .notATable)
        }
        let tree = unsafe PageTree(view.data(index))
        guard tree.isPlain, tree.isPlausible(lastPage: meta.lastPage) else { throw Self.damage(page, .badTree) }
        tables.append(Table(name: unsafe [UInt8](view.key(index)), tree: tree, page: page))
      }
    }
    return tables
  }

  /// Copies a table; returns the new tree as an `MDB_db`.
  private func copy(_ tree: PageTree, page: UInt64) throws(PageCopyError) -> [UInt8] {
    let builder = TreeBuilder(output)
    try forEachLeaf(tree, from: page) { view, page throws(PageCopyError) in
      if unsafe !builder.isNext(view.key(0)) { throw Self.damage(page, .misplacedKey) }
      var ahead = PageFileReadAhead()
      for index in 0..<view.count {
        ahead.value(index, of: view, isWhole: true, in: file)
        let (keyLength, flags) = (view.keyLength(index), view.flags(index))
        if flags == PageView.subDataFlag { throw Self.damage(page, .badEntry) }
        let isLong = flags == PageView.bigDataFlag
        let length = PageView.nodeHeaderLength + keyLength + (isLong ? 8 : view.dataLength(index))
        // Its overflow pages come before the page that leads to them.
        var first: UInt64 = 0
        if isLong { first = try copyLongValue(view.overflowPage(index), view.dataLength(index), page, builder) }
        let node = unsafe UnsafeRawBufferPointer(start: view.base + view.node(index), count: length)
        try system { () throws(LMDBError) in
          let place = try unsafe builder.add(node)
          if isLong {
            let offset = PageView.nodeHeaderLength + keyLength
            unsafe (place + offset).storeBytes(of: first.littleEndian, as: UInt64.self)
          }
        }
      }
      unsafe builder.noteLast(view.key(view.count - 1))
    }
    if builder.entries != tree.entries { throw Self.damage(tree.isEmpty ? page : tree.root, .miscounted) }
    return try system { () throws(LMDBError) in try builder.finish(flags: tree.flags) }
  }

  private func forEachLeaf(
    _ tree: PageTree, from page: UInt64, _ body: (PageView, UInt64) throws(PageCopyError) -> Void
  ) throws(PageCopyError) {
    if !tree.isPlausible(lastPage: meta.lastPage) { throw Self.damage(page, .badTree) }
    if tree.isEmpty { return }
    try visit(tree.root, level: 1, depth: tree.depth, from: page, body)
  }

  private func visit(
    _ page: UInt64, level: Int, depth: Int, from parent: UInt64,
    _ body: (PageView, UInt64) throws(PageCopyError) -> Void
  ) throws(PageCopyError) {
    try noteReading(page, 1, from: parent)
    let base = unsafe buffers + level * PageView.size
    try unsafe read(page, into: UnsafeMutableRawBufferPointer(start: base, count: PageView.size))
    let view = unsafe PageView(base)
    if let problem = view.problem(number: page, isLeaf: level == depth, order: .bytes) {
      throw Self.damage(page, problem)
    }
    if level == depth { return try body(view, page) }
    var ahead = PageFileReadAhead()
    for index in 0..<view.count {
      ahead.child(index, of: view, in: file)
      try visit(view.child(index), level: level + 1, depth: depth, from: page, body)
    }
  }

  private func noteReading(_ page: UInt64, _ count: UInt64, from parent: UInt64) throws(PageCopyError) {
    if page < 2 || page > meta.lastPage { throw Self.damage(parent, .outOfRange) }
    readPages += count
    if readPages > meta.lastPage { throw Self.damage(page, .reachedTwice) }
  }

  // MARK: Long values

  /// Copies a value on overflow pages; returns the first new page.
  private func copyLongValue(
    _ page: UInt64, _ count: Int, _ parent: UInt64, _ builder: TreeBuilder
  ) throws(PageCopyError) -> UInt64 {
    let needed = UInt64(PageView.headerLength - 1 + count) / UInt64(PageView.size) + 1
    try noteReading(page, needed, from: parent)
    try unsafe read(page, into: UnsafeMutableRawBufferPointer(start: buffers, count: PageView.headerLength))
    let view = unsafe PageView(buffers)
    if view.number != page { throw Self.damage(page, .wrongNumber) }
    guard view.word16(10) == PageView.overflowFlag, view.word32(12) >= needed,
      needed <= meta.lastPage - page + 1
    else { throw Self.damage(page, .badOverflow) }
    let first = output.nextPage
    var (offset, left) = (-PageView.headerLength, Int(needed) * PageView.size)
    while left > 0 {
      let length = min(left, PageOutput.capacity)
      let place = try unsafe system { () throws(LMDBError) in try unsafe output.place(length) }
      var at = 0
      if offset < 0 {
        unsafe place.initializeMemory(as: UInt8.self, repeating: 0, count: PageView.headerLength)
        unsafe place.storeBytes(of: first.littleEndian, as: UInt64.self)
        unsafe place.storeBytes(of: UInt16(PageView.overflowFlag).littleEndian, toByteOffset: 10, as: UInt16.self)
        unsafe place.storeBytes(of: UInt32(truncatingIfNeeded: needed).littleEndian, toByteOffset: 12, as: UInt32.self)
        (at, offset) = (PageView.headerLength, 0)
      }
      let piece = min(length - at, count - offset)
      if piece > 0 {
        try unsafe read(
          page, PageView.headerLength + offset, into: UnsafeMutableRawBufferPointer(start: place + at, count: piece))
        at += piece
        offset += piece
      }
      if at < length {
        unsafe (place + at).initializeMemory(as: UInt8.self, repeating: 0, count: length - at)
      }
      left -= length
    }
    builder.overflowPages += needed
    return first
  }

  // MARK: Bytes

  /// Both meta pages lead to the same trees, so the file is sound with either. Commit numbers are those of the source.
  private static func meta(_ page: UInt64, _ source: PageMeta, main: [UInt8], lastPage: UInt64) -> [UInt8] {
    let newest = source.commitNumber
    var bytes: [UInt8] = []
    bytes.reserveCapacity(LMDBLimits.pageSize)
    bytes.append(littleEndian: page)
    bytes.append(littleEndian: UInt16(0))
    bytes.append(littleEndian: UInt16(0x08))
    bytes.append(littleEndian: UInt32(0))
    bytes.append(littleEndian: UInt32(0xBEEF_C0DE))
    bytes.append(littleEndian: UInt32(1))
    bytes.append(littleEndian: UInt64(0))
    let byteCount = (lastPage + 1) * UInt64(LMDBLimits.pageSize)
    bytes.append(littleEndian: max(UInt64(LMDBOptions().mapSize), byteCount))
    // The free list: the page size, the flags, and no tree.
    bytes.append(littleEndian: UInt32(LMDBLimits.pageSize))
    bytes.append(littleEndian: source.freeTree.flags)
    bytes.append(littleEndian: UInt16(0))
    for word in [0, 0, 0, 0, PageTree.noPage] { bytes.append(littleEndian: word) }
    bytes += main
    bytes.append(littleEndian: lastPage)
    bytes.append(littleEndian: newest & 1 == page || newest == 0 ? newest : newest - 1)
    // Zero the rest, including the write-ahead log's tie: no log belongs to this file.
    bytes += [UInt8](repeating: 0, count: LMDBLimits.pageSize - bytes.count)
    return bytes
  }

  private func read(
    _ page: UInt64, _ offset: Int = 0, into buffer: UnsafeMutableRawBufferPointer
  ) throws(PageCopyError) {
    do throws(PageError) {
      try unsafe file.read(page, offset, into: buffer)
    } catch {
      if file.watch?.isStopped == true { throw .stopped }
      throw .corrupted(error)
    }
  }

  @inline(__always)
  private func system<R>(_ body: () throws(LMDBError) -> R) throws(PageCopyError) -> R {
    do throws(LMDBError) { return try body() } catch { throw .system(error) }
  }

  private static func damage(_ page: UInt64, _ problem: PageProblem) -> PageCopyError {
    .corrupted(PageError(page: page, problem: problem))
  }
}
